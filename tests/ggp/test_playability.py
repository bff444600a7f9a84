"""Each message of `playability` on the smallest game that deserves it."""

from __future__ import annotations

from itertools import combinations, count
from typing import Any

import numpy as np
import pytest

from ggp.errors import EngineMissing, ReasonerError
from ggp.game import Game
from ggp.playability import playability
from ggp.validate import Report

COUNT = """
(role white) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= (legal white wait) (true (step ?n)))
(<= terminal (true (step 3)))
"""
WON = "(<= (goal white 100) terminal) (<= (goal white 0) (not terminal))"


@pytest.fixture(autouse=True, scope="module")
def _prolog() -> None:
    try:
        Game.parse(COUNT + WON).initial.is_terminal  # noqa: B018
    except EngineMissing as missing:
        pytest.skip(str(missing))


def watched(text: str, **options: Any) -> Report:
    game = Game.parse(text, name="t.kif")
    return playability(game, rng=np.random.default_rng(1), **{"playouts": 3, "max_steps": 20} | options)


def errors(text: str) -> list[str]:
    return list(map(str, watched(text).errors))


def warnings(text: str) -> list[str]:
    return list(map(str, watched(text).warnings))


def notes(text: str) -> list[str]:
    return list(map(str, watched(text).notes))


def test_a_sound_game_has_no_findings() -> None:
    assert watched(COUNT + WON) == Report((), ())


def test_every_role_needs_a_move_until_the_end() -> None:
    black = "(role black) (<= (legal black go) (true (step 0))) (<= (goal black 100) terminal)"
    assert errors(COUNT + WON + black) == ["t.kif:1:1: playout 1, step 1: black has no legal move in (step 1)"]


def test_random_needs_a_move_too_but_no_goal() -> None:
    assert errors(COUNT + WON + "(role random)") == [
        "t.kif:1:1: playout 1, step 0: random has no legal move in (step 0)"
    ]
    dice = "(role random) (<= (legal random roll) (true (step ?n)))"
    assert watched(COUNT + WON + dice) == Report((), ())


def test_playouts_without_a_move_stop_and_the_others_go_on() -> None:
    fork = "(role white) (init a) (<= (legal white ?m) (true a) (or (way ?m b) (way ?m c))) (way l b) (way r c)"
    moves = "(<= (next ?s) (does white ?m) (way ?m ?s)) (<= terminal (true c)) (<= (goal white 100) terminal)"
    found = watched(fork + moves, playouts=20)
    assert [problem.message.split(": ")[1] for problem in found.errors] == ["white has no legal move in b"]
    assert found.warnings == ()


def test_a_game_should_end() -> None:
    endless = COUNT.replace("(true (step 3))", "(true (step 4))") + "(succ 3 0)" + WON
    assert warnings(endless) == ["t.kif:1:1: playout 1, step 20: no end, as in 3 of 3 playouts, in (step 0)"]


def test_an_empty_state_has_a_name() -> None:
    text = "(role white) (legal white wait) (goal white 100) (<= terminal (true over))"
    assert warnings(text) == ["t.kif:1:1: playout 1, step 20: no end, as in 3 of 3 playouts, in the empty state"]


def test_long_states_are_shortened() -> None:
    facts = "".join(f"(init (cell {i} blank))" for i in range(100, 200))
    (found,) = errors(f"(role white) {facts} (<= terminal (true over)) (goal white 100)")
    assert found.endswith("(cell 106 blank) (…")


def test_goals_should_not_fall() -> None:
    goals = "(<= (goal white 50) (true (step 1))) (<= (goal white 0) (true (step 2))) (<= (goal white 100) terminal)"
    assert notes(COUNT + goals) == ["t.kif:1:1: playout 1, step 2: white's goal fell from 50 to 0 in (step 2)"]
    assert warnings(COUNT + goals) == []


def test_there_should_be_one_goal_at_the_end() -> None:
    assert warnings(COUNT) == ["t.kif:1:1: playout 1, step 3: white has no goal at the end, expected one, in (step 3)"]
    assert notes(COUNT) == ["t.kif:1:1: white won none of 3 playouts, it had no goal"]
    assert warnings(COUNT + WON + "(goal white 20)") == [
        "t.kif:1:1: playout 1, step 3: white has the goals 20, 100 at the end, expected one, in (step 3)"
    ]


def test_goals_are_from_0_to_100() -> None:
    for when in ("(true (step 1))", "terminal"):
        (found,) = errors(COUNT + f"(worth 101) (<= (goal white ?v) {when} (worth ?v))")
        assert ": white's goal is 101, expected 0 to 100, in (step " in found


def test_a_goal_that_is_no_number_is_none() -> None:
    (found,) = warnings(COUNT + "(worth -7) (<= (goal white ?v) terminal (worth ?v))")
    assert "white has no goal at the end, expected one," in found


def test_every_role_should_win_now_and_then() -> None:
    never = COUNT + "(<= (goal white 99) terminal)"
    assert notes(never) == ["t.kif:1:1: white won none of 3 playouts, its best goal was 99"]
    assert warnings(never) == []


def test_time_that_runs_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count(step=25)
    monkeypatch.setattr("ggp.playability.monotonic", lambda: next(seconds))
    assert list(map(str, watched(COUNT + WON).warnings)) == [
        "t.kif:1:1: step 2: stopped after 60 s, 0 of 3 playouts had ended"
    ]


def test_rules_that_give_no_answer_are_an_error() -> None:
    holes = " ".join(f"(hole {i})" for i in range(11))
    pigeons = [f"?{i}" for i in range(12)]
    apart = " ".join(f"(distinct {a} {b})" for a, b in combinations(pigeons, 2))
    nest = f"{holes} (<= nest {' '.join(f'(hole {p})' for p in pigeons)} {apart}) (<= terminal nest)"
    (found,) = watched(COUNT + WON + nest, time_limit=1).errors
    assert found.message.startswith("step 0: the rules gave no answer to ")


def test_rules_that_want_too_much_memory_are_an_error() -> None:
    digits = " ".join(f"(digit {i})" for i in range(10))
    names = [f"?{i}" for i in range(9)]
    many = f"{digits} (<= (legal white (dial {' '.join(names)})) {' '.join(f'(digit {name})' for name in names)})"
    (found,) = watched(COUNT + WON + many, memory_limit=100 << 20).errors
    assert found.message == "step 0: the rules need more than the memory limit of 100 MB"


@pytest.fixture
def without_prolog(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "LIBSWIPL_PATH", "SWI_HOME_DIR"):
        monkeypatch.setenv(name, "/nonexistent")


@pytest.mark.usefixtures("without_prolog")
def test_the_compiled_engine_serves_where_prolog_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notes(COUNT) == ["t.kif:1:1: white won none of 3 playouts, it had no goal"]

    def refuse(*args: object, **options: object) -> None:
        raise ReasonerError("too large")

    monkeypatch.setattr("ggp.propnet.PropnetReasoner.compile", refuse)
    with pytest.raises(EngineMissing, match="apt install swi-prolog-nox"):
        notes(COUNT)


def test_the_same_seed_finds_the_same() -> None:
    assert watched(COUNT) == watched(COUNT)
