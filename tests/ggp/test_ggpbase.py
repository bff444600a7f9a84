"""ggp-base's match JSON, both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from ggp import ggpbase, records
from ggp.errors import RecordError
from ggp.game import load
from ggp.match import Fault
from tests.ggp.test_records import sample

# Made by ggp-base's server, shortened to a game that ends after one step.
FOREIGN: dict[str, Any] = {
    "matchId": "base.ticTacToe-1402-1400000000000",
    "randomToken": "Ux0123456789",
    "startTime": 1400000000000,
    "gameMetaURL": "http://games.ggp.org/base/games/ticTacToe/v0/",
    "isCompleted": True,
    "isAborted": False,
    "states": [
        "( ( cell 1 1 b ) ( control xplayer ) )",
        "( ( control oplayer ) ( cell 1 1 x ) )",
    ],
    "moves": [["( mark 1 1 )", "noop"]],
    "stateTimes": [1400000000000, 1400000001000],
    "errors": [["", "TO"], ["IL ( mark 9 9 )", "CE"]],
    "goalValues": [100, 0],
    "previewClock": -1,
    "startClock": 30,
    "playClock": 15,
    "playerNamesFromHost": ["TurboTurtle", ""],
    "scrambled": True,
    "matchHostPK": "0",
}


def test_what_we_write_comes_back() -> None:
    assert ggpbase.loads(ggpbase.dumps(sample())) == sample()
    complete = replace(sample(), completed=True, errors=(Fault(0, "xplayer", "start"), Fault(0, "oplayer", "illegal")))
    assert ggpbase.loads(ggpbase.dumps(complete)) == complete


def test_names_and_layout_are_those_of_ggp_base() -> None:
    written = json.loads(ggpbase.dumps(sample()))
    assert {*FOREIGN} - {*written} == {"gameMetaURL", "matchHostPK", "goalValues"}
    assert written["moves"] == [["( mark 1 1 )", "noop"], ["noop", "( mark 2 2 )"]]
    assert written["states"][0].startswith("( ( cell 1 1 b ) ( cell 1 2 b )")
    assert written["errors"] == [["", ""], ["", ""], ["", "TO"]]
    assert (written["startClock"], written["isCompleted"], written["isAborted"]) == (10, False, True)


def test_a_foreign_match_is_read() -> None:
    match = ggpbase.loads(json.dumps(FOREIGN))
    assert (match.id, match.game, match.roles) == (FOREIGN["matchId"], "ticTacToe", ("role1", "role2"))
    assert sorted(map(str, match.states[1])) == ["(cell 1 1 x)", "(control oplayer)"]
    assert [str(move) for move in match.moves[0]] == ["(mark 1 1)", "noop"]
    assert match.errors == (Fault(0, "role2", "start"), Fault(0, "role1", "illegal"), Fault(0, "role2", "error"))
    assert (match.goals, match.players, match.completed) == ((100, 0), ("TurboTurtle", ""), True)
    assert (match.start_clock, match.play_clock, match.rule_hash, match.seed) == (30, 15, "", None)


def test_the_game_gives_a_foreign_match_its_roles() -> None:
    game = load("tic_tac_toe")
    match = ggpbase.loads(json.dumps(FOREIGN), game)
    assert (match.roles, match.game, match.rule_hash) == (game.roles, "tic_tac_toe", game.rule_hash)


def test_an_aborted_match_without_goals_and_names() -> None:
    keys = ("goalValues", "playerNamesFromHost", "errors", "gameMetaURL")
    match = ggpbase.loads(json.dumps({k: v for k, v in FOREIGN.items() if k not in keys} | {"isCompleted": False}))
    assert (match.goals, match.players, match.errors, match.game) == ((None, None), ("", ""), (), "")


def test_no_goal_is_written_as_0() -> None:
    assert json.loads(ggpbase.dumps(replace(sample(), goals=(100, None))))["goalValues"] == [100, 0]


def test_no_clock_survives() -> None:
    assert ggpbase.loads(ggpbase.dumps(replace(sample(), start_clock=inf))).start_clock == inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matchId": 7}, "where: matchId: int '7', expected str"),
        ({"moves": []}, "where: states: 2 states, expected one more than the 0 moves"),
        ({"moves": [["noop"]]}, r"where: goalValues: 2 of them, expected one for each of the 1 roles"),
        ({"states": ["( ( a )", "()"]}, r"where: states\[0\]: '\( \( a \)' is no GDL: end of text, expected"),
        ({"states": ["a b", "()"]}, r"where: states\[0\]: 'a b', expected one list of facts"),
        ({"states": [["a"], "()"]}, r"where: states\[0\]: list \"\['a'\]\", expected str"),
        ({"goalValues": [100]}, "where: goalValues: 1 of them, expected one for each of the 2 roles"),
        ({"goalValues": [100, -5]}, r"where: goalValues\[1\]: '-5', expected 0…100 or null"),
        ({"playerNamesFromHost": []}, "where: playerNamesFromHost: 0 of them, expected one for each of the 2 roles"),
        ({"errors": [["", ""]] * 3}, "where: errors: 3 rows, expected at most one for each of the 2 states"),
        ({"errors": 5}, "where: errors: int '5', expected list"),
        ({"errors": [5, []]}, "where: errors: int '5', expected list"),
        ({"errors": [[""]]}, r"where: errors\[0\]: 1 errors, expected one for each of the 2 roles"),
        ({"errors": [[1, 2]]}, r"where: errors\[0\]: int '1', expected str"),
        ({"startClock": "x"}, "where: startClock: 'x', expected seconds"),
        ({"isCompleted": "yes"}, "where: isCompleted: str 'yes', expected bool"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=f"^{message}"):
        ggpbase.loads(json.dumps(FOREIGN | change), where="where")


def test_a_match_without_moves_has_as_many_roles_as_errors() -> None:
    begun = {"matchId": "m", "isCompleted": False, "states": ["( p )"], "moves": [], "errors": [["", "TO"]]}
    match = ggpbase.loads(json.dumps(begun))
    assert match.roles == ("role1", "role2")
    assert match.errors == (Fault(0, "role2", "start"),)


def test_moves_must_fit_the_roles_of_the_game() -> None:
    with pytest.raises(RecordError, match=r"moves\[0\]: 1 moves, expected one for each of the 2 roles"):
        ggpbase.loads(json.dumps(FOREIGN | {"moves": [["noop"]]}), load("tic_tac_toe"))


def test_files_in_either_form(tmp_path: Path) -> None:
    path = tmp_path / "matches"
    for text in (
        ggpbase.dumps(sample()),
        records.dumps(sample()),
        json.dumps(json.loads(ggpbase.dumps(sample())), indent=1),
    ):
        path.write_text(text, encoding="utf-8")
        assert list(ggpbase.load_any(path)) == [sample()]
    path.write_text(f"{records.dumps(sample())}\n\n{ggpbase.dumps(sample())}\n", encoding="utf-8")
    assert list(ggpbase.load_any(path)) == [sample(), sample()]


def test_a_damaged_file_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "matches"
    path.write_text("{\n{", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"^{path}:1: not JSON"):
        list(ggpbase.load_any(path))
    path.write_text(f"{records.dumps(sample())}\n{{", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"^{path}:2: not JSON"):
        list(ggpbase.load_any(path))
