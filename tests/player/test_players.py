"""PLAYER texts, and the players that do not think."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Generator, Iterator
from multiprocessing import active_children
from typing import Any

import numpy as np
import pytest

from ggp.errors import ReasonerError, UnknownPlayer
from ggp.game import Game, load
from ggp.match import Deadline, Percepts, play_match
from ggp.parser import parse_ground
from learner.simulate import Setting, simulate
from player import players
from player.players import parse_player, parse_players
from player.strategies.base import Guess, Player
from player.strategies.simple import Human, Legal, Random, meant


class Sample(Player):
    """Has options of every kind."""

    def __init__(
        self,
        rng: np.random.Generator,
        depth: int = 4,
        share: float = 0.5,
        models: tuple[str, ...] = ("own",),
        belief: tuple[float, ...] = (1.0,),
        loud: bool = False,
        inner: object | None = None,
    ) -> None:
        super().__init__(rng)
        self.options = (depth, share, models, belief, loud)


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(players.PLAYERS, "sample", f"{__name__}:Sample")


class Dies(Player):
    """Takes its process with it."""

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        os._exit(1)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.usefixtures("sample")
def test_options_follow_with_colons_and_lists_with_plus() -> None:
    player = parse_player("sample:depth=2:models=own+lead:belief=.25+.75:loud=yes")
    made: Any = player(rng())
    assert made.options == (2, 0.5, ("own", "lead"), (0.25, 0.75), True)


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uct9", "player 'uct9': expected one of default, human, legal, "),
        ("", "player '': expected one of default, human, legal, "),
        (
            "http://host:9147",
            "player 'http://host:9147': players on the wire are not there yet, expected one of default, human, ",
        ),
        ("HTTPS://host", "player 'HTTPS://host': players on the wire are not there yet"),
        ("random:depth=3", "player 'random:depth=3': option 'depth=3', expected none"),
        ("human:read=3", "player 'human:read=3': option 'read=3', expected none"),
        (
            "sample:deep",
            "player 'sample:deep': option 'deep', expected one of depth=…, share=…, models=…, belief=…, loud=…",
        ),
        ("sample:inner=1", "player 'sample:inner=1': option 'inner=1', expected one of depth=…"),
        ("sample:depth=x", "player 'sample:depth=x': depth=x, expected int"),
        ("sample:belief=.5+x", r"player 'sample:belief=.5\+x': belief=x, expected float"),
        ("sample:loud=perhaps", "player 'sample:loud=perhaps': loud=perhaps, expected bool"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(UnknownPlayer, match=f"^{message}"):
        parse_player(text)


def test_players_travel() -> None:
    pair = parse_players("random, legal")
    assert pickle.loads(pickle.dumps(pair)) == pair
    assert [str(player) for player in pair] == ["random", "legal"]
    assert [type(player(rng())) for player in pair] == [Random, Legal]


def test_a_worker_that_dies_is_an_error() -> None:
    game = load("nim")
    setting = Setting(game.rulesheet.source.text, "nim", (Dies, Dies), 1, 1)
    with pytest.raises(ReasonerError, match=r"^a worker died, perhaps for lack of memory: "):
        list(simulate(game, setting, games=2, seed=1, jobs=2))


def test_workers_end_with_the_simulation_that_nobody_wants_any_more() -> None:
    game = load("nim")
    setting = Setting(game.rulesheet.source.text, "nim", parse_players("random,random"), 10, 5)
    before = set(active_children())
    matches = simulate(game, setting, games=100_000, seed=1, jobs=2)
    next(matches)
    assert len(set(active_children()) - before) == 2
    assert isinstance(matches, Generator)
    matches.close()  # as ctrl-C does
    assert not set(active_children()) - before


def test_legal_plays_the_first_move_in_the_order_of_the_text() -> None:
    state = load("tic_tac_toe").initial
    player = Legal(rng())
    player.prepare(state.game, "xplayer", Deadline.after(1))
    assert str(player.choose(state, Deadline.after(1))) == "(mark 1 1)"


def test_random_plays_every_move_and_depends_on_its_generator_only() -> None:
    state = load("tic_tac_toe").initial

    def moves() -> list[str]:
        player = Random(rng())
        player.prepare(state.game, "xplayer", Deadline.after(1))
        return [str(player.choose(state, Deadline.after(1))) for _ in range(100)]

    assert moves() == moves()
    assert len({*moves()}) == 9


@pytest.mark.parametrize("name", ["monty_hall", "kuhn_poker_3p", "liars_dice", "pig_dice"])
def test_players_know_their_moves_without_knowing_the_state(name: str) -> None:
    game = load(name)
    for seed in range(5):
        generator = np.random.default_rng(seed)
        seats = len(game.roles) - 1
        match = play_match(game, [Random(generator) for _ in range(seats)], rng=generator)
        assert (match.errors, match.completed) == ((), True)


def test_a_guess_that_was_wrong_is_taken_back() -> None:
    """The card is told only at the second step: two of three guesses have to be revised."""
    rules = """(role random) (role a) (init (step 0)) (succ 0 1) (succ 1 2) (card red) (card green) (card blue)
        (<= (legal random (deal ?c)) (card ?c) (true (step 0))) (<= (legal random noop) (not (true (step 0))))
        (<= (legal a noop) (not (true (step 2)))) (<= (legal a (say ?c)) (true (step 2)) (true (dealt ?c)))
        (<= (next (dealt ?c)) (does random (deal ?c))) (<= (next (dealt ?c)) (true (dealt ?c)))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next over) (does a (say ?c)))
        (<= (sees a (card ?c)) (true (dealt ?c)) (true (step 1))) (<= terminal (true over)) (goal a 100)"""
    game = Game.parse(rules)
    for seed in range(6):
        match = play_match(game, [Legal(np.random.default_rng(seed))], rng=np.random.default_rng(seed))
        assert match.errors == ()
        assert match.moves[2][1].args == match.moves[0][0].args


def test_percepts_that_fit_no_course_are_an_error() -> None:
    game = load("monty_hall")
    guess = Guess(game.initial, "candidate", rng())
    guess.observe(Percepts(parse_ground("(jump high)"), ()))
    with pytest.raises(ReasonerError, match=r"^no course of the game fits what candidate saw$"):
        guess.state(Deadline.after(60))


def test_a_guess_that_takes_too_long_is_late_and_goes_on_later() -> None:
    """Three digits of nine are told only at the end: hundreds of guesses have to be revised."""
    digits = " ".join(f"(digit {i})" for i in range(9))
    rules = f"""(role random) (role a) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) {digits}
        (<= (legal random (dial ?d)) (digit ?d)) (legal a noop) (<= (legal a call) (true (step 4)))
        (<= (next (code ?n ?d)) (does random (dial ?d)) (true (step ?n))) (<= (next (code ?n ?d)) (true (code ?n ?d)))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next over) (true (step 4)))
        (<= (sees a (code ?x ?y ?z)) (true (step 3)) (true (code 0 ?x)) (true (code 1 ?y)) (true (code 2 ?z)))
        (<= terminal (true over)) (goal a 100)"""
    game = Game.parse(rules)
    ticks = iter(range(10**9))
    strategies = [Legal(rng())]
    match = play_match(game, strategies, rng=rng(), play_clock=100, clock=lambda: float(next(ticks)))
    assert [(fault.step, fault.kind) for fault in match.errors] == [(4, "late")]
    (guess,) = (strategy.guess for strategy in strategies)
    assert guess is not None
    del guess.seen[4:]
    assert "call" in guess.state(Deadline.after(60)).legal("a")


def answers(*lines: str) -> Any:
    queue: Iterator[str] = iter(lines)

    def read(prompt: str) -> str:
        try:
            return next(queue)
        except StopIteration:
            raise EOFError from None

    return read


def test_a_person_sees_the_board_and_the_moves() -> None:
    state = load("tic_tac_toe").initial
    screen = io.StringIO()
    human = Human(rng(), answers("what?", "", "0", "10", "0000000010", "mark 3", "mark 3 2"), screen)
    human.prepare(state.game, "xplayer", Deadline.after(1))
    assert str(human.choose(state, Deadline.after(1))) == "(mark 3 2)"
    said = screen.getvalue()
    assert "  1 . . ." in said
    assert "1: (mark 1 1)" in said
    assert "'what?' is no legal move: please type a number from 1 to 9, or a move" in said
    assert "'mark 3' may be (mark 3 1), (mark 3 2), (mark 3 3): please go on" in said


def test_a_person_is_not_asked_where_there_is_no_choice() -> None:
    state = load("tic_tac_toe").initial
    human = Human(rng(), answers(), io.StringIO())
    human.prepare(state.game, "oplayer", Deadline.after(1))
    assert str(human.choose(state, Deadline.after(1))) == "noop"


def test_the_end_of_the_input_ends_the_match() -> None:
    state = load("tic_tac_toe").initial
    human = Human(rng(), answers(), io.StringIO())
    human.prepare(state.game, "xplayer", Deadline.after(1))
    with pytest.raises(KeyboardInterrupt):
        human.choose(state, Deadline.after(1))


def test_a_person_is_told_what_it_sees_not_the_state() -> None:
    screen = io.StringIO()
    game = load("monty_hall")
    match = play_match(game, [Human(rng(), answers("1", "1", "1", "1"), screen)], rng=rng())
    assert match.errors == ()
    assert "candidate played noop and sees" in screen.getvalue()
    assert "car:" not in screen.getvalue()


def test_what_a_person_types() -> None:
    legal = load("tic_tac_toe").initial.legal("xplayer")
    assert str(meant("9", legal)) == "(mark 3 3)"
    assert str(meant("( MARK 2   2 )", legal)) == "(mark 2 2)"
    assert str(meant("mark 2 2", legal)) == "(mark 2 2)"
    assert meant("9" * 5000, legal) == f"{'9' * 5000!r} is no legal move: please type a number from 1 to 9, or a move"
