"""The players that search, in whole matches; budgets of nodes instead of clocks, so that a seed is a match."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from ggp.errors import UnknownPlayer
from ggp.game import Game, load
from ggp.match import Deadline, Match, play_match
from player.players import parse_player
from player.strategies.search import ProbMaxN
from tests.player.trees import Leaf, Node, Stage, gdl

SEARCHERS = ("maxn", "paranoid", "soft-maxn", "prob-maxn", "max-prob", "mp-mix")


def played(name: str, *players: str, seed: int = 1) -> Match:
    game = load(name)
    judge, *streams = np.random.default_rng(seed).spawn(1 + len(players))
    strategies = [parse_player(text)(rng) for text, rng in zip(players, streams, strict=True)]
    match = play_match(game, strategies, rng=judge, players=players)
    assert not match.errors
    return match


@pytest.mark.parametrize("player", [*SEARCHERS, "default"])
def test_nobody_loses_tic_tac_toe(player: str) -> None:
    for seed in range(3):
        for mine, players in ((0, (player, "random")), (1, ("random", player))):
            goals = played("tic_tac_toe", *players, seed=seed).goals
            assert (goals[mine] or 0) >= 50
    assert played("tic_tac_toe", player, player).goals == (50, 50)


@pytest.mark.parametrize("player", SEARCHERS)
@pytest.mark.parametrize(
    "game", ["rock_paper_scissors", "tic_tac_toe_3p", "pig_dice", "kuhn_poker", "coop_meeting", "lights_out"]
)
def test_every_searcher_plays_every_kind_of_game(game: str, player: str) -> None:
    rules = load(game)
    assert played(game, *[f"{player}:depth=1:playouts=2"] * len(rules.players)).completed


@pytest.mark.parametrize(("game", "goal"), [("eight_puzzle", 100), ("lights_out", 100), ("peg_triangle", 100)])
def test_puzzles_are_solved_by_search(game: str, goal: int) -> None:
    assert played(game, "default").goals == (goal,)


def test_who_plays_together_wins_together() -> None:
    assert played("coop_hanoi", "default", "default").goals == (100, 100)


def test_default_takes_the_move_that_others_may_answer_wrongly() -> None:
    """All is lost against perfect play, but after b two of three answers are wrong."""
    good, bad = Leaf((0, 100)), Leaf((100, 0))
    tree = Node(0, (Node(1, (good, good, bad)), Node(1, (good, bad, bad))))
    game = Game.parse(gdl(tree))
    player = parse_player("default")(np.random.default_rng(0))
    player.prepare(game, "p1", Deadline(inf))
    assert str(player.choose(game.initial, Deadline(inf))) == "b"


def test_default_mixes_where_it_must() -> None:
    wins = [Leaf(p) for p in [(100, 0), (0, 100), (0, 100), (100, 0)]]
    game = Game.parse(gdl(Stage((2, 2), tuple(wins))))
    player = parse_player("default")(np.random.default_rng(0))
    player.prepare(game, "p1", Deadline(inf))
    chosen = [str(player.choose(game.initial, Deadline(inf))) for _ in range(60)]
    assert 15 < chosen.count("a") < 45


def test_a_search_ends_before_the_clock() -> None:
    game = load("connect_four")
    now = [0.0]

    def clock() -> float:
        now[0] += 0.002  # every look at the clock takes its time
        return now[0]

    for name in ("maxn", "uct", "default"):
        player = parse_player(name)(np.random.default_rng(0))
        player.prepare(game, "red" if "red" in game.roles else game.roles[0], Deadline.after(2, clock=clock))
        deadline = Deadline.after(1, clock=clock)
        assert player.choose(game.initial, deadline) in game.initial.legal(game.roles[0])
        assert not deadline.passed


def test_prob_maxn_learns_what_the_other_wants() -> None:
    """The other could take much for itself, but takes what leaves the searcher least."""
    spoils, shares = Leaf((0, 50)), Leaf((100, 60))
    tree = Node(1, (spoils, shares))
    for _ in range(4):
        tree = Node(1, (Node(0, (tree, tree)), shares))
    game = Game.parse(gdl(tree))
    player = ProbMaxN(np.random.default_rng(0), models=("own", "spoil"))
    player.prepare(game, "p1", Deadline(inf))
    state = game.initial
    while not state.is_terminal:
        first, second = state.legal("p1")[0], state.legal("p2")[0]
        if len(state.legal("p1")) > 1:
            player.choose(state, Deadline(inf))
        state = state.play(first, second)
        player.observe((first, second), state)
    assert player.beliefs[1].probability(1) > 0.6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maxn:epsilon=1", "option 'epsilon=1', expected one of depth=…, nodes=…, playouts=…, heuristic=…"),
        ("prob-maxn:depth=x", "depth=x, expected int"),
        ("soft-maxn:wing=1", "expected one of"),
    ],
)
def test_options_belong_to_their_player(text: str, message: str) -> None:
    with pytest.raises(UnknownPlayer, match=message):
        parse_player(text)


def test_options_of_all_ancestors_are_taken() -> None:
    player = parse_player("prob-maxn:models=own+team:belief=.2+.8:epsilon=.3:depth=3:learn=no")
    assert dict(player.options) == {
        "models": ("own", "team"),
        "belief": (0.2, 0.8),
        "epsilon": 0.3,
        "depth": 3,
        "learn": False,
    }


@pytest.mark.parametrize(
    "text",
    [
        "uct:batch=0",
        "uct:nodes=-5",
        "uct:c=nan",
        "prob-maxn:models=foo",
        "prob-maxn:epsilon=7",
        "prob-maxn:firm=-3",
        "prob-maxn:belief=.5",
        "max-prob:win=x",
        "soft-maxn:by=x",
        "mp-mix:defend=nan",
        "maxn:depth=-1",
        "maxn:heuristic=x",
        "default:nodes=-1",
    ],
)
def test_values_that_make_no_sense_are_refused_before_the_match(text: str) -> None:
    with pytest.raises(UnknownPlayer, match="expected"):
        parse_player(text)


def test_a_plan_that_the_judge_has_crossed_is_made_anew() -> None:
    game = load("eight_puzzle")
    player = parse_player("default")(np.random.default_rng(0))
    player.prepare(game, "player", Deadline(inf))
    state = game.initial
    for step in range(60):
        if state.is_terminal:
            break
        chosen = player.choose(state, Deadline(inf))
        if step == 3:  # the judge plays something else
            chosen = next(move for move in state.legal("player") if move != chosen)
        state = state.play(chosen)
        player.observe((chosen,), state)
    assert state.goals == {"player": 100}
    assert step <= 24


def test_a_puzzle_that_ends_by_itself_is_recognised() -> None:
    row: Leaf | Node = Node(0, (Leaf((100,)),))  # no choice
    for _ in range(3):
        row = Node(0, (Leaf((0,)), row))
    game = Game.parse(gdl(row))
    player = parse_player("default")(np.random.default_rng(0))
    player.prepare(game, "p1", Deadline(inf))
    state = game.initial
    while not state.is_terminal:
        move = player.choose(state, Deadline(inf))
        state = state.play(move)
        player.observe((move,), state)
    assert state.goals == {"p1": 100}
