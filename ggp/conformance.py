"""Does an engine compute what the reference implementation computed? Replays recorded traces and compares everything.

A trace is a file of JSON lines as `ggp.trace` writes them: every visited state with its facts, legal moves, terminal
and goals, the joint move that was played, and in GDL-II what each role saw. Spelling is compared in lower case, because
traces are written so.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ggp.errors import GGPError, IllegalMove, RecordError, TimeLimit
from ggp.game import load
from ggp.match import Deadline
from ggp.reasoner import DEFAULT_MEMORY_LIMIT, Reasoner, States
from ggp.terms import Move, Term

KEYS = {"playout", "step", "state", "legals", "terminal", "goals", "move"}  # of every line of a trace


@dataclass(frozen=True)
class Verdict:
    """What came out for one game: `agree`, `disagree` (with the first difference), `slow`, or `failed` (with why)."""

    game: str
    outcome: str
    states: int = 0
    playout: int = 0
    step: int = 0
    what: str = ""


def conform(
    games: Path,
    traces: Path,
    *,
    engine: str,
    seconds_per_game: float,
    jobs: int = 1,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    only: Callable[[str], bool] = lambda name: True,
    random_states: int = 0,
) -> Iterator[Verdict]:
    """A verdict for each game in `games` in the order of their names; each is computed by an engine of its own.

    With `random_states` the engine is compared with Prolog on so many states of random games, not with the traces.
    """
    paths = sorted(path for path in games.glob("*.kif") if only(path.stem))

    def verdict(path: Path) -> Verdict:
        name = path.name.removesuffix(".kif")
        trace = traces / f"{name}.jsonl.gz"
        return check(path, trace, engine, seconds_per_game, memory_limit, random_states=random_states)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(verdict, paths)


def check(
    rules: Path,
    trace: Path,
    engine: str,
    seconds: float,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    *,
    random_states: int = 0,
) -> Verdict:
    """The verdict for one game."""
    name = rules.name.removesuffix(".kif")
    deadline = Deadline.after(seconds)
    seen = 0
    try:
        game = load(rules)
        reasoner = game.reasoner(engine, time_limit=seconds, memory_limit=memory_limit)
        try:
            if random_states:
                reference = game.reasoner("prolog", time_limit=seconds, memory_limit=memory_limit)
                found = random_differences(reasoner, reference, random_states)
            else:
                found = differences(reasoner, read_trace(trace))
            for seen, (line, difference) in enumerate(found, 1):
                if difference:
                    return Verdict(name, "disagree", seen, line["playout"], line["step"], difference)
                if deadline.passed:
                    return Verdict(name, "slow", seen)
        finally:
            reasoner.close()
    except TimeLimit:
        return Verdict(name, "slow", seen)
    except (GGPError, OSError) as error:
        return Verdict(name, "failed", seen, what=str(error))
    return Verdict(name, "agree", seen)


def random_differences(ours: Reasoner, theirs: Reasoner, states: int) -> Iterator[tuple[dict[str, Any], str]]:
    """For each state of random games, `states` in all: where it is, and how the two engines differ there ("": not)."""
    rng = np.random.default_rng(1)
    seen, playout, step = 0, 0, 0
    mine, yours = ours.initial(), theirs.initial()
    while seen < states:
        where = {"playout": playout, "step": step}
        legal = [
            [_legal(engine, row, r) for r in range(len(ours.roles))] for engine, row in ((ours, mine), (theirs, yours))
        ]
        difference = _sets("facts", _texts(ours.facts(mine)[0]), _texts(theirs.facts(yours)[0]))
        for r, role in enumerate(ours.roles):
            difference = difference or _sets(f"legal moves of {role}", _texts(legal[0][r]), _texts(legal[1][r]))
            values = ours.goal_values(mine, r)[0], theirs.goal_values(yours, r)[0]
            if values[0] != values[1]:
                difference = difference or f"goals of {role}: {values[0]}, expected {values[1]}"
        over = bool(theirs.terminal(yours)[0])
        if bool(ours.terminal(mine)[0]) != over:
            difference = difference or f"terminal: {not over}, expected {over}"
        if over or difference or not all(legal[1]):
            mine, yours, playout, step = ours.initial(), theirs.initial(), playout + 1, 0
        else:
            moves = [some[int(rng.integers(len(some)))] for some in legal[1]]
            joints = [[engine.moves[r].id(move) for r, move in enumerate(moves)] for engine in (ours, theirs)]
            for r, role in enumerate(ours.roles):
                percepts = _texts(ours.sees(mine, [joints[0]], r)[0]), _texts(theirs.sees(yours, [joints[1]], r)[0])
                difference = difference or _sets(f"percepts of {role}", *percepts)
            mine, yours, step = ours.step(mine, [joints[0]]), theirs.step(yours, [joints[1]]), step + 1
        seen += 1
        yield where, difference


def _texts(terms: Iterable[Term]) -> set[str]:
    return set(map(str, terms))


def read_trace(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a trace, without the header."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            next(lines, None)
            for line in lines:
                found = json.loads(line)
                if not isinstance(found, dict) or not found.keys() >= KEYS:
                    raise ValueError(f"{line[:40]!r}, expected an object with {', '.join(sorted(KEYS))}")
                yield found
    except (ValueError, EOFError, zlib.error) as error:
        raise RecordError(f"{path}: not a trace: {error}") from error


def differences(reasoner: Reasoner, lines: Iterator[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """For each line of a trace: the line, and how the engine differs from it ("" until it does, then it ends)."""
    states: States | None = None
    roles = [role.lower() for role in reasoner.roles]
    for line in lines:
        if line["step"] == 0:
            states = reasoner.initial()
        if states is None:
            raise RecordError(f"the trace starts with step {line['step']}, expected 0")
        legal = [_legal(reasoner, states, role) for role in range(len(roles))]
        difference = _difference(reasoner, states, legal, line)
        if line["move"] and not difference:
            joint = [reasoner.moves[i].id(_meant(legal[i], line["move"].get(role))) for i, role in enumerate(roles)]
            difference = _percepts(reasoner, states, joint, line.get("sees") or {})
            states = reasoner.step(states, [joint])
        yield line, difference
        if difference:
            return


def _percepts(reasoner: Reasoner, states: States, joint: list[int], sees: dict[str, list[str]]) -> str:
    for index, role in enumerate(reasoner.roles):
        if role.lower() in sees:
            seen = {str(percept).lower() for percept in reasoner.sees(states, [joint], index)[0]}
            if found := _sets(f"percepts of {role.lower()}", seen, set(sees[role.lower()])):
                return found
    return ""


def _difference(reasoner: Reasoner, states: States, legal: list[list[Move]], line: dict[str, Any]) -> str:
    roles = [role.lower() for role in reasoner.roles]
    if found := _sets("roles", set(roles), set(line["legals"])):
        return found
    facts = {str(fact).lower() for fact in reasoner.facts(states)[0]}
    if found := _sets("facts", facts, set(line["state"])):
        return found
    for role, moves in zip(roles, legal, strict=True):
        if found := _sets(f"legal moves of {role}", {str(m).lower() for m in moves}, set(line["legals"][role])):
            return found
    terminal = bool(reasoner.terminal(states)[0])
    if terminal != line["terminal"]:
        return f"terminal: {terminal}, expected {line['terminal']}"
    for index, role in enumerate(roles):
        given = line["goals"].get(role)
        expected = [] if given is None else [given]
        expected = sorted(map(int, line.get("goals_raw", {}).get(role, expected)))
        values = list(reasoner.goal_values(states, index)[0])
        if values != expected:
            return f"goals of {role}: {values}, expected {expected}"
    return ""


def _sets(what: str, ours: set[str], theirs: set[str]) -> str:
    """What two sets disagree on, in a line."""
    more, less = sorted(ours - theirs), sorted(theirs - ours)
    parts = [f"{sign}{len(some)} ({', '.join(some[:3])})" for sign, some in (("+", more), ("−", less)) if some]
    return f"{what}: {' '.join(parts)}" if parts else ""


def _legal(reasoner: Reasoner, states: States, role: int) -> list[Move]:
    legal = reasoner.legal(states, role)[0]
    return [reasoner.moves[role][int(i)] for i in legal.nonzero()[0]]


def _meant(legal: list[Move], move: str | None) -> Move:
    """The legal move that a trace means: spelled so, else the same in lower case."""
    spelled = {str(m).lower(): m for m in legal} | {str(m): m for m in legal}
    if move is None or move not in spelled:
        raise IllegalMove(f"the trace plays {move}, which is not legal")
    return spelled[move]
