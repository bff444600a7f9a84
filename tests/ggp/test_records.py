"""Records come back as they were written; damaged ones are refused with the place."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from ggp import records
from ggp.errors import RecordError
from ggp.game import Game, load
from ggp.match import Fault, Match
from ggp.parser import parse_ground


def sample() -> Match:
    game = load("tic_tac_toe")
    state = game.initial
    states, moves = [state.facts], []
    for joint in (("(mark 1 1)", "noop"), ("noop", "(mark 2 2)")):
        state = state.play(*joint)
        states.append(state.facts)
        moves.append(tuple(map(parse_ground, joint)))
    return Match(
        id="m1",
        game="tic_tac_toe",
        rule_hash=game.rule_hash,
        roles=game.roles,
        players=("random", "legal"),
        start_clock=10.0,
        play_clock=inf,
        states=tuple(states),
        moves=tuple(moves),
        errors=(Fault(1, "oplayer", "late"),),
        goals=tuple(state.goals.values()),
        completed=False,
        seed=5,
    )


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(records.dumps(sample())) | fields)


def test_a_record_is_one_line_and_comes_back() -> None:
    line = records.dumps(sample())
    assert "\n" not in line
    assert records.loads(line) == sample()


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    matches = [sample(), replace(sample(), id="zwei ✓", seed=None)]
    records.save(path, matches)
    assert list(records.load(path)) == matches
    path.write_text(path.read_text() + "\n\n", encoding="utf-8")
    assert list(records.load(path)) == matches


def test_replay_computes_the_same_states() -> None:
    match = sample()
    assert [state.facts for state in records.replay(load("tic_tac_toe"), match)] == list(match.states)


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    path.write_text(records.dumps(sample()) + "\n{\n", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"^{path}:2: not JSON: "):
        list(records.load(path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "where: a JSON list, expected an object"),
        ("nonsense", "where: not JSON: Expecting value"),
        ("[" * 100_000, "where: not JSON: "),
        ('{"id": NaN}', "where: not JSON: NaN is not JSON"),
        ('{"id": ' + "1" * 5000 + "}", "where: not JSON: "),
        ('{"id": "\\ud800"}', "where: not JSON: 'utf-8' codec can't encode"),
        ('{"id": "\udc80"}', "where: not JSON: 'utf-8' codec can't encode"),
        ("{}", "where: roles: missing"),
        (changed(id=3), "where: id: int '3', expected str"),
        (changed(id=None), "where: id: NoneType 'None', expected str"),
        (changed(completed=1), "where: completed: int '1', expected bool"),
        (changed(roles=[]), "where: roles: expected at least one, each once"),
        (changed(roles=["x", "x"]), "where: roles: expected at least one, each once"),
        (changed(roles="xo"), "where: roles: str 'xo', expected list"),
        (changed(roles=["x", 1]), r"where: roles\[1\]: int '1', expected str"),
        (changed(players=["p"]), "where: players: 1 players, expected one for each of the 2 roles"),
        (changed(moves=[["noop"]]), r"where: moves\[0\]: 1 moves, expected one for each of the 2 roles"),
        (changed(moves=[]), "where: states: 3 states, expected one more than the 0 moves"),
        (changed(states=[]), "where: states: 0 states, expected one more than the 2 moves"),
        (
            changed(moves=[["(a", "b"]] * 2),
            r"where: moves\[0\]: '\(a' is no GDL: end of text, expected '\)' to close '\(a'",
        ),
        (
            changed(states=[["?x"]] * 3),
            r"where: states\[0\]: '\?x' is no GDL: \?x has a variable, expected a ground term",
        ),
        (changed(states=[["a b"]] * 3), r"where: states\[0\]: 'a b' is no GDL: 2 terms, expected one"),
        (changed(states=[[["a"]]] * 3), r"where: states\[0\]\[0\]: list \"\['a'\]\", expected str"),
        (changed(goals={"xplayer": 1}), "where: goals: expected one for each of xplayer, oplayer"),
        (changed(goals={"xplayer": 101, "oplayer": 0}), "where: goals.xplayer: '101', expected 0…100 or null"),
        (changed(goals={"xplayer": True, "oplayer": 0}), "where: goals.xplayer: 'True', expected 0…100 or null"),
        (changed(start_clock=-1), "where: start_clock: '-1', expected seconds"),
        (changed(play_clock="5"), "where: play_clock: '5', expected seconds"),
        (changed(seed=1.5), "where: seed: '1.5', expected a whole number"),
        (changed(errors=[{}]), r"where: errors\[0\]: step: missing"),
        (
            changed(errors=[{"step": 9, "role": "xplayer", "kind": "late"}]),
            r"where: errors\[0\]: 'late' of 'xplayer' in step 9, expected a known kind, role and step",
        ),
        (
            changed(errors=[{"step": 0, "role": "nobody", "kind": "late"}]),
            r"where: errors\[0\]: 'late' of 'nobody' in step 0, expected a known kind, role and step",
        ),
        (
            changed(errors=[{"step": 0, "role": "xplayer", "kind": "rude"}]),
            r"where: errors\[0\]: 'rude' of 'xplayer' in step 0, expected a known kind, role and step",
        ),
    ],
)
def test_what_is_wrong_is_said(line: str, message: str) -> None:
    with pytest.raises(RecordError, match=f"^{message}"):
        records.loads(line, "where")


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_LINE", 100)
    path = tmp_path / "matches.jsonl"
    path.write_text("x" * 1000, encoding="utf-8")
    with pytest.raises(RecordError, match=":1: longer than 100 characters"):
        list(records.load(path))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(RecordError, match=":1: not JSON"):
        list(records.load(path))


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (replace(sample(), roles=("a", "b")), "m1: roles a, b, expected those of tic_tac_toe: xplayer, oplayer"),
        (
            replace(sample(), rule_hash="0"),
            "m1: played by other rules than those of tic_tac_toe: the rule hashes differ",
        ),
        (
            replace(sample(), moves=((parse_ground("noop"),) * 2, *sample().moves[1:])),
            "m1: step 0: xplayer cannot play noop here, expected one of",
        ),
        (
            replace(sample(), states=(sample().states[0] | {parse_ground("extra")}, *sample().states[1:])),
            "m1: state 0: the record has extra, the rules do not",
        ),
        (
            replace(sample(), states=(sample().states[0], frozenset(), sample().states[2])),
            r"m1: state 1: the record lacks \(cell 1 1 x\)",
        ),
        (replace(sample(), completed=True), "m1: completed is True, but the last state says False"),
        (replace(sample(), goals=(100, 0)), "m1: goals {'xplayer': 100, 'oplayer': 0}, expected {'xplayer': "),
    ],
)
def test_a_record_against_the_rules_is_refused(match: Match, message: str) -> None:
    with pytest.raises(RecordError, match=f"^{message}"):
        list(records.replay(load("tic_tac_toe"), match))


def test_replay_of_a_game_without_goals() -> None:
    game = Game.parse(
        "(role a) (role random) (init on) (legal a x) (legal random y) (<= terminal (true on)) (goal a 100)"
    )
    state = game.initial
    match = Match("m", "g", "", game.roles, ("p", "random"), inf, inf, (state.facts,), (), goals=(100, None))
    assert len(list(records.replay(game, match))) == 1
    assert len(list(records.replay(game, replace(match, goals=(100, 0))))) == 1
