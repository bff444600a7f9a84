"""Compiled games on disk, by rule hash, so that a known game starts at once.

A file is an `.npz` with the arrays of a tape and a JSON header with its names as GDL. Nothing in it is executed, and
everything the kernels will trust is checked when it is read: they do not look where they write.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ggp.errors import RecordError
from ggp.parser import parse_ground
from ggp.propnet.tape import LOOP, QUESTIONS, REPEAT, RUN, Tape

FORMAT = 4  # of the file and of the tape: another number is another file name
ARRAYS = ("inputs", "next", "legal", "first_move", "goals", "sees", "init")
DAMAGE = (  # what unzipping and reading raise, by where exactly the damage is
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


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
    arrays = {name: getattr(tape, name) for name in ARRAYS} | {
        f"program{i}": program for i, program in enumerate(tape.programs)
    }
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            np.savez_compressed(file, names=np.frombuffer(json.dumps(names).encode(), np.uint8), **arrays)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def load(path: Path) -> Tape:
    """The tape in a file; RecordError where it is damaged or not one of ours."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = json.loads(file["names"].tobytes())
            arrays = {name: np.ascontiguousarray(file[name]) for name in ARRAYS}
            programs = tuple(np.ascontiguousarray(file[f"program{i}"]) for i in range(QUESTIONS))
        tape = Tape(
            roles=tuple(map(str, names["roles"])),
            facts=tuple(map(parse_ground, names["facts"])),
            moves=tuple(tuple(map(parse_ground, some)) for some in names["moves"]),
            percepts=tuple(tuple(map(parse_ground, some)) for some in names["percepts"]),
            rows=int(names["rows"]),
            terminal=int(names["terminal"]),
            programs=programs,
            **arrays,
        )
        wrong = None if names["format"] == FORMAT else f"format {names['format']}, expected {FORMAT}"
        wrong = wrong or _wrong(tape)
    except DAMAGE as error:
        raise RecordError(f"{path}: not a compiled game: {error}") from error
    if wrong:
        raise RecordError(f"{path}: not a compiled game: {wrong}")
    return tape


def _wrong(tape: Tape) -> str | None:
    """What is wrong with a tape that came from outside; None where the kernels can trust it."""
    kinds: dict[str, Any] = {"init": np.bool_} | dict.fromkeys(("inputs", "next", "legal", "sees"), np.uint32)
    for name in ARRAYS:
        array = getattr(tape, name)
        shape = (len(array), 3) if name == "goals" else (len(array),)
        if array.dtype != kinds.get(name, np.int64) or array.shape != shape:
            return f"{name} is {array.dtype} of shape {array.shape}"
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
    answers = np.concatenate([tape.next, tape.legal, tape.sees, tape.goals[:, 2]]).astype(np.int64)
    if not 0 <= tape.terminal < tape.rows or (len(answers) and (answers.min() < 0 or answers.max() >= tape.rows)):
        return "an answer is read from outside"
    if len(tape.goals) and not (tape.goals[:, 0].min() >= 0 and tape.goals[:, 0].max() < roles):
        return "a goal of nobody"
    return next(filter(None, (_wrong_program(tape, program) for program in tape.programs)), None)


def _wrong_program(tape: Tape, program: npt.NDArray[np.int64]) -> str | None:
    if program.dtype != np.int64 or program.ndim != 2 or program.shape[1] != 7:
        return f"a program is {program.dtype} of shape {program.shape}"
    first_gate = 1 + len(tape.facts) + len(tape.legal)
    inputs = tape.inputs.astype(np.int64)
    loop: int | None = None
    for at, (operation, a, b, c, first, gates, offset) in enumerate(program.tolist()):
        good = False
        if operation == RUN:
            size = (a + b) * gates
            good = min(a, b, gates, offset) >= 0 and a + b > 0 and first_gate <= first <= tape.rows - gates
            good = good and offset + size <= len(inputs) and bool((inputs[offset : offset + size] < tape.rows).all())
        elif operation in (LOOP, REPEAT) and min(a, b) >= 0 and b + 2 * a <= len(inputs):
            pairs = inputs[b : b + 2 * a].reshape(-1, 2)
            good = bool(((first_gate <= pairs[:, 0]) & (pairs[:, 0] < tape.rows)).all())
            good = good and bool((pairs[:, 1] >> 1 < tape.rows).all())
            if operation == LOOP:
                good, loop = good and loop is None, at
            else:
                good, loop = good and loop is not None and c == at - loop - 1, None
        if not good:
            return f"operation {at} reaches outside"
    return None if loop is None else "a loop without an end"
