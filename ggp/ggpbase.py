"""The match JSON of ggp-base (`org.ggp.base.util.match.Match`), as ggp.org stores it: one object per file.

It names neither the roles nor the game, but by the address of its rules, so reading it wants the game. What we write
carries `gameName` and `gameRoleNames` beside, as older servers did, and is read back without. Times are not kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

from ggp import bundle, records
from ggp.errors import GdlSyntaxError, RecordError
from ggp.game import Game, load
from ggp.match import Fault, Match
from ggp.parser import TOKEN, Nested, parse_lists
from ggp.records import MAX_LINE, Checked, read_json
from ggp.terms import Fact

CODES = {"late": "TO", "illegal": "IL", "error": "CE", "start": "CE", "stuck": "IL"}  # time-out, illegal, connection
KINDS = {"TO": "late", "IL": "illegal"}
UNLIMITED = 999_999  # seconds: ggp-base has no match without clocks


def dumps(match: Match) -> str:
    """The match as ggp-base writes it.

    `augurRuleHash` and `augurSeed` are ours; ggp-base passes over keys that it does not know.
    """
    errors = [[""] * len(match.roles) for _ in match.states]  # the first are those of the start
    for fault in match.errors:
        row = 0 if fault.kind == "start" else min(fault.step + 1, len(errors) - 1)
        errors[row][match.roles.index(fault.role)] = CODES[fault.kind]
    found: dict[str, Any] = {
        "matchId": match.id,
        "randomToken": hashlib.sha256(match.id.encode()).hexdigest()[:32],
        "startTime": 0,
        "gameName": match.game,
        "gameRoleNames": match.roles,
        "isCompleted": match.completed,
        "isAborted": not match.completed,
        "states": [f"( {' '.join(sorted(map(spaced, state)))} )" for state in match.states],
        "moves": [[spaced(move) for move in joint] for joint in match.moves],
        "stateTimes": [0] * len(match.states),
        "errors": errors,
        "previewClock": -1,
        "startClock": round(match.start_clock) if isfinite(match.start_clock) else UNLIMITED,
        "playClock": round(match.play_clock) if isfinite(match.play_clock) else UNLIMITED,
        "playerNamesFromHost": match.players,
        "isPlayerHuman": [player == "human" for player in match.players],
        "scrambled": False,
        "augurRuleHash": match.rule_hash,
        "augurSeed": match.seed,
    }
    if any(goal is not None for goal in match.goals):
        found["goalValues"] = [goal or 0 for goal in match.goals]  # it cannot say that one role has none
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def loads(text: str, game: Game | None = None, where: str = "<text>") -> Match:
    """The match in ggp-base's JSON; without the game the roles are those it names, else `role1`, `role2`, …"""
    record = Checked(read_json(text, where), where)
    moves = tuple(record.terms(joint, f"moves[{i}]") for i, joint in enumerate(record.items("moves")))
    states = tuple(_state(record, i, item) for i, item in enumerate(record.items("states")))
    if len(states) != len(moves) + 1:
        record.fail("states", f"{len(states)} states, expected one more than the {len(moves)} moves")
    roles = _roles(record, game, moves)
    for i, joint in enumerate(moves):
        if len(joint) != len(roles):
            record.fail(f"moves[{i}]", f"{len(joint)} moves, expected one for each of the {len(roles)} roles")
    goals = record.items("goalValues") if "goalValues" in record.record else [None] * len(roles)
    players = record.texts("playerNamesFromHost") if "playerNamesFromHost" in record.record else ("",) * len(roles)
    for key, values in (("goalValues", goals), ("playerNamesFromHost", players)):
        if len(values) != len(roles):
            record.fail(key, f"{len(values)} of them, expected one for each of the {len(roles)} roles")
    rule_hash = record.value("augurRuleHash", str) if "augurRuleHash" in record.record else ""
    return Match(
        id=record.value("matchId", str),
        game=game.name if game else _game_name(record),
        rule_hash=game.rule_hash if game else rule_hash,
        roles=roles,
        players=players,
        start_clock=_clock(record, "startClock"),
        play_clock=_clock(record, "playClock"),
        states=states,
        moves=moves,
        errors=tuple(_faults(record, roles, len(states))),
        goals=tuple(record.goal(goal, f"goalValues[{i}]") for i, goal in enumerate(goals)),
        completed=record.value("isCompleted", bool),
        seed=record.number("augurSeed"),
    )


