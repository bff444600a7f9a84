"""Ground rules say the same as Prolog: along random games, and in the smallest rulesheets that show it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggp import bundle
from ggp.dependencies import components
from ggp.errors import GdlError, MemoryLimit, TimeLimit
from ggp.game import Game, load
from ggp.parser import parse_ground
from ggp.propnet import decompose, demand
from ggp.propnet import ground as ground_module
from ggp.propnet.ground import Ground, ground, grounds
from ggp.propnet.network import build
from ggp.propnet.reasoner import PropnetReasoner
from ggp.propnet.tape import tape
from ggp.terms import Fact, Move, variables

FRAME = "(role a) (role b) (init (s 0)) (legal b wait) (<= terminal (true (s 9))) (goal b 50) "
STEP = "(succ 0 1) (succ 1 2) (succ 2 3) (<= (next (s ?y)) (true (s ?x)) (succ ?x ?y)) "


class Evaluator:
    """The readable meaning of a `Ground`: settle the atoms component by component, each to its least fixpoint."""

    def __init__(self, rules: Ground) -> None:
        self.rules = rules
        self.bodies: dict[int, list[list[int]]] = defaultdict(list)
        for head, start, end in zip(rules.heads, rules.starts[:-1], rules.starts[1:], strict=True):
            self.bodies[int(head)].append([int(literal) for literal in rules.literals[start:end]])
        uses = {head: {abs(lit) for body in bodies for lit in body} for head, bodies in self.bodies.items()}
        self.order = components(uses)

    def answers(self, what: str, facts: Iterable[Fact], *joint: tuple[int, Move]) -> set[Any]:
        """The keys of one of the dictionaries that hold."""
        true = self.holds(facts, joint)
        return {key for key, atom in getattr(self.rules, what).items() if atom in true}

    def holds(self, facts: Iterable[Fact], joint: Iterable[tuple[int, Move]] = ()) -> set[int]:
        """All atoms that are true; 0 is."""
        true = {0, *(self.rules.true[fact] for fact in facts), *(self.rules.does[move] for move in joint)}
        for group in self.order:
            size = -1
            while size < len(true):
                size = len(true)
                for head in group:
                    if any(all((abs(lit) in true) == (lit > 0) for lit in body) for body in self.bodies.get(head, ())):
                        true.add(head)
        return true


def check(game: Game, *, playouts: int, steps: int, seed: int = 0) -> Ground:
    """Plays at random and compares all answers in every state."""
    found = ground(game.rules, game.roles, time_limit=60, memory_limit=4 << 30)
    evaluator = Evaluator(found)
    reasoner = game.reasoner("prolog")
    rng = np.random.default_rng(seed)
    roles = range(len(game.roles))
    assert found.init == reasoner.facts(reasoner.initial())[0]
    for _ in range(playouts):
        state = reasoner.initial()
        for _ in range(steps):
            facts = reasoner.facts(state)[0]
            true = evaluator.holds(facts)
            terminal = bool(reasoner.terminal(state)[0])
            assert (found.terminal in true) == terminal
            for role in roles:
                values = [value for (r, value), atom in found.goal.items() if r == role and atom in true]
                assert tuple(sorted(values)) == reasoner.goal_values(state, role)[0]
            joint: list[int] = []
            for role in roles:
                legal = np.flatnonzero(reasoner.legal(state, role)[0])
                moves = {reasoner.moves[role][int(i)] for i in legal}
                assert {move for (r, move), atom in found.legal.items() if r == role and atom in true} == moves
                joint += [int(rng.choice(legal))] if len(legal) else []
            if terminal or len(joint) < len(game.roles):
                break
            true = evaluator.holds(facts, [(role, reasoner.moves[role][joint[role]]) for role in roles])
            for role in roles:
                seen = {fact for (r, fact), atom in found.sees.items() if r == role and atom in true}
                assert seen == set(reasoner.sees(state, [joint], role)[0])
            state = reasoner.step(state, [joint])
            assert {fact for fact, atom in found.next.items() if atom in true} == reasoner.facts(state)[0]
    reasoner.close()
    return found


@pytest.mark.parametrize("name", bundle.names())
def test_bundled_games_agree_with_prolog(name: str) -> None:
    check(load(name), playouts=2, steps=30)


@pytest.mark.parametrize(
    "rules",
    [
        # recursion, also through the state
        "(init (e 1 2)) (init (e 2 3)) (init (e 3 1)) (<= (next (e ?x ?y)) (true (e ?y ?x)))"
        "(<= (r ?x ?y) (r ?x ?z) (true (e ?z ?y))) (<= (r ?x ?y) (true (e ?x ?y))) (<= (legal a (go ?y)) (r 1 ?y))",
        "(<= p q) (<= q p) (<= (legal a x) p) (<= (legal a y) (not p)) (<= p (true (s 2)))",
        # or, and, not, nested; variables that occur only under a `not`
        "(q 1) (q 2) (q 3) (w 2) (v 3) (<= (legal a ?x) (distinct ?x 9) (not (or (w ?x) (v ?x))) (q ?x))",
        "(q 1) (q 2) (r 2) (<= (legal a ?x) (not (and (q ?x) (r ?x))) (q ?x))",
        "(q 1) (q 2) (<= (legal a ?x) (or (distinct ?x 1) (true (s 2))) (q ?x))",
        "(q 1) (q 2) (<= (legal a ?x) (not (distinct ?x 1)) (q ?x)) (<= (legal a y) (not (not (true (s 1)))))",
        "(e 1 2) (e 2 2) (q 1) (q 2) (q 3) (<= (legal a ?x) (q ?x) (not (e ?x ?y)))"
        "(<= (legal a (no ?x)) (q ?x) (not (and (e ?x ?y) (true (s ?y)))))",
        "(e 1 2) (q 1) (q 2) (<= (legal a ?x) (or (and (q ?x) (not (and (e ?x ?y) (not (true (s ?y)))))) (e 7 ?x)))",
        "(q 1) (q 2) (q 3) (<= (legal a (f ?x ?y ?z)) (q ?x) (q ?y) (q ?z) "
        + " ".join("(or (distinct ?x ?y) (distinct ?y ?z) (true (s 1)) (q 0))" for _ in range(5)) + ")",
        # function symbols, a variable for a fact, a move, a role
        "(<= (legal a (do ?x)) (true (c ?x))) (init (c (f (g 1) 2))) (<= (next (c (f ?y ?x))) (true (c (f ?x ?y))))",
        "(init p) (<= (next ?f) (true ?f) (distinct ?f (s 0))) (<= (legal a (keep ?f)) (true ?f))",
        "(<= (legal ?r (as ?r)) (role ?r)) (<= (legal ?r now) (not (true (s 1)))) (<= (goal ?r 20) (true (s 1)))"
        "(<= (next (did ?r ?m)) (does ?r ?m)) (<= (next ?f) (true ?f) (not (true (s 2))))",
        # not roles, several goals, goals that are no numbers, relations without rules, other arities
        "(legal c x) (legal a y) (goal a 10) (<= (goal a 70) (true (s 1))) (goal a best) (goal c 1)",
        "(<= (legal a x) (nowhere ?y)) (<= (legal a y) (not (nowhere 1))) (<= (legal a z) (true nothing))"
        "(<= (legal a ?x) (p ?x 1) (not (p ?x))) (p w 1) (p v 1) (p v) (<= (goal a 5) (not (does a y)))",
        # facts that hold for ever, and `init` by rules
        "(next (t 1)) (<= (next (t 2)) (q 2)) (q 2) (legal a x) (<= (init (u ?x)) (q ?x)) (<= (init v) (not (true v)))",
        # facts that never change, also where any fact may be meant; a helper that only its callers make safe
        "(init (wall 1)) (init (wall 3)) (<= (next (wall ?x)) (true (wall ?x))) (<= (legal a (go ?x)) (true (wall ?x)))"
        "(<= (legal a ?f) (true ?f)) (<= (next (s 1)) (not (true (wall 2)))) (<= (next (s 2)) (not (true (wall 3))))",
        "(init (w 1)) (init (w 2)) (<= (next ?f) (true ?f) (distinct ?f (w 2))) (<= (legal a (go ?x)) (true (w ?x)))",
        "(q 1) (q 2) (<= (off ?x) (not (true (s ?x)))) (<= (legal a (go ?x)) (q ?x) (off ?x)) (legal a x)",
        # a helper with many instances of which few are asked for, by recursion
        "(init (c 0)) (init (c 1)) (init (c 3)) (init (c 4)) (<= (next (c ?x)) (does a (go ?x)))"
        + " ".join(f"(up {i} {i + 1})" for i in range(30)) + "(<= (n ?x) (up ?x ?y))"
        "(<= (count 5 ?n ?n) (n ?n)) (<= (count ?x ?m ?n) (true (c ?x)) (up ?x ?y) (up ?m ?o) (count ?y ?o ?n))"
        "(<= (count ?x ?m ?n) (not (true (c ?x))) (n ?m) (up ?x ?y) (count ?y ?m ?n))"
        "(<= (legal a (go ?n)) (count 0 0 ?n))",
        # percepts
        "(legal a x) (legal a y) (<= (sees b (heard ?m)) (does a ?m)) (<= (sees ?r (time ?t)) (role ?r) (true (s ?t)))",
        # names, parentheses
        "(p) (<= (legal a (x)) (p)) (<= (legal a y) p) (init (u)) (<= (legal a z) (true u)) (<= (LEGAL a Go) (TRUE u))"
        "(legal a it's) (legal a X) (legal a _) (legal a 日本) (legal a (true x)) (legal a (not 1 2)) (legal a #show)",
    ],
)  # fmt: skip
def test_small_rulesheets_agree_with_prolog(rules: str) -> None:
    check(Game.parse(FRAME + STEP + rules), playouts=5, steps=6)


VARIABLES, CONSTANTS = ("?x", "?y", "?z", "?u"), ("1", "2", "3")
STATE = ("(true (s {}))", "(true (t {} {}))", "(n {})", "(e {} {})")
LAYERS = (("p {}", STATE), ("q {} {}", (*STATE, "(p {})")), ("r {}", (*STATE, "(p {})", "(q {} {})")))


@st.composite
def rulesheets(draw: st.DrawFn) -> str:
    """Small stratified games: a few layers of helpers over a state of two relations."""
    term = st.sampled_from((*VARIABLES, *VARIABLES, *CONSTANTS))

    def atom(form: str) -> str:
        return form.format(*(draw(term) for _ in range(form.count("{}"))))

    def rule(head: str, below: Sequence[str], *, extra: Sequence[str] = ()) -> str:
        head = atom(head)
        body = [atom(draw(st.sampled_from((*below, *extra)))) for _ in range(draw(st.integers(1, 5)))]
        tests = [f"(not {atom(draw(st.sampled_from(below)))})" for _ in range(draw(st.integers(0, 2)))]
        tests += [atom("(distinct {} {})") for _ in range(draw(st.integers(0, 1)))]
        bound = {word for word in VARIABLES if any(word in literal for literal in body)}
        free = {word for word in VARIABLES if any(word in part for part in (head, *tests))} - bound
        return f"(<= ({head}) {' '.join([*body, *(f'(n {word})' for word in sorted(free)), *tests])})"

    rules = ["(role a) (n 1) (n 2) (n 3) (e 1 2) (e 2 3) (init (s 1)) (init (t 1 2)) (init (t 3 3)) (legal a stay)"]
    for head, below in LAYERS:
        rules += [rule(head, below, extra=[f"({head})"]) for _ in range(draw(st.integers(1, 2)))]
    every = (*STATE, "(p {})", "(q {} {})", "(r {})")
    for head in ("legal a (go {})", "next (s {})", "next (t {} {})", "goal a 10", "terminal"):
        rules += [rule(head, every, extra=["(does a (go {}))"] if head.startswith("next") else ())]
    return "\n".join(rules)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rulesheets())
def test_neither_decomposition_nor_demand_changes_an_answer(monkeypatch: pytest.MonkeyPatch, rules: str) -> None:
    game = Game.parse(rules)
    with monkeypatch.context() as patch:
        patch.setattr(ground_module, "directed", lambda rules, *_: rules)
        patch.setattr(ground_module, "decompose", lambda rules, _: rules)
        plain = Evaluator(ground(game.rules, game.roles, time_limit=20, memory_limit=1 << 30))
    with monkeypatch.context() as patch:  # whatever it costs
        patch.setattr(demand, "MIN_SIZE", 0)
        patch.setattr(demand, "MIN_STATIC_SIZE", 0)
        patch.setattr(demand, "MAX_SHARE", 1e9)
        patch.setattr(decompose._Decomposition, "cost", lambda _, body: len(set().union(*map(variables, body))) ** 3)
        clever = Evaluator(ground(game.rules, game.roles, time_limit=20, memory_limit=1 << 30))
    rng = np.random.default_rng(0)
    facts = plain.rules.init
    assert clever.rules.init == facts
    for _ in range(6):
        legal = sorted(plain.answers("legal", facts), key=str)
        assert sorted(clever.answers("legal", facts), key=str) == legal
        move = legal[int(rng.integers(len(legal)))]
        for what in ("goal", "next"):
            assert clever.answers(what, facts, move) == plain.answers(what, facts, move)
        assert (clever.rules.terminal in clever.holds(facts)) == (plain.rules.terminal in plain.holds(facts))
        facts = frozenset(plain.answers("next", facts, move))


def test_what_is_always_true_is_atom_0() -> None:
    game = Game.parse("(role a) (init x) (legal a m) (next x) (<= (next y) (true x)) (<= (goal a 1) (not (true z)))")
    found = ground(game.rules, game.roles, time_limit=10, memory_limit=1 << 30)
    assert found.legal == {(0, parse_ground("m")): 0}
    assert found.next[parse_ground("x")] == 0 < found.next[parse_ground("y")]
    assert found.goal == {(0, 1): 0}
    assert found.terminal is None


def answers(*programs: str) -> list[bytes]:
    """The atoms that the answers show."""
    limits = ground_module._Limits(time.monotonic() + 20, 20, 1 << 30, 1 << 30)
    return [bytes(text).split(b" ")[-2] for text in ground_module._answers(programs, limits)]


LONG, SHORT, NEVER = "p(1..9). #show p/1.", "q. #show q/0.", "n(0). n(X+1) :- n(X). #show."


def test_small_answers_are_all_looked_at_the_shortest_first() -> None:
    assert answers(LONG, SHORT) == answers(SHORT, LONG) == [b"q", b"p(9)"]


def test_of_large_answers_the_shortest_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_module, "SMALL", 0)
    assert answers(LONG, SHORT) == answers(SHORT, LONG) == [b"q"]


def test_a_program_that_fails_or_never_ends_gives_way_to_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_module, "GRACE_SECONDS", 0.1)
    assert answers("p(X).", SHORT) == answers(NEVER, SHORT) == answers(SHORT, NEVER) == [b"q"]


@pytest.mark.parametrize(("name", "better"), [("goofspiel", 0), ("bidding_tic_tac_toe", 1)])
def test_the_smaller_network_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, better: int) -> None:
    monkeypatch.setenv("AUGUR_CACHE", str(tmp_path))
    game = load(name)
    found = grounds(game.rules, game.roles, time_limit=60, memory_limit=4 << 30)
    sizes = [len(tape(build(one)).inputs) for one in found]
    assert sizes[better] < sizes[1 - better]
    assert len(PropnetReasoner.compile(game.rules, game.roles).tape.inputs) == sizes[better]


def test_unsafe_rules_are_refused() -> None:
    game = Game.parse("(role a) (init x) (<= (legal a (go ?x)) (true x))")
    with pytest.raises(GdlError, match="a rule is unsafe"):
        ground(game.rules, game.roles, time_limit=10, memory_limit=1 << 30)


ENDLESS = "(role a) (init (s 0)) (<= (next (s (up ?x))) (true (s ?x))) (<= (next (s (on ?x))) (true (s ?x)))"


def test_time_limit() -> None:
    with pytest.raises(TimeLimit, match=r"not ground within 0\.5 s"):
        ground(Game.parse(ENDLESS).rules, ["a"], time_limit=0.5, memory_limit=4 << 30)


def test_memory_limit() -> None:
    with pytest.raises(MemoryLimit, match=r"memory limit of 100 MB"):
        ground(Game.parse(ENDLESS).rules, ["a"], time_limit=60, memory_limit=100 << 20)
