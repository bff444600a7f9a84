"""The judge: clocks, faults, dice and percepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from ggp.game import Game, State, load
from ggp.match import Deadline, Fault, Happened, Match, Percepts, Step, play_match, seats
from ggp.parser import parse_ground
from ggp.terms import Move

COUNT = """(role a) (role b) (init (n 0))
    (<= (legal ?r up) (role ?r)) (<= (legal ?r stay) (role ?r))
    (<= (next (n ?m)) (true (n ?k)) (succ ?k ?m))
    (succ 0 1) (succ 1 2) (succ 2 3)
    (<= terminal (true (n 3))) (goal a 40) (goal b 60)"""
# b draws a card that only a sees; then a names it
CARDS = """(role random) (role a) (init start)
    (<= (legal random (deal ?c)) (true start) (card ?c)) (<= (legal a noop) (true start))
    (<= (legal random noop) (not (true start)))
    (<= (legal a (say ?c)) (true (dealt ?c)))
    (<= (next (dealt ?c)) (does random (deal ?c)))
    (<= (next over) (does a (say ?c)))
    (<= (sees a (card ?c)) (does random (deal ?c)))
    (card red) (card black) (<= terminal (true over)) (goal a 100)"""


class Scripted:
    """Plays what a function says and notes what it is told."""

    def __init__(self, move: Callable[[State | None, Deadline], Any]) -> None:
        self.move = move
        self.told: list[Any] = []

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        self.told.append((role, deadline.remaining))

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        move = self.move(state, deadline)
        return parse_ground(move) if isinstance(move, str) else move

    def observe(self, happened: Happened, state: State | None) -> None:
        self.told.append((happened, state))

    def ponder(self, deadline: Deadline) -> None: ...

    def end(self, goals: Mapping[str, int | None]) -> None:
        self.told.append(dict(goals))


class Clock:
    """A clock that tests set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def always(move: str) -> Scripted:
    return Scripted(lambda state, deadline: move)


def played(text: str, *strategies: Any, **options: Any) -> Match:
    return play_match(Game.parse(text), strategies, rng=np.random.default_rng(1), **options)


def test_deadline_counts_from_when_the_bytes_arrived() -> None:
    clock = Clock()
    deadline = Deadline.after(5, since=98, clock=clock)
    assert (deadline.remaining, deadline.passed) == (3.0, False)
    clock.now = 104
    assert (deadline.remaining, deadline.passed) == (0.0, True)


def test_a_match_goes_to_its_end() -> None:
    match = played(COUNT, always("up"), always("stay"), players=["p", "q"], match_id="m", seed=7)
    assert [[str(move) for move in joint] for joint in match.moves] == [["up", "stay"]] * 3
    assert [sorted(map(str, state)) for state in match.states] == [[f"(n {i})"] for i in range(4)]
    assert (match.scores, match.completed, match.errors) == ({"a": 40, "b": 60}, True, ())
    assert (match.id, match.players, match.seed, match.roles) == ("m", ("p", "q"), 7, ("a", "b"))


def test_strategies_are_told_everything() -> None:
    me = always("up")
    match = played(COUNT, me, always("stay"), start_clock=3, play_clock=2, clock=Clock())
    assert me.told[0] == ("a", 3.0)
    happened, state = me.told[1]
    assert (happened, state.facts) == (match.moves[0], match.states[1])
    assert me.told[-1] == {"a": 40, "b": 60}


def test_illegal_moves_are_replaced_and_recorded() -> None:
    match = played(COUNT, always("up"), always("(fly away)"))
    assert match.errors == tuple(Fault(step, "b", "illegal") for step in range(3))
    assert {str(joint[1]) for joint in match.moves} <= {"up", "stay"}


def test_case_of_a_move_does_not_matter() -> None:
    match = played(COUNT, always("UP"), always("stay"))
    assert match.errors == ()
    assert str(match.moves[0][0]) == "up"


@pytest.mark.parametrize("nonsense", [None, 3, ["up"]])
def test_what_is_no_term_is_illegal_or_an_error(nonsense: Any) -> None:
    match = played(COUNT, always("up"), Scripted(lambda state, deadline: nonsense), max_steps=1)
    assert [fault.kind for fault in match.errors] in (["illegal"], ["error"])


def test_exceptions_are_logged_and_the_match_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(state: State | None, deadline: Deadline) -> Move:
        raise ZeroDivisionError("oh")

    match = played(COUNT, always("up"), Scripted(fail))
    assert [fault.kind for fault in match.errors] == ["error"] * 3
    assert match.completed
    assert "ZeroDivisionError: oh" in caplog.text


