"""UCT: what it finds, that it plays any kind of game, and that it keeps to its clock and its memory."""

from __future__ import annotations

from itertools import count
from math import inf

import numpy as np
import pytest

import ggp
from ggp.errors import TimeLimit
from ggp.game import Game, State
from ggp.match import Deadline, Match, play_match
from ggp.reasoner import Bools, Floats, States
from player.search.uct import Tree, warm_up
from player.strategies.simple import Random
from player.strategies.uct import UCT

FOREVER = Deadline(inf)
TEAM = """(role a) (role b) (init start)
    (legal a l) (legal a r) (legal b l) (legal b r)
    (<= (next left) (does a l) (does b l)) (<= (next right) (does a r) (does b r)) (next over)
    (<= terminal (true over))
    (<= (goal a 100) (true right)) (<= (goal b 100) (true right))
    (<= (goal a 50) (true left)) (<= (goal b 50) (true left))
    (<= (goal a 0) (not (true left)) (not (true right))) (<= (goal b 0) (not (true left)) (not (true right)))"""
CIRCLE = """(role a) (init (at 1)) (legal a go) (legal a back) (succ 1 2) (succ 2 3) (succ 3 1)
    (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y) (does a go))
    (<= (next (at ?x)) (true (at ?y)) (succ ?x ?y) (does a back))
    (<= terminal (true (at 4))) (<= (goal a 100) (true (at 4)))"""


def grown(game: Game, iterations: int, *moves: str, seed: int = 1, **options: object) -> tuple[Tree, State]:
    """A tree of so many descents from where these moves lead, each the joint move as GDL text with commas."""
    state = game.initial
    for joint in moves:
        state = state.play(*joint.split(","))
    tree = Tree(state.reasoner, chance=game.chance, rng=np.random.default_rng(seed), **options)  # type: ignore[arg-type]
    tree.reset(state.row)
    tree.search(FOREVER, iterations)
    return tree, state


def favourite(tree: Tree, role: int) -> str:
    return str(tree.reasoner.moves[role][tree.best(role)])


def played(name: str, *strategies: UCT | Random, seed: int = 1) -> Match:
    match = play_match(ggp.load(name), strategies, rng=np.random.default_rng(seed), max_steps=300)
    assert match.errors == ()
    return match


def uct(seed: int = 1, iterations: int = 500) -> UCT:
    return UCT(np.random.default_rng(seed), iterations=iterations)


def anybody(seed: int = 2) -> Random:
    return Random(np.random.default_rng(seed))


def test_wins_against_random() -> None:
    assert played("connect_four", uct(), anybody()).goals == (100, 0)
    assert played("connect_four", anybody(), uct()).goals == (0, 100)
    assert played("breakthrough_5x5", uct(), anybody()).goals == (100, 0)


@pytest.mark.parametrize("seed", range(3))
def test_never_loses_tic_tac_toe(seed: int) -> None:
    assert played("tic_tac_toe", uct(seed, 3000), uct(seed + 10, 3000)).goals == (50, 50)
    assert played("tic_tac_toe", uct(seed, 3000), anybody(seed)).goals[0] in (50, 100)
    assert played("tic_tac_toe", anybody(seed), uct(seed, 3000)).goals[1] in (50, 100)


def test_tic_tac_toe_is_solved() -> None:
    tree, _ = grown(ggp.load("tic_tac_toe"), 100_000)
    assert tree.solved
    assert tree.iterations < 100_000
    assert tree.value() == pytest.approx([0.5, 0.5])


def test_a_win_in_one_is_proven_and_played() -> None:
    row = "(drop 1),noop", "noop,(drop 2)", "(drop 1),noop", "noop,(drop 2)", "(drop 1),noop", "noop,(drop 2)"
    tree, _ = grown(ggp.load("connect_four"), 200, *row)
    assert tree.solved
    assert favourite(tree, 0) == "(drop 1)"
    assert tree.value() == [1, 0]


