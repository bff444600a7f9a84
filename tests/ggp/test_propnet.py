"""The compiled engine against its readable oracle, against Prolog on games that hypothesis makes up, and itself."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ggp.errors import GdlError, IllegalMove, ReasonerError, RecordError
from ggp.game import Game, load
from ggp.parser import parse_ground
from ggp.propnet import PropnetReasoner, kernels, store
from ggp.propnet.ground import ground
from ggp.propnet.network import FALSE, TRUE, Builder, build
from ggp.propnet.tape import Tape, tape
from ggp.reasoner import Reasoner
from tests.ggp.oracle import Oracle

# Games


@pytest.mark.parametrize("name", ["tic_tac_toe", "hex_5x5", "kuhn_poker_3p", "tron_4p", "gardner_minichess"])
def test_the_kernels_agree_with_the_readable_network(name: str) -> None:
    game = load(name)
    reasoner = game.reasoner("propnet")
    network = build(ground(game.rules, game.roles, time_limit=60, memory_limit=1 << 30))
    rng = np.random.default_rng(2)
    states = reasoner.initial()
    for _ in range(12):
        facts = reasoner.facts(states)[0]
        oracle = Oracle(network, facts)
        assert oracle.terminal() == reasoner.terminal(states)[0]
        joint = []
        for role in range(len(game.roles)):
            legal = np.flatnonzero(reasoner.legal(states, role)[0])
            assert {reasoner.moves[role][int(i)] for i in legal} == oracle.legal(role)
            assert reasoner.goal_values(states, role)[0] == oracle.goals(role)
            joint.append(int(rng.choice(legal)) if len(legal) else -1)
        if oracle.terminal() or -1 in joint:
            break
        played = Oracle(network, facts, [reasoner.moves[role][i] for role, i in enumerate(joint)])
        for role in range(len(game.roles)):
            assert reasoner.sees(states, [joint], role)[0] == played.sees(role)
        states = reasoner.step(states, [joint])
        assert reasoner.facts(states)[0] == played.next()


SYMBOLS = st.sampled_from(["1", "2", "3"])
VARIABLES = st.sampled_from(["?x", "?y", "?z"])
STATE = [("(true (p {0}))", 1), ("(true (q {0} {1}))", 2)]
STATIC = [("(e {0} {1})", 2), ("(d {0})", 1)]
DERIVED = [("(r {0} {1})", 2), ("(u {0})", 1)]


@st.composite
def literals(draw: st.DrawFn, atoms: list[tuple[str, int]]) -> tuple[str, list[str]]:
    """A positive literal, and its variables."""
    shape, arity = draw(st.sampled_from(atoms))
    args = [draw(st.one_of(VARIABLES, SYMBOLS)) for _ in range(arity)]
    return shape.format(*args), [a for a in args if a.startswith("?")]


@st.composite
def bodies(draw: st.DrawFn, atoms: list[tuple[str, int]], negatable: list[tuple[str, int]]) -> tuple[str, list[str]]:
    """A safe body, and the variables that it binds."""
    positive = draw(st.lists(literals(atoms), min_size=1, max_size=3))
    bound = sorted({v for _, some in positive for v in some})
    terms = st.one_of(st.sampled_from(bound), SYMBOLS) if bound else SYMBOLS
    tests = []
    for shape, arity in draw(st.lists(st.sampled_from([*negatable, ("(distinct {0} {1})", 2)]), max_size=2)):
        test = shape.format(*(draw(terms) for _ in range(arity)))
        tests.append(test if shape.startswith("(distinct") else f"(not {test})")
    if len(tests) == 2 and draw(st.booleans()):
        tests = [f"(or {' '.join(tests)})"]
    parts = draw(st.permutations([text for text, _ in positive] + tests))
    return " ".join(parts), bound


@st.composite
def rulesheets(draw: st.DrawFn) -> str:
    """A small game: facts p/1 and q/2, static e/2 and d/1, recursive r/2 and u/1, simultaneous moves."""
    rules = ["(role a)", "(role b)", "(d 1)", "(d 2)", "(d 3)", "(init (p 1))", "(init (q 1 2))"]
    rules += draw(st.lists(st.sampled_from([f"(e {i} {j})" for i in "123" for j in "123"]), max_size=5, unique=True))
    rules += draw(st.lists(st.sampled_from([f"(init (q {i} {j}))" for i in "123" for j in "123"]), max_size=3))

    def rule(head: str, arity: int, body: tuple[str, list[str]]) -> str:
        text, bound = body
        terms = st.one_of(st.sampled_from(bound), SYMBOLS) if bound else SYMBOLS
        return f"(<= {head.format(*(draw(terms) for _ in range(arity)))} {text})"

    positive = STATE + STATIC + DERIVED
    for shape, arity in (("(r {0} {1})", 2), ("(r {0} {1})", 2), ("(u {0})", 1)):
        rules.append(rule(shape, arity, draw(bodies(positive, STATE))))
    everything = positive
    does = [("(does a (put {0}))", 1), ("(does b {0})", 1)]
    for shape, arity in (("(legal a (put {0}))", 1), ("(legal b {0})", 1)):
        rules.append(rule(shape, arity, draw(bodies(everything, everything))))
    for shape, arity in (("(next (p {0}))", 1), ("(next (q {0} {1}))", 2), ("(next (p {0}))", 1)):
        rules.append(rule(shape, arity, draw(bodies(everything + does, everything + does))))
    rules.append(rule("(sees a (seen {0}))", 1, draw(bodies(everything + does, everything))))
    rules.append(rule("(goal a {0})", 1, draw(bodies(everything, everything))))
    rules.append(rule("terminal", 0, draw(bodies(everything, everything))))
    rules += ["(legal a wait)", "(legal b wait)", "(goal b 50)"]
    return "\n".join(rules)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(rules=rulesheets(), seed=st.integers(0, 1000))
def test_both_engines_agree_on_any_small_game(rules: str, seed: int) -> None:
    game = Game.parse(rules)
    ours, theirs = game.reasoner("propnet"), game.reasoner("prolog")
    try:
        compare(ours, theirs, np.random.default_rng(seed), steps=4)
    finally:
        theirs.close()


def compare(ours: Reasoner, theirs: Reasoner, rng: np.random.Generator, steps: int) -> None:
    """Plays the same random game in both engines and compares every answer as terms."""
    mine, yours = ours.initial(), theirs.initial()
    for _ in range(steps):
        assert ours.facts(mine) == theirs.facts(yours)
        assert ours.terminal(mine)[0] == theirs.terminal(yours)[0]
        joint = []
        for role in range(len(ours.roles)):
            legal = [
                sorted(str(e.moves[role][int(i)]) for i in np.flatnonzero(e.legal(s, role)[0]))
                for e, s in ((ours, mine), (theirs, yours))
            ]
            assert legal[0] == legal[1]
            assert ours.goal_values(mine, role) == theirs.goal_values(yours, role)
            joint.append(parse_ground(legal[0][int(rng.integers(len(legal[0])))]))
        a = [[ours.moves[role].id(move) for role, move in enumerate(joint)]]
        b = [[theirs.moves[role].id(move) for role, move in enumerate(joint)]]
        for role in range(len(ours.roles)):
            assert ours.sees(mine, a, role) == theirs.sees(yours, b, role)
        mine, yours = ours.step(mine, a), theirs.step(yours, b)


# Network


def test_shared_literals_are_taken_out() -> None:
    builder = Builder(10)
    found = builder.sum_of_products([[2, 4, 6], [2, 4, 8], [10]])  # 2 (4 (6 + 8)) + 10
    assert builder.gates == [(7, 9), (4, 21), (2, 22), (11, 25)]
    assert found == 27


def test_constants_and_contradictions_fold() -> None:
    builder = Builder(10)
    assert builder.conjunction([]) == TRUE
    assert builder.conjunction([2, FALSE]) == FALSE
    assert builder.conjunction([2, 3]) == FALSE
    assert builder.conjunction([2, 2, TRUE]) == 2
    assert builder.disjunction([2, 3]) == TRUE
    assert builder.sum_of_products([]) == FALSE
    assert builder.sum_of_products([[2], []]) == TRUE
    assert builder.conjunction([4, 2]) == builder.conjunction([2, 4])
    assert len(builder.gates) == 1


def test_of_the_moves_of_a_role_exactly_one_is_chosen() -> None:
    builder = Builder(10, [range(1, 5)])
    one, two, three, four = 2, 4, 6, 8
    assert builder.conjunction([one, two]) == FALSE
    assert builder.conjunction([one, three ^ 1]) == one
    assert builder.disjunction([one, two, three]) == four ^ 1
    assert builder.disjunction([one, two, three, four]) == TRUE


# Kernels


def test_transposing_twice_changes_nothing_and_once_swaps_bits() -> None:
    rng = np.random.default_rng(0)
    block = rng.integers(0, 1 << 63, 64, dtype=np.uint64)
    bits = np.unpackbits(block.view(np.uint8), bitorder="little").reshape(64, 64)
    turned = block.copy()
    kernels.transpose(turned)
    assert (np.unpackbits(turned.view(np.uint8), bitorder="little").reshape(64, 64) == bits.T).all()


@pytest.mark.parametrize("moves", [1, 2, 3, 15, 16, 17, 31, 100])
def test_moves_are_chosen_uniformly_among_the_legal_ones(moves: int) -> None:
    """Each lane has its own set of legal moves; chi-squared over all lanes and many draws."""
    rng = np.random.default_rng(moves)
    legal = rng.random((kernels.LANES, moves)) < 0.6
    legal[:, 0] |= ~legal.any(axis=1)
    legal[7] = False  # a lane without moves
    values = kernels.rows(1 + 2 * moves)
    packed = np.zeros((kernels.LANES, -(-moves // 64)), np.uint64)
    for move in range(moves):
        packed[:, move // 64] |= legal[:, move].astype(np.uint64) << np.uint64(move % 64)
    kernels.unpack(values[: 1 + moves], 1, packed, np.arange(kernels.LANES))
    state = kernels.rows(4)
    state[:2] = rng.integers(1, 1 << 63, (2, kernels.WORDS), dtype=np.uint64)
    chosen = choose_often(values, moves, state, draws=400)
    assert not chosen[7].any()
    assert not chosen[~legal].any()
    lanes = np.arange(kernels.LANES) != 7
    assert (chosen[lanes].sum(axis=1) == 400).all()
    expected = np.where(legal, 400 / np.maximum(legal.sum(axis=1, keepdims=True), 1), 0)[lanes]
    chi_squared = ((chosen[lanes] - expected) ** 2 / np.where(expected > 0, expected, 1)).sum()
    freedom = (legal[lanes].sum(axis=1) - 1).sum()
    assert abs(chi_squared - freedom) < 5 * np.sqrt(2 * freedom) + 1e-9


def choose_often(values: NDArray[Any], moves: int, state: NDArray[Any], draws: int) -> NDArray[Any]:
    """How often each lane chose each move."""
    scratch = kernels.rows(3 * kernels.BITS + 4 * (moves // kernels.BLOCK + 2))
    legal = np.arange(1, moves + 1).astype(np.uint32)
    found = np.zeros((kernels.LANES, moves), np.int64)
    for _ in range(draws):
        kernels.choose_once(values, legal, 1 + moves, state, scratch)
        bits = np.unpackbits(values[1 + moves :].view(np.uint8), axis=1, bitorder="little")
        found += bits.T
    return found


LAMP = """
(role a) (init off) (legal a press) (legal a wait) (<= (next on) (does a press)) (<= (next off) (does a wait))
(<= terminal (true on)) (goal a 100)
"""
RING = """
(role a) (role b) (init (at 1)) (succ 1 2) (succ 2 3) (succ 3 1) (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(init (spare 2)) (<= (next (spare ?x)) (true (at ?x))) (legal a wait) (legal b wait) (<= (goal a 50) (true (at 3)))
(<= terminal (true (at 0)))
"""
DIGITS = " ".join(f"(digit {i})" for i in range(25))
PAIRS = f"""
(role a) (role b) (init start) {DIGITS} (<= (legal ?r (say ?x)) (role ?r) (digit ?x))
(<= (next (said ?r ?x)) (does ?r (say ?x))) (<= terminal (true (said a 7))) (<= (goal a ?x) (true (said b ?x)))
"""


@pytest.mark.parametrize("written", [LAMP, RING, PAIRS, "tic_tac_toe", "tron_4p", "gardner_minichess"])
def test_one_state_at_a_time_has_the_children_and_steps_of_many(written: str) -> None:
    """Narrow rows and wide ones; moves and facts that are next facts themselves; more children than lanes."""
    reasoner: Any = (Game.parse(written) if "(" in written else load(written)).reasoner("propnet")
    rng = np.random.default_rng(3)
    state = reasoner.initial()
    for _ in range(6):
        alone, many = reasoner.repeat_children(state, 2), reasoner.expand(np.repeat(state, kernels.FEW + 1, axis=0))
        one = many.parents == 0
        assert np.array_equal(alone.joint, many.joint[one])
        assert np.array_equal(alone.states, many.states[one])
        assert np.array_equal(alone.terminal, many.terminal[one])
        assert np.array_equal(alone.goals, many.goals[one])
        if not len(alone.joint):
            break
        some = int(rng.integers(len(alone.joint)))
        assert np.array_equal(reasoner.repeat_steps(state, alone.joint[some : some + 1], 1), alone.states[some])
        state = reasoner.step(state, alone.joint[some : some + 1])
        assert np.array_equal(state[0], alone.states[some])


def test_threads_run_side_by_side_with_the_same_answers() -> None:
    reasoner = load("connect_four").reasoner("propnet")
    alone = reasoner.playouts(reasoner.initial(), 2000, np.random.default_rng(1)).goals
    found: list[bool] = []

    def play() -> None:
        goals = reasoner.playouts(reasoner.initial(), 2000, np.random.default_rng(1)).goals
        found.append(np.array_equal(goals, alone))

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_bulk_play_counts_states_and_games() -> None:
    reasoner = load("tic_tac_toe").reasoner("propnet")
    assert isinstance(reasoner, PropnetReasoner)
    states, games = reasoner.bulk(2000, np.random.default_rng(4))
    assert 7.5 < states / games < 7.75  # a random game of tic-tac-toe has 7.63 moves


# Choosing the engine


def test_auto_takes_prolog_where_compiling_fails_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    rules = "(role a) (p 0) (<= (p (s ?x)) (p ?x)) (<= (legal a ?x) (p ?x)) (init x) (<= terminal (true x)) (goal a 1)"
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        reasoner = Game.parse(rules, name="counting").reasoner(time_limit=1.0)
    assert reasoner.engine == "prolog"
    assert "counting: playing with Prolog, because the compiled engine is not ready" in caplog.text
    assert time.monotonic() - began < 20
    assert reasoner.terminal(reasoner.initial())[0]
    with pytest.raises(ReasonerError):
        Game.parse(rules).reasoner("propnet", time_limit=1.0)
    reasoner.close()


def test_there_may_be_no_time_limit() -> None:
    assert load("nim").reasoner("propnet", time_limit=math.inf).engine == "propnet"


def test_facts_out_of_reach_cannot_be_encoded() -> None:
    with pytest.raises(GdlError, match=r"\(cell 9 9 x\) is not a fact that this game can reach"):
        load("tic_tac_toe").reasoner("propnet").encode([[parse_ground("(cell 9 9 x)")]])


# On disk


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiled hex in the cache folder: it has a loop."""
    monkeypatch.setenv("AUGUR_CACHE", str(tmp_path))
    game = load("hex_5x5")
    compiled = tape(build(ground(game.rules, game.roles, time_limit=60, memory_limit=1 << 30)))
    store.keep(game.rule_hash, compiled)
    (path,) = (tmp_path / "networks").iterdir()
    return path


@pytest.mark.parametrize("joint", [[[9**9, 0]], [[-1, 0]], [[0, 10]], [], [[0, 0], [0, 0]]])
def test_moves_that_do_not_exist_do_not_reach_the_kernels(joint: list[list[int]]) -> None:
    reasoner = load("tic_tac_toe").reasoner("propnet")
    for ask in (lambda: reasoner.step(reasoner.initial(), joint), lambda: reasoner.sees(reasoner.initial(), joint, 0)):
        with pytest.raises(IllegalMove, match=r"joint moves for 1 states, or a number that no move has$"):
            ask()


def test_a_kept_game_plays_the_same(kept: Path) -> None:
    game = load("hex_5x5")
    found = store.find(game.rule_hash)
    assert found is not None
    ours, fresh = PropnetReasoner(found), game.reasoner("propnet")
    a, b = (r.playouts(r.initial(), 50, np.random.default_rng(1)).goals for r in (ours, fresh))
    assert np.array_equal(a, b)


def test_a_kept_game_is_printed_as_the_rules_at_hand_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGUR_CACHE", str(tmp_path))
    monkeypatch.setattr("ggp.propnet.reasoner.WORTH_KEEPING", 0.0)
    for written in ("(lock)", "lock"):
        rules = f"(role a) (init {written}) (legal a (turn {written})) (<= terminal (true {written})) (goal a 1)"
        game = Game.parse(rules + f"(<= (next {written}) (true {written}))")
        reasoner = game.reasoner("propnet")
        assert [str(fact) for fact in reasoner.facts(reasoner.initial())[0]] == [written]
        assert [str(move) for move in reasoner.moves[0]] == [f"(turn {written})"]
    assert len(list((tmp_path / "networks").iterdir())) == 1


def test_a_damaged_file_is_an_error_when_loaded_and_ignored_when_found(kept: Path) -> None:
    whole = kept.read_bytes()
    for damaged in (b"", b"junk", whole[: len(whole) // 2]):
        kept.write_bytes(damaged)
        with pytest.raises(RecordError, match="not a compiled game"):
            store.load(kept)
        assert store.find(load("hex_5x5").rule_hash) is None


def test_damage_anywhere_in_a_file_is_no_reason_to_fail(kept: Path) -> None:
    whole = kept.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 200)):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        assert isinstance(store.find(load("hex_5x5").rule_hash), Tape | None)  # a date, say, is read by nobody


def test_saving_leaves_nothing_beside_the_file(kept: Path) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.save(replace(store.load(kept), rows=object()), kept)  # type: ignore[arg-type]
    assert list(kept.parent.iterdir()) == [kept]


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("next", 0, 10**6),
        ("legal", 3, 10**6),
        ("inputs", 5, 10**6),
        ("first_move", 1, 10**6),
        ("goals", (0, 0), 7),
        ("goals", (0, 2), -1),
        ("programs", (-1, 0), 9),
        ("programs", (-1, 1), -1),
        ("programs", (-1, 4), 0),
        ("programs", (-1, 5), 10**6),
        ("programs", (-1, 6), 10**6),
    ],
)
def test_a_forged_file_cannot_make_the_kernels_reach_outside(kept: Path, name: str, index: Any, value: int) -> None:
    tape = store.load(kept)
    changed: dict[str, Any] = {}
    if name == "programs":
        *others, program = (program.copy() for program in tape.programs)
        program[index] = value
        changed[name] = (*others, program)
    else:
        changed[name] = getattr(tape, name).copy()
        changed[name][index] = value
    store.save(replace(tape, **changed), kept)
    with pytest.raises(RecordError, match="not a compiled game"):
        store.load(kept)
