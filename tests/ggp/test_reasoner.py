"""One contract for every engine: the same questions, the same answers, on the smallest game that shows each."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ggp.errors import GdlSyntaxError, IllegalMove, MemoryLimit
from ggp.game import Game, State, load
from ggp.parser import parse_ground

ENGINES = ("prolog", "propnet")
FRAME = "(role a) (init (s 0)) (<= terminal (true (s 9))) (goal a 50) "


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def legal(engine: str, rules: str, role: int = 0) -> list[str]:
    """The legal moves in the initial state of a game with these rules."""
    reasoner = Game.parse(FRAME + rules).reasoner(engine)
    try:
        row = reasoner.legal(reasoner.initial(), role)[0]
        return sorted(str(reasoner.moves[role][int(i)]) for i in np.flatnonzero(row))
    finally:
        reasoner.close()


@pytest.mark.parametrize(
    ("rules", "moves"),
    [
        # recursion ends
        ("(e 1 2) (e 2 3) (e 3 1) (<= (r ?x ?y) (r ?x ?z) (e ?z ?y)) (<= (r ?x ?y) (e ?x ?y))"
         "(<= (legal a (go ?y)) (r 1 ?y))", ["(go 1)", "(go 2)", "(go 3)"]),
        ("(<= p q) (<= q p) (<= (legal a x) p) (<= (legal a y) (not p))", ["y"]),
        ("(<= loop loop) (<= (legal a x) (not loop))", ["x"]),
        ("(<= (odd ?y) (even ?x) (true (up ?x ?y))) (<= (even ?y) (odd ?x) (true (up ?x ?y))) (even 0) (init (up 0 1))"
         "(init (up 1 2)) (init (up 2 3)) (init (up 3 0)) (<= (legal a ?x) (odd ?x))", ["1", "3"]),
        # literals in any order, distinct anywhere, alternatives and negation of compounds
        ("(q 1) (q 2) (q 3) (w 2) (v 3) (<= (legal a ?x) (distinct ?x 9) (not (or (w ?x) (v ?x))) (q ?x))", ["1"]),
        ("(q 1) (<= (legal a n) (not (not (q 1)))) (<= (legal a o) (not (not (q 2))))", ["n"]),
        ("(q 1) (q 2) (<= (legal a o) (or (q 7) (and (q 1) (or (q 8) (q 2)))))", ["o"]),
        ("(q 1) (q 2) (<= (legal a ?x) (or (distinct ?x 1) (q 9)) (q ?x))", ["2"]),
        ("(q 1) (q 2) (r 2) (<= (legal a ?x) (not (and (q ?x) (r ?x))) (q ?x))", ["1"]),
        # function symbols, repeated variables, variables as roles
        ("(<= (legal a (do ?x)) (true (s ?x))) (init (s (f (g 1) 2)))", ["(do (f (g 1) 2))", "(do 0)"]),
        ("(f 1 2) (f 3 3) (<= (legal a ?x) (f ?x ?x))", ["3"]),
        ("(<= (legal ?r (as ?r)) (role ?r))", ["(as a)"]),
        # `legal` of things that are not roles is ignored; undefined relations are false
        ("(legal b x) (legal a y)", ["y"]),
        ("(<= (legal a x) (nowhere ?y)) (<= (legal a y) (not (nowhere 1)))", ["y"]),
        # a variable for a whole fact
        ("(init p) (<= (next ?f) (true ?f)) (<= (legal a (set ?f)) (true ?f))", ["(set (s 0))", "(set p)"]),
        # `(p)` is `p`
        ("(<= (legal a x) (p)) (<= (legal a y) p) p (init (u)) (<= (legal a z) (true u))", ["x", "y", "z"]),
        # keywords in any case, data as written
        ("(<= (LEGAL a Go) (TRUE (s 0)) (NOT (True (s 1))) (Distinct a A))", ["Go"]),
    ],
)  # fmt: skip
def test_legal_moves(engine: str, rules: str, moves: list[str]) -> None:
    assert legal(engine, rules) == moves


def test_symbols_are_plain_whatever_they_mean_in_prolog(engine: str) -> None:
    names = ["it's", "|x|", '"q"', "X", "_", "_G1", "ünï", "日本", "back\\slash\\", "a\u2028b", "x\u00a0y", "[]", "{}",
             "!", ",", "0'a", "`x`", "%c", "/*", "01", "1", "1.0", "end_of_file", "(, a b)", "(:- a b)", "(. a b)",
             "([|] a b)", "\\n", "'"]  # fmt: skip
    assert legal(engine, " ".join(f"(legal a {name})" for name in names)) == sorted(names)


def test_state_facts_may_have_any_name(engine: str) -> None:
    facts = ["(halt)", "(:- a b)", "(, a b)", "!", "(t x)", "(true x)", "(does a b)", "[]"]
    rules = "".join(f"(init {fact}) (<= (next {fact}) (true {fact}))" for fact in facts) + "(legal a go)"
    reasoner = Game.parse(FRAME + rules).reasoner(engine)
    expected = {parse_ground(fact) for fact in facts}
    assert reasoner.facts(reasoner.initial())[0] == expected | {parse_ground("(s 0)")}
    reasoner.legal(reasoner.initial(), 0)
    assert reasoner.facts(reasoner.step(reasoner.initial(), [[0]]))[0] == expected


def test_rules_cannot_reach_builtins(engine: str, tmp_path: object) -> None:
    rules = f'(<= (legal a x) (shell "touch {tmp_path}/pwned")) (<= (legal a x) (halt)) (<= (legal a x) halt)'
    rules += "(<= (legal a x) (assertz (p))) (<= (legal a x) (consult p)) (<= (legal a x) (call halt)) (legal a y)"
    assert legal(engine, rules.replace("touch ", "touch")) == ["y"]


def test_rules_may_define_relations_named_like_builtins(engine: str) -> None:
    assert legal(engine, "(shell x) (halt) (<= (legal a q) (shell x) (halt)) (<= (legal a r) (shell y))") == ["q"]


def test_goals_are_the_highest_of_several_and_minus_one_without(engine: str) -> None:
    rules = "(role a) (role b) (role c) (init x) (legal a m) (legal b m) (legal c m) (<= terminal (true x)) "
    rules += "(goal a 10) (goal a 70) (<= (goal b 0) (true x)) (<= (goal c 5) (true y))"
    reasoner = Game.parse(rules).reasoner(engine)
    states = reasoner.initial(2)
    assert reasoner.goals(states).tolist() == [[70, 0, -1]] * 2
    assert [reasoner.goal_values(states, role)[0] for role in range(3)] == [(10, 70), (0,), ()]


def test_goals_that_are_not_digits_do_not_count(engine: str) -> None:
    rules = "(role a) (init x) (legal a m) (<= terminal (true x)) (v 0x1f) (v +3) (v 1e1) (v fifty) (v 50) (v (f 1))"
    reasoner = Game.parse(rules + "(<= (goal a ?v) (v ?v))").reasoner(engine)
    assert reasoner.goal_values(reasoner.initial(), 0) == [(50,)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("(<= (legal a x) (distinct a))", "distinct with 1 argument, expected 2"),
        ("(<= (legal a x) (not a b))", "not with 2 arguments, expected 1"),
        ("(<= (legal a x) (true))", "true with no arguments, expected 1"),
        ("(<= (next) x)", "next with no arguments, expected 1"),
        ("(<= (legal a x) ?y)", r"variable \?y as a literal, expected a relation"),
        ("(<= (not x) y)", "not in a head, expected it only in bodies"),
    ],
)
def test_rules_that_no_engine_can_read_are_refused_with_their_place(rule: str, message: str) -> None:
    with pytest.raises(GdlSyntaxError, match=rf"game:2:\d+: {message}"):
        Game.parse(FRAME + "\n" + rule)


def test_percepts_depend_on_the_joint_move(engine: str) -> None:
    rules = "(role a) (role random) (init x) (legal a wait) (legal random heads) (legal random tails)"
    rules += "(<= (sees a (coin ?c)) (does random ?c)) (<= (sees a dark) (true x)) (<= (next y) (does a wait)) "
    rules += "(<= terminal (true y)) (goal a 100)"
    game = Game.parse(rules)
    state = game.initial
    assert game.is_imperfect
    assert game.chance == 1
    for side in ("heads", "tails"):
        seen = state.sees("wait", side)
        assert [str(p) for p in seen["a"]] == [f"(coin {side})", "dark"]
        assert seen["random"] == ()


def test_moves_never_leak_from_one_question_to_the_next(engine: str) -> None:
    rules = "(role a) (init x) (legal a m) (legal a n) (<= (next x) (does a m)) (<= (next y) (does a n)) (goal a 1)"
    reasoner = Game.parse(rules + "(<= terminal (does a m))").reasoner(engine)
    states = reasoner.initial()
    reasoner.legal(states, 0)
    reasoner.step(states, [[0]])
    assert not reasoner.terminal(states)[0]


def test_batches_answer_row_by_row(engine: str) -> None:
    reasoner = load("tic_tac_toe").reasoner(engine)
    children = reasoner.expand(reasoner.initial())
    assert len(children.states) == 9
    again = reasoner.expand(children.states)
    assert len(again.states) == 72
    for row in (0, 40, 71):
        one = again.states[row : row + 1]
        assert reasoner.legal(one, 0)[0].tolist() == reasoner.legal(again.states, 0)[row].tolist()
        assert reasoner.goals(one)[0].tolist() == again.goals[row].tolist()
        assert reasoner.keys(one)[0] == reasoner.keys(again.states)[row]
    assert len(set(reasoner.keys(again.states))) == 72


def test_empty_batches_have_empty_answers(engine: str) -> None:
    reasoner = load("tic_tac_toe").reasoner(engine)
    none = reasoner.initial()[:0]
    reasoner.legal(reasoner.initial(), 0)
    assert reasoner.legal(none, 0).shape[0] == 0
    assert reasoner.goals(none).shape == (0, 2)
    assert len(reasoner.terminal(none)) == len(reasoner.step(none, np.zeros((0, 2), int))) == 0
    assert len(reasoner.expand(none).states) == 0
    assert reasoner.playouts(none, 3, np.random.default_rng(0)).goals.shape == (0, 3, 2)


def test_facts_and_encode_are_inverse(engine: str) -> None:
    reasoner = load("tic_tac_toe").reasoner(engine)
    children = reasoner.expand(reasoner.initial()).states
    facts = reasoner.facts(children)
    assert reasoner.keys(reasoner.encode(facts)) == reasoner.keys(children)
    board = [parse_ground(f) for f in ("(cell 1 1 x)", "(cell 2 2 x)", "(cell 3 3 x)", "(control oplayer)")]
    assert reasoner.goals(reasoner.encode([board])).tolist() == [[100, 0]]
    fresh = load("tic_tac_toe")
    unseen = State(fresh, fresh.reasoner(engine), fresh.reasoner(engine).encode([board]))
    assert unseen.facts == frozenset(board)
    assert unseen.goals == {"xplayer": 100, "oplayer": 0}
    assert fresh.initial.facts == load("tic_tac_toe").initial.facts


def test_playouts_follow_the_seed(engine: str) -> None:
    reasoner = load("tic_tac_toe").reasoner(engine)
    states = reasoner.initial(3)
    first, again, other = (reasoner.playouts(states, 20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.goals.shape == (3, 20, 2)
    assert np.array_equal(first.goals, again.goals)
    assert np.array_equal(first.steps, again.steps)
    assert not np.array_equal(first.steps, other.steps)
    assert (first.goals.sum(axis=2) == 100).all()
    assert first.steps.min() >= 5
    assert first.steps.max() <= 9


def test_playouts_choose_uniformly(engine: str) -> None:
    rules = "(role a) (init x) (die 1) (die 2) (die 3) (die 4) (<= (legal a (roll ?n)) (die ?n))"
    rules += "(<= (next (got ?n)) (does a (roll ?n))) (<= terminal (true (got ?n))) (<= (goal a ?n) (true (got ?n)))"
    reasoner = Game.parse(rules).reasoner(engine)
    counts = np.bincount(reasoner.playouts(reasoner.initial(), 4000, np.random.default_rng(5)).goals[0, :, 0])[1:]
    chi_squared = ((counts - 1000) ** 2 / 1000).sum()
    assert chi_squared < 16.27  # 3 degrees of freedom, p = 0.001


def test_playouts_follow_given_odds(engine: str) -> None:
    rules = "(role a) (init x) (legal a 10) (legal a 20) (legal a 30) (<= (next (got ?n)) (does a ?n))"
    rules += "(<= terminal (true (got ?n))) (<= (goal a ?n) (true (got ?n)))"
    reasoner = Game.parse(rules).reasoner(engine)
    reasoner.legal(reasoner.initial(), 0)
    weights = [{"10": 1.0, "20": 3.0, "30": 0.0}[str(move)] for move in reasoner.moves[0]]
    goals = reasoner.playouts(reasoner.initial(), 2000, np.random.default_rng(5), [weights]).goals
    assert set(np.unique(goals)) == {10, 20}
    assert 0.70 < (goals == 20).mean() < 0.80


def test_playouts_stop_at_dead_ends_and_at_the_limit(engine: str) -> None:
    rules = "(role a) (init (n 0)) (<= (legal a go) (true (n 0))) (<= (next (n 1)) (does a go)) (goal a 3)"
    dead_end = Game.parse(rules + "(<= terminal (true (n 2)))").reasoner(engine)
    assert dead_end.playouts(dead_end.initial(), 2, np.random.default_rng(0)).steps.tolist() == [[1, 1]]
    endless = Game.parse("(role a) (init x) (legal a go) (<= (next x) (true x)) (<= terminal (true y)) (goal a 7)")
    found = endless.reasoner(engine).playouts(
        endless.reasoner(engine).initial(), 1, np.random.default_rng(0), max_steps=5
    )
    assert (found.steps.tolist(), found.goals.tolist()) == ([[5]], [[[7]]])


def test_any_thread_may_ask(engine: str) -> None:
    games = [load("tic_tac_toe"), load("connect_four")]
    wrong: list[object] = []

    def ask(game: Game) -> None:
        reasoner = game.reasoner(engine)
        expected = {"tic_tac_toe": 9, "connect_four": 7}[game.name]
        for _ in range(20):
            if len(reasoner.expand(reasoner.initial()).states) != expected:
                wrong.append(game)

    threads = [threading.Thread(target=ask, args=(games[i % 2],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_games_do_not_see_each_other(engine: str) -> None:
    one = Game.parse(FRAME + "(p 1) (<= (legal a ?x) (p ?x))").reasoner(engine)
    two = Game.parse(FRAME + "(p 2) (<= (legal a ?x) (p ?x))").reasoner(engine)
    for _ in range(2):
        for reasoner, move in ((one, "1"), (two, "2")):
            reasoner.legal(reasoner.initial(), 0)
            assert [str(m) for m in reasoner.moves[0]] == [move]


def test_more_joint_moves_than_can_be_listed_are_refused(engine: str) -> None:
    roles = [f"r{i}" for i in range(40)]
    rules = "".join(f"(role {r}) (legal {r} x) (legal {r} y) (goal {r} 0)" for r in roles)
    reasoner = Game.parse(rules + "(init on) (<= (next on) (true on)) (<= terminal (true off))").reasoner(engine)
    with pytest.raises(MemoryLimit, match=r"^1\.1e\+12 joint moves, expected at most 16777216 at once$"):
        reasoner.expand(reasoner.initial())


def test_unknown_moves_are_an_error(engine: str) -> None:
    reasoner = load("tic_tac_toe").reasoner(engine)
    with pytest.raises(IllegalMove, match=r"\(mark 9 9\) is not a move of xplayer"):
        reasoner.moves[0].id(parse_ground("(mark 9 9)"))