def test_a_threat_is_parried() -> None:
    row = "(drop 1),noop", "noop,(drop 2)", "(drop 1),noop", "noop,(drop 2)", "(drop 1),noop"
    tree, _ = grown(ggp.load("connect_four"), 2000, *row)
    assert favourite(tree, 1) == "(drop 1)"
    losing = [choice for choice in tree.statistics()[1] if choice.solved]
    assert losing
    assert all(choice.value == 0 for choice in losing)


def test_an_open_three_is_a_forced_win() -> None:
    row = "(drop 3),noop", "noop,(drop 3)", "(drop 4),noop", "noop,(drop 4)"
    tree, _ = grown(ggp.load("connect_four"), 4000, *row)
    assert tree.solved
    assert favourite(tree, 0) in ("(drop 2)", "(drop 5)")
    assert tree.value() == [1, 0]


@pytest.mark.parametrize("name", ["peg_triangle", "lights_out"])
def test_puzzles_are_solved(name: str) -> None:
    assert played(name, uct(iterations=20_000)).goals == (100,)


def test_partners_meet() -> None:
    tree, _ = grown(Game.parse(TEAM), 1000)
    assert [favourite(tree, role) for role in (0, 1)] == ["r", "r"]


def test_rock_paper_scissors_is_mixed() -> None:
    tree, _ = grown(ggp.load("rock_paper_scissors"), 30_000)
    for choices in tree.statistics():
        visits = np.array([choice.visits for choice in choices], np.float64)
        assert visits.sum() == 30_000
        assert (abs(visits / visits.sum() - 1 / 3) < 0.15).all()


@pytest.mark.parametrize(
    "name", ["bidding_tic_tac_toe", "tic_tac_toe_3p", "pig_dice", "monty_hall", "kuhn_poker", "goofspiel"]
)
def test_any_kind_of_game_is_played_without_faults(name: str) -> None:
    game = ggp.load(name)
    players = len(game.roles) - (game.chance is not None)
    played(name, *(uct(seed, 200) for seed in range(players)))


def test_three_players_and_dice_are_better_than_chance() -> None:
    three = [played("tic_tac_toe_3p", anybody(s), uct(s), anybody(s + 9), seed=s).goals[1] or 0 for s in range(8)]
    dice = [played("pig_dice", uct(s, 300), anybody(s), seed=s).goals[0] or 0 for s in range(4)]
    assert np.mean(three) > 60
    assert np.mean(dice) > 60


def test_a_seed_gives_the_same_match() -> None:
    first, second = (played("connect_four", uct(3, 300), uct(4, 300)) for _ in range(2))
    assert first.moves == second.moves


def test_max_nodes_is_kept_and_the_search_goes_on() -> None:
    tree, _ = grown(ggp.load("connect_four"), 5000, max_nodes=300)
    assert tree.nodes == 300
    assert sum(choice.visits for choice in tree.statistics()[0]) == 5000
    assert favourite(tree, 0) in ("(drop 3)", "(drop 4)", "(drop 5)")


def test_joint_moves_keep_to_max_nodes_too() -> None:
    tree, _ = grown(ggp.load("goofspiel"), 3000, max_nodes=200)
    assert tree.nodes == 200


def test_what_is_known_is_kept_when_the_game_goes_on() -> None:
    game = ggp.load("connect_four")
    tree, state = grown(game, 5000, max_nodes=3000)  # more than half full: what cannot be reached any more is dropped
    move = tree.best(0)
    visits = next(choice.visits for choice in tree.statistics()[0] if choice.move == move)
    nodes = tree.nodes
    after = state.play(tree.reasoner.moves[0][move], "noop")
    tree.reset(after.row)
    assert tree.nodes < nodes
    assert abs(sum(choice.visits for choice in tree.statistics()[1]) - visits) < 5  # but for those that ended there
    before = {choice.move: choice for choice in tree.statistics()[1]}
    tree.search(FOREVER, 500)
    assert all(choice.visits >= before[choice.move].visits for choice in tree.statistics()[1])
    assert all(value in (-1, *range(tree.nodes)) for value in tree.arrays.child[: tree.arrays.used[1]].tolist())


