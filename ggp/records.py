"""Match records: one JSON object a line, terms as GDL text in the spelling of the rules. Nothing read is trusted.

| key | value |
|---|---|
| `id`, `game`, `rule_hash` | text |
| `roles`, `players` | lists of text, one per role |
| `start_clock`, `play_clock` | seconds, null without a limit |
| `states` | per step the sorted facts |
| `moves` | per step one move per role |
| `errors` | `{"step", "role", "kind"}`, the kinds of `ggp.match.Fault` |
| `goals` | role → 0…100, or null where the rules give none |
| `completed` | whether the last state is terminal |
| `seed` | a number, or null |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import inf, isfinite
from pathlib import Path
from typing import Any, NoReturn

from ggp.errors import GdlSyntaxError, IllegalMove, RecordError
from ggp.game import Game, State
from ggp.match import FAULTS, Fault, Match
from ggp.parser import parse_ground
from ggp.terms import Fact

MAX_LINE = 1 << 28  # characters; the longest honest match is far below


def dumps(match: Match) -> str:
    """The match as one line of JSON, without the line's end."""
    return json.dumps(
        {
            "id": match.id,
            "game": match.game,
            "rule_hash": match.rule_hash,
            "roles": match.roles,
            "players": match.players,
            "start_clock": match.start_clock if isfinite(match.start_clock) else None,
            "play_clock": match.play_clock if isfinite(match.play_clock) else None,
            "seed": match.seed,
            "states": [sorted(map(str, state)) for state in match.states],
            "moves": [[str(move) for move in joint] for joint in match.moves],
            "errors": [{"step": fault.step, "role": fault.role, "kind": fault.kind} for fault in match.errors],
            "goals": match.scores,
            "completed": match.completed,
        },
        separators=(",", ":"),
        ensure_ascii=False,
    )


def loads(line: str, where: str = "<text>") -> Match:
    """The match that a line of JSON describes; `where` goes in front of what is wrong with it."""
    record = Checked(read_json(line, where), where)
    roles = record.texts("roles")
    if not roles or len(set(roles)) < len(roles):
        record.fail("roles", "expected at least one, each once")
    moves = tuple(record.terms(joint, f"moves[{i}]", len(roles)) for i, joint in enumerate(record.items("moves")))
    states = tuple(frozenset(record.terms(facts, f"states[{i}]")) for i, facts in enumerate(record.items("states")))
    if len(states) != len(moves) + 1:
        record.fail("states", f"{len(states)} states, expected one more than the {len(moves)} moves")
    players = record.texts("players")
    if len(players) != len(roles):
        record.fail("players", f"{len(players)} players, expected one for each of the {len(roles)} roles")
    goals = record.value("goals", dict)
    if sorted(goals) != sorted(roles):
        record.fail("goals", f"expected one for each of {', '.join(roles)}")
    return Match(
        id=record.value("id", str),
        game=record.value("game", str),
        rule_hash=record.value("rule_hash", str),
        roles=roles,
        players=players,
        start_clock=record.clock("start_clock"),
        play_clock=record.clock("play_clock"),
        states=states,
        moves=moves,
        errors=tuple(record.fault(item, i, roles, len(moves)) for i, item in enumerate(record.items("errors"))),
        goals=tuple(record.goal(goals[role], f"goals.{role}") for role in roles),
        completed=record.value("completed", bool),
        seed=record.number("seed"),
    )


