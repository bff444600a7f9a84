"""Traces have the format of the reference, to the letter."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggp.game import Game, load
from ggp.trace import kif, trace

SHARED = Path(__file__).parents[3] / "shared"


def traced(game: Game, **options: Any) -> list[dict[str, Any]]:
    return list(trace(game, game.reasoner("prolog"), **({"seed": 1, "playouts": 1, "max_steps": 60} | options)))


def test_a_trace_has_a_header_and_every_state() -> None:
    header, *lines = traced(load("tic_tac_toe"), playouts=2, seed=7)
    assert header == {
        "game": "tic_tac_toe",
        "roles": ["xplayer", "oplayer"],
        "seed": 7,
        "playouts": 2,
        "maxsteps": 60,
        "sees": False,
        "random_role": False,
    }
    assert [*lines[0]] == ["playout", "step", "state", "legals", "terminal", "goals", "move"]
    first = [line["step"] for line in lines if line["playout"] == 0]
    assert first == list(range(len(first)))
    last = [line for line in lines if line["terminal"]]
    assert len(last) == 2
    assert all(line["move"] is None for line in last)


def test_the_same_seed_gives_the_same_trace() -> None:
    game = load("tic_tac_toe")
    assert traced(game, seed=3) == traced(game, seed=3)
    assert traced(game, seed=3) != traced(game, seed=4)


def test_a_trace_stops_after_the_last_step() -> None:
    lines = traced(load("tic_tac_toe"), max_steps=2)[1:]
    assert [line["move"] is None for line in lines] == [False, False, True]


def test_several_goals_and_none() -> None:
    rules = "(role a) (role b) (init on) (legal a x) (legal b x) (<= terminal (true on)) (goal a 50) (goal a 100)"
    line = traced(Game.parse(f"{rules} (goal a 0)"))[1]
    assert [*line] == ["playout", "step", "state", "legals", "terminal", "goals", "goals_raw", "move"]
    assert (line["goals"], line["goals_raw"]) == ({"a": None, "b": None}, {"a": ["0", "100", "50"]})


def test_a_role_without_moves_is_an_error_and_the_end() -> None:
    rules = "(role A) (init on) (<= (legal A x) (true off)) (<= terminal (true off)) (goal A 0)"
    lines = traced(Game.parse(rules))[1:]
    assert len(lines) == 1
    assert [*lines[0]] == ["playout", "step", "state", "legals", "terminal", "goals", "move", "error"]
    assert (lines[0]["move"], lines[0]["error"]) == (None, "no legal move for a")


def test_percepts_and_dice() -> None:
    header, first, *_ = traced(load("monty_hall"))
    assert (header["sees"], header["random_role"]) == (True, True)
    assert [*first][-2:] == ["move", "sees"]
    assert {*first["sees"]} == {*header["roles"]}


def test_terms_are_lower_case_with_parentheses_as_written() -> None:
    assert kif("(Cell (Here) 1)") == "(cell (here) 1)"
    rules = "(role a) (init (On)) (init Off) (legal a (Go)) (<= terminal (true On)) (goal a 100)"
    line = traced(Game.parse(rules))[1]
    assert (line["state"], line["legals"]) == (["(on)", "off"], {"a": ["(go)"]})


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared games are not here")
@pytest.mark.parametrize("name", ["ticTacToe", "4pttc", "pentago", "merrills", "beatMania.v1", "blockerSerial"])
def test_the_format_is_that_of_the_reference_byte_for_byte(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plays the moves of the reference trace and expects the same file."""
    with gzip.open(SHARED / "traces" / f"{name}.jsonl.gz", "rt") as file:
        reference = file.read().splitlines()
    header, *lines = map(json.loads, reference)
    choices = [
        line["legals"][role].index(line["move"][role]) for line in lines if line["move"] for role in header["roles"]
    ]

    class Recorded:
        def integers(self, n: int) -> int:
            return int(choices.pop(0))

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Recorded())
    game = load(SHARED / "games" / f"{name}.kif")
    options = {"seed": header["seed"], "playouts": header["playouts"], "max_steps": header["maxsteps"]}
    assert [json.dumps(line, separators=(",", ":")) for line in traced(game, **options)] == reference
