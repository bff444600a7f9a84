"""Compiled games on disk, by rule hash, so that a known game starts at once.

A file is an `.npz` with the arrays of a tape and a JSON header with its names as GDL. Nothing in it is executed, and
everything the kernels will trust is checked when it is read: they do not look where they write.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ggp.errors import GdlSyntaxError, RecordError
from ggp.parser import parse_ground
from ggp.propnet.tape import LOOP, REPEAT, RUN, Tape

FORMAT = 1  # of the file and of the tape: another number is another file name
ARRAYS = ("program", "inputs", "phases", "next", "legal", "first_move", "goals", "sees", "init")


def folder() -> Path:
    """Where compiled games are kept: `$AUGUR_CACHE`, else the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("AUGUR_CACHE") or Path(cache) / "augur") / "networks"


def find(rule_hash: str) -> Tape | None:
    """The compiled game with these rules; None where there is none, or none that can be used."""
    path = folder() / f"{rule_hash}-{FORMAT}.npz"
    try:
        return load(path) if path.is_file() else None
    except (RecordError, OSError):
        return None


def keep(rule_hash: str, tape: Tape) -> None:
    """Writes a compiled game where `find` looks for it; a folder that cannot be written to is no error."""
    path = folder() / f"{rule_hash}-{FORMAT}.npz"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(tape, path)
    except OSError:
        return


def save(tape: Tape, path: Path) -> None:
    """Writes the file whole or not at all."""
    names = {
        "format": FORMAT,
        "roles": tape.roles,
        "facts": [str(fact) for fact in tape.facts],
        "moves": [[str(move) for move in some] for some in tape.moves],
        "percepts": [[str(percept) for percept in some] for some in tape.percepts],
        "rows": tape.rows,
        "terminal": tape.terminal,
    }
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    arrays = {name: getattr(tape, name) for name in ARRAYS}
    with partial.open("wb") as file:
        np.savez_compressed(file, names=np.frombuffer(json.dumps(names).encode(), np.uint8), **arrays)
    partial.replace(path)


def load(path: Path) -> Tape:
    """The tape in a file; RecordError where it is damaged or not one of ours."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = json.loads(file["names"].tobytes())
            arrays = {name: np.ascontiguousarray(file[name]) for name in ARRAYS}
        tape = Tape(
            roles=tuple(map(str, names["roles"])),
            facts=tuple(map(parse_ground, names["facts"])),
            moves=tuple(tuple(map(parse_ground, some)) for some in names["moves"]),
            percepts=tuple(tuple(map(parse_ground, some)) for some in names["percepts"]),
            rows=int(names["rows"]),
            terminal=int(names["terminal"]),
            **arrays,
        )
        wrong = None if names["format"] == FORMAT else f"format {names['format']}, expected {FORMAT}"
        wrong = wrong or _wrong(tape)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, GdlSyntaxError) as error:
        raise RecordError(f"{path}: not a compiled game: {error}") from error
    if wrong:
        raise RecordError(f"{path}: not a compiled game: {wrong}")
    return tape


def _wrong(tape: Tape) -> str | None:
    """What is wrong with a tape that came from outside; None where the kernels can trust it."""
    kinds: dict[str, Any] = {"init": np.bool_} | dict.fromkeys(("inputs", "next", "legal", "sees"), np.uint32)
    for name in ARRAYS:
        array = getattr(tape, name)
        dimensions = {"program": (2, 7), "goals": (2, 3)}.get(name, (1, None))
        if array.dtype != kinds.get(name, np.int64) or array.ndim != dimensions[0]:
            return f"{name} is {array.dtype} of {array.ndim} dimensions"
        if dimensions[1] and array.shape[1] != dimensions[1]:
            return f"{name} has {array.shape[1]} columns"
    roles, moves = len(tape.roles), [len(some) for some in tape.moves]
    if not roles or len(moves) != roles or len(tape.percepts) != roles:
        return "names do not fit the roles"
    if tape.first_move.tolist() != np.cumsum([0, *moves]).tolist() or len(tape.legal) != sum(moves):
        return "moves do not fit their names"
    if len(tape.next) != len(tape.facts) or len(tape.init) != len(tape.facts):
        return "facts do not fit their names"
    if len(tape.sees) != sum(map(len, tape.percepts)):
        return "percepts do not fit their names"
    if not 1 + len(tape.facts) + sum(moves) <= tape.rows <= 1 << 31:
        return f"{tape.rows} rows"
    answers = np.concatenate([tape.next, tape.legal, tape.sees, tape.goals[:, 2], [tape.terminal]]).astype(np.int64)
    if answers.min() < 0 or answers.max() >= tape.rows:
        return "an answer is read from outside"
    if len(tape.goals) and not (tape.goals[:, 0].min() >= 0 and tape.goals[:, 0].max() < roles):
        return "a goal of nobody"
    phases = tape.phases.tolist()
    if len(phases) != 5 or phases != sorted(phases) or phases[0] != 0 or phases[-1] != len(tape.program):
        return "phases out of order"
    inputs = tape.inputs.astype(np.int64)
    loops: list[int] = []
    for at, (operation, a, b, c, first, gates, offset) in enumerate(tape.program.tolist()):
        if operation == RUN:
            size = (a + b) * gates
            good = min(a, b, gates, first, offset) >= 0 and a + b > 0 and first + gates <= tape.rows
            good = good and offset + size <= len(inputs) and (inputs[offset : offset + size] < tape.rows).all()
            good = good and first > len(tape.facts) + sum(moves)
        elif operation in (LOOP, REPEAT):
            pairs = inputs[b : b + 2 * a].reshape(-1, 2) if min(a, b) >= 0 and b + 2 * a <= len(inputs) else None
            good = pairs is not None and (pairs[:, 0] < tape.rows).all() and (pairs[:, 1] >> 1 < tape.rows).all()
            if operation == LOOP:
                loops.append(at)
            else:
                good = good and bool(loops) and c == loops.pop() + 1
        else:
            good = False
        if not good:
            return f"operation {at} reaches outside"
    return "a loop without an end" if loops else None


assert {field.name for field in fields(Tape)} >= set(ARRAYS)