def test_joint_moves_are_kept_when_the_game_goes_on() -> None:
    game = ggp.load("bidding_tic_tac_toe")
    tree, state = grown(game, 3000, max_nodes=1500)
    joint = [favourite(tree, role) for role in range(len(game.roles))]
    tree.reset(state.play(*joint).row)
    assert 1 < tree.nodes < 1500
    assert tree.arrays.used[2] > 0
    tree.search(FOREVER, 500)


def test_a_foreign_state_starts_afresh() -> None:
    game = ggp.load("connect_four")
    tree, _ = grown(game, 1000, "(drop 1),noop")
    tree.reset(game.initial.row)
    assert tree.nodes == 1
    tree.search(FOREVER, 100)
    assert sum(choice.visits for choice in tree.statistics()[0]) == 100


def test_cycles_end() -> None:
    tree, _ = grown(Game.parse(CIRCLE), 2000, max_steps=50)
    assert tree.nodes == 3
    assert tree.value() == [0]


def test_the_clock_is_kept() -> None:
    ticks = count()
    clock = lambda: next(ticks) * 0.01  # noqa: E731
    game = ggp.load("connect_four")
    tree = Tree(game.reasoner(), chance=None, rng=np.random.default_rng(1))
    tree.reset(game.initial.row)
    deadline = Deadline.after(5, clock=clock)
    tree.search(deadline)
    assert tree.iterations > 50
    assert not deadline.passed
    player = UCT(np.random.default_rng(1))
    player.prepare(game, game.roles[0], Deadline.after(1, clock=clock))
    deadline = Deadline.after(2, clock=clock)
    assert player.choose(game.initial, deadline) in game.initial.legal(game.roles[0])
    assert not deadline.passed


def test_no_time_is_enough_for_a_legal_move() -> None:
    game = ggp.load("connect_four")
    player = UCT(np.random.default_rng(1))
    player.prepare(game, game.roles[0], Deadline.after(0))
    assert player.choose(game.initial, Deadline.after(0)) in game.initial.legal(game.roles[0])


def test_prolog_plays_too() -> None:
    warm_up()
    game = ggp.load("tic_tac_toe").using("prolog")
    state = game.initial.play("(mark 1 1)", "noop").play("noop", "(mark 1 2)").play("(mark 2 2)", "noop")
    tree = Tree(state.reasoner, chance=None, rng=np.random.default_rng(1), batch=16, max_nodes=2000)
    tree.reset(state.row)
    tree.search(Deadline.after(1.5))
    assert favourite(tree, 1) == "(mark 3 3)"
    tree.reset(state.play("noop", "(mark 3 3)").row)
    assert tree.nodes > 1
    deadline = Deadline.after(0.3)
    tree.search(deadline)
    assert not deadline.passed


def test_a_model_is_played_against() -> None:
    """Whoever always plays rock is beaten by paper."""
    game = ggp.load("rock_paper_scissors")
    rock = next(i for i, move in enumerate(game.reasoner().moves[1]) if str(move) == "rock")

    def odds(states: States, role: int, legal: Bools) -> Floats:
        assert role == 1
        return np.eye(legal.shape[1])[[rock] * len(states)]

    tree, _ = grown(game, 2000, odds={1: odds}, trust=1.0)
    assert favourite(tree, 0) == "paper"
    assert [choice.visits > 0 for choice in tree.statistics()[1]].count(True) == 1
    player = UCT(np.random.default_rng(1), iterations=2000, models={game.roles[1]: odds})
    player.prepare(game, game.roles[0], FOREVER)
    assert str(player.choose(game.initial, FOREVER)) == "paper"


def test_a_round_that_is_broken_off_leaves_the_tree_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, state = grown(ggp.load("connect_four"), 1000)

    def late(*_: object, **__: object) -> None:
        raise TimeLimit

    with monkeypatch.context() as patched:
        patched.setattr(tree.reasoner, "playouts", late)
        with pytest.raises(TimeLimit):
            tree.search(FOREVER, 100)
        player = uct()
        player.prepare(state.game, state.game.roles[0], FOREVER)
        assert player.choose(state, FOREVER) in state.legal(state.game.roles[0])
    assert (tree.arrays.child[: tree.arrays.used[1]] >= -1).all()
    assert (tree.arrays.first[: tree.nodes] >= -1).all()
    tree.search(FOREVER, 1000)