def spaced(term: Fact) -> str:
    """The term with spaces inside its parentheses.

    >>> from ggp.parser import parse_ground
    >>> spaced(parse_ground("(mark 1 1)"))
    '( mark 1 1 )'
    """
    return " ".join(TOKEN.findall(str(term)))


def _state(record: Checked, index: int, value: Any) -> frozenset[Fact]:
    """Facts inside one more pair of parentheses."""
    key = f"states[{index}]"
    text: str = record.typed(value, key, str)
    try:
        lists = parse_lists(text)
    except GdlSyntaxError as error:
        record.fail(key, f"{text[:40]!r} is no GDL: {error.problems[0].message}")
    if len(lists) != 1 or isinstance(lists[0], str):
        record.fail(key, f"{text[:40]!r}, expected one list of facts")
    return frozenset(record.terms([_joined(fact) for fact in lists[0]], key))


def _joined(nested: Nested) -> str:
    return nested if isinstance(nested, str) else f"({' '.join(map(_joined, nested))})"


def _roles(record: Checked, game: Game | None, moves: Sequence[Sequence[Fact]]) -> tuple[str, ...]:
    if game:
        return game.roles
    for key in ("gameRoleNames", "roles"):
        if key in record.record:
            return record.texts(key)
    # Whatever has an entry for each role tells how many there are.
    rows: list[Any] = list(moves[:1])
    rows += [record.items(key) for key in ("playerNamesFromHost", "goalValues") if key in record.record]
    rows += [record.typed(row, "errors", list) for row in record.items("errors")] if "errors" in record.record else []
    return tuple(f"role{i + 1}" for i in range(len(rows[0]) if rows else 0))


def _game_name(record: Checked) -> str:
    """The name as given, or from an address such as http://games.ggp.org/base/games/ticTacToe/v0/."""
    if "gameName" in record.record:
        return str(record.value("gameName", str))
    url = str(record.value("gameMetaURL", str)) if "gameMetaURL" in record.record else ""
    return url.partition("/games/")[2].partition("/")[0]


def _clock(record: Checked, key: str) -> float:
    seconds = record.clock(key)
    return seconds if seconds < UNLIMITED else inf


def _faults(record: Checked, roles: tuple[str, ...], states: int) -> list[Fault]:
    faults = []
    rows = record.items("errors") if "errors" in record.record else []
    if len(rows) > states:
        record.fail("errors", f"{len(rows)} rows, expected at most one for each of the {states} states")
    for i, row in enumerate(rows):
        if len(record.typed(row, f"errors[{i}]", list)) != len(roles):
            record.fail(f"errors[{i}]", f"{len(row)} errors, expected one for each of the {len(roles)} roles")
        for role, code in zip(roles, row, strict=True):
            if record.typed(code, f"errors[{i}]", str):
                faults.append(Fault(max(0, i - 1), role, KINDS.get(code[:2], "error") if i else "start"))
    return faults


def load_any(path: str | Path, game: Game | None = None) -> Iterator[Match]:
    """The matches in a file in either form: ours, one a line, or ggp-base's, which may be spread over lines.

    Without `game`, ggp-base's matches of a bundled game find it by its name.
    """
    with Path(path).open(encoding="utf-8", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                match = _either(line, game, where)
            except RecordError as error:
                rest = file.read(MAX_LINE) if number == 1 else ""
                try:
                    whole = read_json(line + rest, str(path))
                except RecordError:
                    raise error from None  # it was not the first line of an object spread over lines
                if not rest:
                    raise
                match = _either(line + rest, game, str(path), whole)
            yield match


def _either(text: str, game: Game | None, where: str, found: dict[str, Any] | None = None) -> Match:
    found = found or read_json(text, where)
    if "matchId" not in found:
        return records.loads(text, where)
    name = _game_name(Checked(found, where))
    if game is None and name in bundle.names():
        game = load(name)
    return loads(text, game, where)