def test_late_moves_are_replaced_and_recorded() -> None:
    clock = Clock()

    def dawdle(state: State | None, deadline: Deadline) -> str:
        clock.now += deadline.remaining + 0.5
        return "stay"

    match = played(COUNT, always("up"), Scripted(dawdle), play_clock=5, clock=clock)
    assert [(fault.role, fault.kind) for fault in match.errors] == [("b", "late")] * 3


def test_a_move_in_time_is_not_late() -> None:
    clock = Clock()

    def use_it_up(state: State | None, deadline: Deadline) -> str:
        clock.now += deadline.remaining
        return "stay"

    assert played(COUNT, always("up"), Scripted(use_it_up), play_clock=5, clock=clock).errors == ()


def test_failing_to_prepare_observe_and_end_does_not_stop_a_match() -> None:
    class Fragile(Scripted):
        def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
            raise RuntimeError("not ready")

        def observe(self, happened: Happened, state: State | None) -> None:
            raise RuntimeError("what?")

        def end(self, goals: Mapping[str, int | None]) -> None:
            raise RuntimeError("no")

    match = played(COUNT, Fragile(lambda state, deadline: "up"), always("stay"))
    assert match.errors == (Fault(0, "a", "start"),)
    assert match.completed


def test_a_slow_start_is_recorded() -> None:
    clock = Clock()

    class Slow(Scripted):
        def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
            clock.now += 11

    match = played(COUNT, Slow(lambda state, deadline: "up"), always("stay"), start_clock=10, clock=clock)
    assert match.errors == (Fault(0, "a", "start"),)


def test_ctrl_c_ends_the_match() -> None:
    def stop(state: State | None, deadline: Deadline) -> Move:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        played(COUNT, always("up"), Scripted(stop))


def test_a_match_may_be_cut_short() -> None:
    match = played(COUNT, always("up"), always("up"), max_steps=2)
    assert (len(match.moves), match.completed) == (2, False)


def test_a_role_without_moves_ends_the_match() -> None:
    match = played("(role a) (init on) (<= (legal a x) (true off)) (<= terminal (true off)) (goal a 0)", always("x"))
    assert (match.errors, match.completed, match.moves) == ((Fault(0, "a", "stuck"),), False, ())


def test_the_watcher_sees_every_step() -> None:
    steps: list[Step] = []
    played(COUNT, always("up"), always("(fly away)"), on_step=steps.append, max_steps=2)
    assert [step.number for step in steps] == [0, 1, 2]
    assert steps[0].moves is None
    assert steps[1].faults == (Fault(0, "b", "illegal"),)
    assert str(steps[2].state) == "(n 2)"


def test_dice_are_rolled_by_the_judge_and_the_state_is_hidden() -> None:
    def truthful(state: State | None, deadline: Deadline) -> str:
        assert state is None
        return f"(say {me.told[-1][0].seen[0].args[0]})" if len(me.told) > 1 else "noop"

    me = Scripted(truthful)
    match = played(CARDS, me)
    assert match.errors == ()
    assert match.players == ("random", "scripted")
    deal = match.moves[0][0]
    assert me.told[1] == (Percepts(parse_ground("noop"), (parse_ground(f"(card {deal.args[0]})"),)), None)


def test_dice_are_fair_and_depend_on_the_generator_only() -> None:
    game = Game.parse(CARDS)
    deals = [
        str(play_match(game, [always("noop")], rng=np.random.default_rng(seed), max_steps=1).moves[0][0])
        for seed in range(60)
    ]
    assert 15 < deals.count("(deal red)") < 45
    again = [str(play_match(game, [always("noop")], rng=np.random.default_rng(5)).moves[0][0]) for _ in range(2)]
    assert again[0] == again[1] == deals[5]


def test_a_strategy_for_the_dice_is_used() -> None:
    match = played(CARDS, always("(deal black)"), always("noop"), max_steps=1)
    assert str(match.moves[0][0]) == "(deal black)"


def test_seats() -> None:
    assert seats(Game.parse(CARDS), 1) == [1]
    assert seats(Game.parse(CARDS), 2) == [0, 1]
    with pytest.raises(ValueError, match="3 given, expected 2 for tic_tac_toe: xplayer, oplayer"):
        seats(load("tic_tac_toe"), 3)
    with pytest.raises(ValueError, match="0 given, expected 1 for cards: a"):
        seats(Game.parse(CARDS, "cards"), 0)


def test_a_match_may_start_anywhere() -> None:
    game = Game.parse(COUNT)
    middle = game.initial.play("up", "up").play("up", "up")
    match = play_match(game, [always("up"), always("up")], rng=np.random.default_rng(1), initial=middle)
    assert len(match.moves) == 1