def save(path: str | Path, matches: Iterable[Match]) -> None:
    """Writes the matches, one a line, in place of what was in the file."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(f"{dumps(match)}\n" for match in matches)


def load(path: str | Path) -> Iterator[Match]:
    """The matches in a file, as it is read; blank lines are passed over."""
    with Path(path).open(encoding="utf-8", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE:
                raise RecordError(f"{path}:{number}: longer than {MAX_LINE} characters")
            if line.strip():
                yield loads(line, f"{path}:{number}")


def replay(game: Game, match: Match, initial: State | None = None) -> Iterator[State]:
    """The states of the match, computed by the rules. Raises where the record says something else."""
    if match.roles != game.roles:
        raise RecordError(
            f"{match.id}: roles {', '.join(match.roles)}, expected those of {game.name}: {', '.join(game.roles)}"
        )
    if match.rule_hash and match.rule_hash != game.rule_hash:
        raise RecordError(f"{match.id}: played by other rules than those of {game.name}: the rule hashes differ")
    state = initial or game.initial
    for step, facts in enumerate(match.states):
        if step:
            try:
                state = state.play(*match.moves[step - 1])
            except IllegalMove as error:
                raise RecordError(f"{match.id}: step {step - 1}: {error}") from error
        if state.facts != facts:
            raise RecordError(f"{match.id}: state {step}: {_difference(facts, state.facts)}")
        yield state
    if state.is_terminal != match.completed:
        raise RecordError(f"{match.id}: completed is {match.completed}, but the last state says {state.is_terminal}")
    if [goal or 0 for goal in state.goals.values()] != [goal or 0 for goal in match.goals]:  # no goal counts as 0
        raise RecordError(f"{match.id}: goals {match.scores}, expected {state.goals}")


def _difference(recorded: frozenset[Fact], computed: frozenset[Fact]) -> str:
    extra, missing = sorted(map(str, recorded - computed)), sorted(map(str, computed - recorded))
    return f"the record has {extra[0]}, the rules do not" if extra else f"the record lacks {missing[0]}"


def read_json(text: str, where: str) -> dict[str, Any]:
    """The JSON object in a text that anybody may have written."""

    def unwanted(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        found = json.loads(text, parse_constant=unwanted)
        if "\\u" in text or not text.isascii():
            json.dumps(found, ensure_ascii=False).encode()  # half a character cannot be written again
    except (ValueError, RecursionError) as error:  # an integer of a million digits is a ValueError too
        raise RecordError(f"{where}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RecordError(f"{where}: a JSON {type(found).__name__}, expected an object")
    return found


class Checked:
    """A JSON object whose every value is checked as it is taken out."""

    def __init__(self, record: dict[str, Any], where: str) -> None:
        self.record = record
        self.where = where

    def fail(self, key: str, message: str) -> NoReturn:
        raise RecordError(f"{self.where}: {key}: {message}")

    def value(self, key: str, kind: type) -> Any:
        if key not in self.record:
            self.fail(key, "missing")
        return self.typed(self.record[key], key, kind)

    def typed(self, value: Any, key: str, kind: type) -> Any:
        if type(value) is not kind:  # True is no number
            self.fail(key, f"{type(value).__name__} {str(value)[:40]!r}, expected {kind.__name__}")
        return value

    def items(self, key: str) -> list[Any]:
        found: list[Any] = self.value(key, list)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.typed(item, f"{key}[{i}]", str) for i, item in enumerate(self.items(key)))

    def terms(self, value: Any, key: str, length: int | None = None) -> tuple[Fact, ...]:
        """A list of ground terms."""
        texts = [self.typed(item, f"{key}[{i}]", str) for i, item in enumerate(self.typed(value, key, list))]
        if length is not None and len(texts) != length:
            self.fail(key, f"{len(texts)} moves, expected one for each of the {length} roles")
        return tuple(self.term(text, key) for text in texts)

    def term(self, text: str, key: str) -> Fact:
        try:
            return parse_ground(text)
        except GdlSyntaxError as error:
            self.fail(key, f"{text[:40]!r} is no GDL: {error.problems[0].message}")

    def clock(self, key: str) -> float:
        value = self.record.get(key)
        if value is None:
            return inf
        if type(value) not in (int, float) or not 0 <= value < 1e9:
            self.fail(key, f"{str(value)[:40]!r}, expected seconds")
        return float(value)

    def number(self, key: str) -> int | None:
        value = self.record.get(key)
        if value is not None and type(value) is not int:
            self.fail(key, f"{str(value)[:40]!r}, expected a whole number")
        return value

    def goal(self, value: Any, key: str) -> int | None:
        if value is not None and (type(value) is not int or not 0 <= value <= 100):
            self.fail(key, f"{str(value)[:40]!r}, expected 0…100 or null")
        found: int | None = value
        return found

    def fault(self, value: Any, index: int, roles: tuple[str, ...], steps: int) -> Fault:
        key = f"errors[{index}]"
        entry = Checked(self.typed(value, key, dict), f"{self.where}: {key}")
        fault = Fault(entry.value("step", int), entry.value("role", str), entry.value("kind", str))
        if not 0 <= fault.step <= steps or fault.role not in roles or fault.kind not in FAULTS:
            self.fail(
                key, f"{fault.kind!r} of {fault.role!r} in step {fault.step}, expected a known kind, role and step"
            )
        return fault
