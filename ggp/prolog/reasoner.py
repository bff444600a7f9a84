"""The Reasoner interface over a worker process with Prolog in it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ggp.errors import EngineMissing, GdlSyntaxError, MemoryLimit, ReasonerError, TimeLimit
from ggp.parser import parse_ground
from ggp.prolog.translate import Module, Program, applied, candidates, compile_program, data, plain_facts, predicate
from ggp.reasoner import (
    DEFAULT_MAX_STEPS,
    DEFAULT_MEMORY_LIMIT,
    DEFAULT_TIME_LIMIT,
    NO_GOAL,
    Bools,
    Children,
    Ints,
    MoveTable,
    Playouts,
    States,
    expand,
    shown_size,
)
from ggp.terms import Fact, Rule, respelled, written_in_parentheses

INSTALL = (
    "install it: apt install swi-prolog-nox (Debian, Ubuntu), dnf install pl (Fedora), brew install swi-prolog (macOS)"
)
MATERIALISE_SECONDS = 0.1  # for one relation
MATERIALISE_SIZE = 5_000


class Worker:
    """The process, and the one exchange with it: a request goes in, its answer or an error comes out."""

    def __init__(self, deadline: float, memory_limit: int) -> None:
        self.memory_limit = memory_limit
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), str(memory_limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("AUGUR_DEBUG") else subprocess.DEVNULL,
        )
        self._end = weakref.finalize(self, _end, self.process)
        self._receive(deadline)

    def ask(self, request: str, deadline: float) -> str:
        body = request.encode()
        try:
            self._send(struct.pack("<Q", len(body)) + body)
            return self._receive(deadline)
        except BaseException:  # also ctrl-C: what was cut off leaves the pipe, the state and the numbers out of step
            self.end()
            raise

    def _send(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(frame)
            self.process.stdin.flush()
        except OSError:
            self._died()

    def _receive(self, deadline: float) -> str:
        (size,) = struct.unpack("<Q", self._bytes(8, deadline))
        kind, _, text = self._bytes(size, deadline).decode().partition(" ")
        if kind == "ok":
            return text
        if kind == "missing":
            raise EngineMissing(f"SWI-Prolog does not work here ({text}); {INSTALL}")
        if "resource_error" in text:
            raise MemoryLimit(f"the rules need more than the memory limit of {shown_size(self.memory_limit)}")
        raise ReasonerError(f"Prolog says: {text}")

    def _bytes(self, size: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        found = bytearray()
        pipe = self.process.stdout.fileno()
        waiting = select.poll()  # not `select`, which cannot wait for descriptors beyond 1023
        waiting.register(pipe, select.POLLIN)
        while len(found) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not waiting.poll(min(1000 * left, 1e9)):
                raise TimeLimit
            piece = os.read(pipe, min(size - len(found), 1 << 20))
            if not piece:
                self._died()
            found += piece
        return bytes(found)

    def _died(self) -> NoReturn:
        code = self.process.wait()
        self.end()
        raise MemoryLimit(
            f"the Prolog process died (exit code {code}), most likely over the memory limit of "
            f"{shown_size(self.memory_limit)}"
        )

    @property
    def alive(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def end(self) -> None:
        self._end()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


class PrologReasoner:
    """One game in one Prolog process. States are object arrays: each row the sorted numbers of its facts as bytes."""

    engine = "prolog"

    def __init__(
        self,
        rules: Sequence[Rule],
        roles: Sequence[str],
        *,
        time_limit: float = DEFAULT_TIME_LIMIT,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
    ) -> None:
        self.roles = tuple(roles)
        self.moves = tuple(MoveTable(role) for role in roles)
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self._program = Program(rules)
        self._written = written_in_parentheses(rules)
        self._roles = "[" + ",".join(data(parse_ground(role)) for role in roles) + "]"
        self._terms: list[Fact] = []  # what the numbers mean
        self._kinds: list[str] = []  # f: a fact of the state, d: data such as a move
        self._numbers: dict[tuple[str, Fact], int] = {}
        self._worker: Worker | None = None
        self._lock = threading.RLock()

    # The questions

    def initial(self, n: int = 1) -> States:
        return np.repeat(_states([self._ask("initial")]), n)

    def legal(self, states: States, role: int) -> Bools:
        table = self.moves[role]
        who = data(parse_ground(self.roles[role]))
        rows = self._ask(f"legal({_text(states)},{who})") if len(states) else []
        with self._lock:  # a table is no match for two threads that add to it
            ids = [[table.add(self._terms[number]) for number in row] for row in rows]
        legal = np.zeros((len(states), len(table)), np.bool_)
        for i, row in enumerate(ids):
            legal[i, row] = True
        return legal

    def step(self, states: States, joint: npt.ArrayLike) -> States:
        if not len(states):
            return states
        return _states(self._ask(f"step({_text(states)},{self._roles},{self._joints(joint)})"))

    def terminal(self, states: States) -> Bools:
        return np.array(self._ask(f"terminal({_text(states)})") if len(states) else [], np.bool_)

    def goals(self, states: States) -> Ints:
        rows = self._goal_rows(states)
        return np.array([[_highest(v) for v in row] for row in rows], np.int64).reshape(len(states), len(self.roles))

    def goal_values(self, states: States, role: int) -> list[tuple[int, ...]]:
        return [tuple(row[role]) for row in self._goal_rows(states)]

    def _goal_rows(self, states: States) -> list[list[list[int]]]:
        return self._ask(f"goals({_text(states)},{self._roles})") if len(states) else []

    def sees(self, states: States, joint: npt.ArrayLike, role: int) -> list[tuple[Fact, ...]]:
        if not len(states):
            return []
        who = data(parse_ground(self.roles[role]))
        rows = self._ask(f"sees({_text(states)},{self._roles},{self._joints(joint)},{who})")
        return [tuple(sorted((self._terms[number] for number in row), key=str)) for row in rows]

    def playouts(
        self,
        states: States,
        n: int,
        rng: np.random.Generator,
        odds: Sequence[npt.ArrayLike | None] | None = None,
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
    ) -> Playouts:
        seed = int(rng.integers(1 << 62))
        weights = ",".join(self._weights(role, odds[role]) for role in range(len(self.roles))) if odds else ""
        rows = []
        if len(states) and n:
            rows = self._ask(f"playouts({_text(states)},{self._roles},{n},{seed},{max_steps},[{weights}])")
        games = [[[_highest(v) for v in goals] for _, *goals in row] for row in rows]
        steps = [[game[0] for game in row] for row in rows]
        return Playouts(
            np.array(games, np.int64).reshape(len(states), n, len(self.roles)),
            np.array(steps, np.int64).reshape(len(states), n),
        )

    def _weights(self, role: int, weights: npt.ArrayLike | None) -> str:
        if weights is None:
            return "[]"
        table = self.moves[role]
        pairs = [
            f"{self._number('d', table[i])}-{max(float(w), 0.0)!r}"
            for i, w in enumerate(np.asarray(weights))
            if i < len(table)
        ]
        return f"[{','.join(pairs)}]"

    def bulk(self, size: int, rng: np.random.Generator) -> tuple[int, int]:
        return int(self.playouts(self.initial(), size, rng).steps.sum()), size

    def expand(self, states: States) -> Children:
        return expand(self, states)

    def keys(self, states: States) -> list[bytes]:
        return list(states)

    def facts(self, states: States) -> list[frozenset[Fact]]:
        return [frozenset(self._terms[number] for number in _numbers(key)) for key in states]

    def encode(self, facts: Iterable[Iterable[Fact]]) -> States:
        rows = [set(row) for row in facts]
        fresh = {fact for row in rows for fact in row if ("f", fact) not in self._numbers}
        self._ask(f"number([{','.join(self._numbered('f', fact) for fact in fresh)}])")
        return _states([[self._numbers["f", fact] for fact in row] for row in rows])

    def close(self) -> None:
        with self._lock:
            if self._worker is not None:
                self._worker.end()
            self._worker = None

    # Numbers of terms

    def _number(self, kind: str, term: Fact) -> int:
        if (kind, term) not in self._numbers:
            self._ask(f"number([{self._numbered(kind, term)}])")
        return self._numbers[kind, term]

    def _numbered(self, kind: str, term: Fact) -> str:
        return f"{kind}-{self._program.fact(term) if kind == 'f' else data(term)}"

    def _read(self, line: str) -> tuple[str, Fact]:
        try:
            return line[0], respelled(parse_ground(line[1:]), self._written)
        except GdlSyntaxError as error:
            raise ReasonerError(f"the rules derive {line[1:41]}…, which is {error.problems[0].message}") from None

    def _joints(self, joint: npt.ArrayLike) -> str:
        rows = np.asarray(joint, np.int64).reshape(-1, len(self.roles))
        numbers = [[self._number("d", table[int(i)]) for table, i in zip(self.moves, row, strict=True)] for row in rows]
        return json.dumps(numbers)

    # The worker

    def _ask(self, request: str) -> Any:
        with self._lock:
            deadline = time.monotonic() + self.time_limit
            try:
                if self._worker is None or not self._worker.alive:
                    self._worker = self._start(deadline)
                text = self._worker.ask(request, deadline)
            except TimeLimit:
                raise TimeLimit(
                    f"the rules gave no answer to '{request.partition('(')[0]}' within {self.time_limit:g} s"
                ) from None
            answer, *lines = text.split("\n")
            try:
                if answer.startswith("!"):
                    raise ReasonerError(f"the rules derive {answer[1:]}, where ? is a variable that nothing binds")
                fresh = list(map(self._read, lines))
            except ReasonerError:
                self._worker.end()  # it has numbered terms that we do not know
                raise
            for number, term in enumerate(fresh, len(self._terms)):
                self._numbers[term] = number
            self._kinds += [kind for kind, _ in fresh]
            self._terms += [term for _, term in fresh]
            return json.loads(answer)

    def _start(self, deadline: float) -> Worker:
        """A worker that knows the rules, and all numbers that an earlier one gave out."""
        worker = Worker(deadline, self.memory_limit)
        program = self._program
        program.materialised.clear()
        _load(worker, plain_facts(program), deadline)
        for rel in candidates(program):
            free = "f" * rel[1]
            for module in compile_program(program, [(rel, free)]):
                _load(worker, module, deadline)
            args = [f"V{i}" for i in range(rel[1])]
            goal, fact = applied(predicate(rel, free), args), applied(predicate(rel, None), args)
            if worker.ask(f"materialise({goal},{fact},{MATERIALISE_SECONDS},{MATERIALISE_SIZE})", deadline) == "1":
                program.materialised.add(rel)
        for module in compile_program(program):
            _load(worker, module, deadline)
        worker.ask(f"state([{','.join(sorted(program.fact_predicates()))}])", deadline)
        numbered = [self._numbered(kind, term) for kind, term in zip(self._kinds, self._terms, strict=True)]
        worker.ask(f"number([{','.join(numbered)}])", deadline)
        return worker


def _load(worker: Worker, module: Module, deadline: float) -> None:
    text = "".join(f"{clause}.\n" for clause in module.clauses).replace("\\", "\\\\").replace('"', '\\"')
    worker.ask(f'load({module.name},"{text}",[{",".join(module.tabled)}])', deadline)


def _text(states: States) -> str:
    return "[" + ",".join(str(_numbers(key)) for key in states) + "]"


def _numbers(key: bytes) -> list[int]:
    return [int(number) for number in np.frombuffer(key, np.uint32)]


def _states(rows: Iterable[Iterable[int]]) -> States:
    keys = [np.sort(np.fromiter(row, np.uint32)).tobytes() for row in rows]
    states = np.empty(len(keys), object)
    states[:] = keys
    return states


def _highest(values: Sequence[int]) -> int:
    return max(values, default=NO_GOAL)
