"""The Reasoner interface over the bit-parallel kernels. States are rows of bits, one for each fact of the game."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ggp.canonical import rule_hash
from ggp.errors import GdlError, IllegalMove, MemoryLimit, TimeLimit
from ggp.parser import parse
from ggp.propnet import kernels, store
from ggp.propnet.ground import ground, grounds
from ggp.propnet.network import build
from ggp.propnet.tape import Tape, tape
from ggp.reasoner import (
    DEFAULT_MAX_STEPS,
    DEFAULT_MEMORY_LIMIT,
    DEFAULT_TIME_LIMIT,
    MAX_CHILDREN,
    NO_GOAL,
    Bools,
    Children,
    Ints,
    MoveTable,
    Playouts,
    States,
    refuse_too_many,
    shown_size,
)
from ggp.terms import Fact, Rule, respelled, written_in_parentheses

log = logging.getLogger(__name__)

Words = npt.NDArray[np.uint64]
WORTH_KEEPING = 0.5  # seconds of compiling
BYTES_PER_LITERAL = 400  # of a ground rule, while a network is built from it


class _Workspace(threading.local):
    """What the kernels write to: each thread has its own, so that threads run side by side."""

    def __init__(self, reasoner: PropnetReasoner) -> None:
        tape = reasoner.tape
        moves, roles = len(tape.legal), len(reasoner.roles)
        self.values = kernels.rows(tape.rows)
        self.narrow = np.zeros(tape.rows, np.uint64)
        self.values[0] = self.narrow[0] = ~np.uint64(0)  # node 0 is true
        self.start = kernels.rows(len(tape.facts))
        self.scratch = kernels.rows(3 * kernels.BITS + 4 * (moves // kernels.BLOCK + roles + 1))
        self.rng = kernels.rows(4)
        self.sums = np.zeros((2, kernels.LANES))


class PropnetReasoner:
    """One game as a network. Rows of `States` are bits of facts, packed into 64-bit words."""

    engine = "propnet"

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.roles = tape.roles
        self.moves = tuple(MoveTable(role) for role in tape.roles)
        for table, moves in zip(self.moves, tape.moves, strict=True):
            for move in moves:
                table.add(move)
        self._bit = {fact: i for i, fact in enumerate(tape.facts)}
        self._columns = max(1, -(-len(tape.facts) // 64))
        self._initial = self.encode([[fact for fact, on in zip(tape.facts, tape.init, strict=True) if on]])
        self._sizes = np.diff(tape.first_move)
        self._most_children = math.prod(map(len, tape.moves))
        self._workspace = _Workspace(self)

    @classmethod
    def compile(
        cls,
        rules: Sequence[Rule],
        roles: Sequence[str],
        *,
        time_limit: float = DEFAULT_TIME_LIMIT,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
    ) -> PropnetReasoner:
        """From rules to a reasoner, within these limits for grounding; what took long is kept for the next time."""
        _tell_if_slow()
        key = rule_hash(rules)
        if (kept := store.find(key)) is not None:
            return cls(_spelled(kept, rules))
        began = time.monotonic()
        compiled = _smallest(rules, roles, time_limit, memory_limit)
        if time.monotonic() - began > WORTH_KEEPING:
            store.keep(key, compiled)
        return cls(compiled)

    # The questions

    def initial(self, n: int = 1) -> States:
        return np.repeat(self._initial, n, axis=0)

    def legal(self, states: States, role: int) -> Bools:
        first, end = self.tape.first_move[role : role + 2]
        return self._bits(states, self.tape.legal[first:end])

    def step(self, states: States, joint: npt.ArrayLike) -> States:
        return self._after(states, np.arange(len(states)), self._numbers(joint, len(states)))[0]

    def terminal(self, states: States) -> Bools:
        return self._bits(states, np.array([self.tape.terminal], np.uint32))[:, 0]

    def goals(self, states: States) -> Ints:
        return self._highest(self._bits(states, self.tape.goals[:, 2].astype(np.uint32)))

    def goal_values(self, states: States, role: int) -> list[tuple[int, ...]]:
        mine = self.tape.goals[self.tape.goals[:, 0] == role]
        bits = self._bits(states, mine[:, 2].astype(np.uint32))
        return [tuple(mine[row, 1].tolist()) for row in bits]

    def sees(self, states: States, joint: npt.ArrayLike, role: int) -> list[tuple[Fact, ...]]:
        first = sum(map(len, self.tape.percepts[:role]))
        percepts = self.tape.percepts[role]
        rows = self.tape.sees[first : first + len(percepts)]
        bits = self._after(states, np.arange(len(states)), self._numbers(joint, len(states)), rows, deep=2)[1]
        return [tuple(percepts[i] for i in np.flatnonzero(row)) for row in bits]

    def playouts(
        self,
        states: States,
        n: int,
        rng: np.random.Generator,
        odds: Sequence[npt.ArrayLike | None] | None = None,
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
    ) -> Playouts:
        w, t, roles = self._seeded(rng), self.tape, len(self.roles)
        goals = np.full((len(states) * n, roles), NO_GOAL, np.int64)
        steps = np.zeros(len(states) * n, np.int64)
        if len(goals):
            kernels.playouts(
                w.values, t.programs, t.inputs, t.next, t.legal, t.first_move, t.terminal, t.goals, w.start,
                w.rng, w.scratch, states, n, max_steps, self._weights(odds), w.sums, goals, steps,
            )  # fmt: skip
        return Playouts(goals.reshape(len(states), n, roles), steps.reshape(len(states), n))

    def bulk(self, size: int, rng: np.random.Generator) -> tuple[int, int]:
        w, t = self._seeded(rng), self.tape
        kernels.unpack(w.start, 0, self.initial(kernels.LANES), np.arange(kernels.LANES))
        w.values[1 : 1 + len(t.facts)] = w.start
        totals = np.zeros(2 + len(t.goals), np.int64)
        kernels.bulk(
            w.values, t.programs, t.inputs, t.next, t.legal, t.first_move, t.terminal, t.goals, w.start,
            w.rng, w.scratch, size, totals,
        )  # fmt: skip
        return int(totals[0]), int(totals[1])

    def expand(self, states: States) -> Children:
        t = self.tape
        asked = np.append(t.legal, np.uint32(t.terminal))
        packed = self._packed(states, asked)
        live = packed[:, (len(asked) - 1) // 64] >> np.uint64((len(asked) - 1) % 64) & np.uint64(1) == 0
        if len(states) * self._most_children > MAX_CHILDREN:  # perhaps
            bits = _unpacked(packed, len(t.legal))[live]
            refuse_too_many([bits[:, first:end] for first, end in pairwise(t.first_move)])
        none = np.zeros(0, np.int64), np.zeros((0, len(self.roles)), np.int64)
        size = kernels.joint_moves(packed, live, t.first_move, *none)
        parents, joint = np.empty(size, np.int64), np.empty((size, len(self.roles)), np.int64)
        if size:
            kernels.joint_moves(packed, live, t.first_move, parents, joint)
        rows = np.append(t.goals[:, 2].astype(np.uint32), np.uint32(t.terminal))
        children, bits = self._after(states, parents, joint, rows, deep=1)
        return Children(parents, joint, children, bits[:, -1], self._highest(bits[:, :-1]))

    def keys(self, states: States) -> list[bytes]:
        return [row.tobytes() for row in states]

    def facts(self, states: States) -> list[frozenset[Fact]]:
        rows = _unpacked(states, len(self.tape.facts))
        return [frozenset(self.tape.facts[i] for i in np.flatnonzero(row)) for row in rows]

    def encode(self, facts: Iterable[Iterable[Fact]]) -> States:
        rows = [set(row) for row in facts]
        states = np.zeros((len(rows), self._columns), np.uint64)
        for i, row in enumerate(rows):
            for fact in row:
                if fact not in self._bit:
                    raise GdlError(f"{fact} is not a fact that this game can reach")
                bit = self._bit[fact]
                states[i, bit // 64] |= np.uint64(1 << bit % 64)
        return states

    def close(self) -> None:
        """Nothing to give back."""

    # What a search that lives in kernels pays; for benchmarks

    @property
    def gates(self) -> int:
        return self.tape.rows - 1 - len(self.tape.facts) - len(self.tape.legal)

    def repeat_children(self, states: States, times: int) -> Children:
        """All children of each state, one state at a time, so many times over: those of the last."""
        w, t, roles = self._workspace, self.tape, len(self.roles)
        most = len(self.expand(states).states)
        options = np.zeros((roles, max(map(len, t.moves))), np.int64)
        joint, worth = np.zeros((most, roles), np.int64), np.zeros((most, roles), np.int64)
        children, over = np.zeros((most, self._columns), np.uint64), np.zeros(most, np.bool_)
        for values in (w.values, w.narrow):
            kernels.clear_moves(values, len(t.facts), len(t.legal))
        n = kernels.repeat_children(
            w.values, w.narrow, t.programs, t.inputs, t.next, t.legal, t.first_move, t.terminal, t.goals, options,
            states, joint, children, over, worth, times,
        )  # fmt: skip
        return Children(np.full(n, len(states) - 1), joint[:n], children[:n], over[:n], worth[:n])

    def repeat_steps(self, states: States, joint: npt.ArrayLike, times: int) -> Words:
        """One step from each state, one at a time, so many times over; the last state that was reached."""
        w, t = self._workspace, self.tape
        child = np.zeros(self._columns, np.uint64)
        kernels.clear_moves(w.narrow, len(t.facts), len(t.legal))
        moves = np.ascontiguousarray(joint, np.int64)
        kernels.repeat_step(w.narrow, t.programs, t.inputs, t.next, t.first_move, states, moves, child, times)
        return child

    # The kernels

    def _numbers(self, joint: npt.ArrayLike, n: int) -> Ints:
        """(n, roles): the moves, if there are such: the kernels would write outside their arrays otherwise."""
        moves = np.ascontiguousarray(joint, np.int64).reshape(-1, len(self.roles))
        if len(moves) != n or ((moves < 0) | (moves >= self._sizes)).any():
            raise IllegalMove(f"{len(moves)} joint moves for {n} states, or a number that no move has")
        return moves

    def _packed(self, states: States, rows: npt.NDArray[np.uint32]) -> Words:
        """(n, words): the bits of these rows of the tape in each state."""
        packed = np.zeros((len(states), max(1, -(-len(rows) // 64))), np.uint64)
        if len(states):
            nothing = np.zeros((0, len(self.roles)), np.int64)
            self._answer(states, np.arange(len(states)), nothing, rows, packed, packed, 0)
        return packed

    def _bits(self, states: States, rows: npt.NDArray[np.uint32]) -> Bools:
        return _unpacked(self._packed(states, rows), len(rows))

    def _after(
        self,
        states: States,
        parents: Ints,
        joint: Ints,
        rows: npt.NDArray[np.uint32] = np.zeros(0, np.uint32),  # noqa: B008 (never written to)
        deep: int = 0,
    ) -> tuple[States, Bools]:
        """The states after the moves, and those rows' bits there (`deep` 1) or while they are played (2)."""
        children = np.zeros((len(parents), self._columns), np.uint64)
        packed = np.zeros((len(parents), max(1, -(-len(rows) // 64))), np.uint64)
        if len(parents):
            self._answer(states, parents, joint, rows, packed, children, deep)
        return children, _unpacked(packed, len(rows))

    def _answer(
        self, states: States, parents: Ints, joint: Ints, rows: Any, packed: Words, children: Words, deep: int
    ) -> None:
        w, t = self._workspace, self.tape
        kernels.answer(
            w.narrow if len(parents) <= kernels.FEW else w.values, t.programs, t.inputs, t.next, t.first_move,
            states, parents, joint, rows, packed, children, deep,
        )  # fmt: skip

    def _highest(self, bits: Bools) -> Ints:
        """(n, roles): the highest of the goals whose bits are set."""
        found = np.full((len(bits), len(self.roles)), NO_GOAL, np.int64)
        for i, (role, value, _) in enumerate(self.tape.goals.tolist()):
            found[bits[:, i], role] = np.maximum(found[bits[:, i], role], value)
        return found

    def _seeded(self, rng: np.random.Generator) -> _Workspace:
        self._workspace.rng[:2] = rng.integers(1, 1 << 63, (2, kernels.WORDS), dtype=np.uint64)
        return self._workspace

    def _weights(self, odds: Sequence[npt.ArrayLike | None] | None) -> npt.NDArray[np.float64]:
        """One weight per move of all roles, −1 throughout for a role whose moves are uniform."""
        if not odds:
            return np.zeros(0)
        weights = np.full(len(self.tape.legal), -1.0)
        for role, given in enumerate(odds):
            if given is not None:
                mine = weights[self.tape.first_move[role] : self.tape.first_move[role + 1]]
                mine[:] = 1.0
                some = np.maximum(np.asarray(given, np.float64)[: len(mine)], 0.0)
                mine[: len(some)] = some
        return weights


def _smallest(rules: Sequence[Rule], roles: Sequence[str], time_limit: float, memory_limit: int) -> Tape:
    """The tape that reads the fewest rows, of rules with and without decomposition."""
    deadline = time.monotonic() + time_limit
    best: Tape | None = None
    try:
        for found in grounds(rules, roles, time_limit=time_limit, memory_limit=memory_limit):
            if (size := len(found.literals) * BYTES_PER_LITERAL) > memory_limit:
                needs = f"the network would need about {shown_size(size)}"
                raise MemoryLimit(f"{needs}, more than {shown_size(memory_limit)}")
            one = tape(build(found, deadline))
            best = one if best is None else min(best, one, key=lambda tape: len(tape.inputs))
    except (MemoryLimit, TimeLimit):
        if best is None:
            raise
    assert best is not None
    return best


def _spelled(tape: Tape, rules: Sequence[Rule]) -> Tape:
    """A kept game printed as these rules write it: `(p)` and `p` are one atom, so their rule hashes are equal."""
    names = written_in_parentheses(rules)
    return replace(
        tape,
        facts=tuple(respelled(fact, names) for fact in tape.facts),
        moves=tuple(tuple(respelled(move, names) for move in some) for some in tape.moves),
        percepts=tuple(tuple(respelled(percept, names) for percept in some) for some in tape.percepts),
    )


def _tell_if_slow() -> None:
    """Loads the kernels; says so where they must be compiled first, which happens once on a machine."""
    if kernels.answer.signatures:
        return
    patience = threading.Timer(2.0, log.warning, ["compiling the kernels of the fast engine: once, about ten seconds"])
    patience.daemon = True
    patience.start()
    try:
        light = "(role a) (init off) (legal a press) (<= (next on) (does a press)) (<= terminal (true on)) (goal a 100)"
        rules, roles = parse(light).rules, ["a"]
        tiny = PropnetReasoner(tape(build(ground(rules, roles, time_limit=60, memory_limit=DEFAULT_MEMORY_LIMIT))))
        state, rng = tiny.initial(), np.random.default_rng(0)
        tiny.expand(state)
        tiny.expand(tiny.initial(kernels.FEW + 1))
        tiny.playouts(state, 1, rng)
        tiny.bulk(1, rng)
        tiny.repeat_children(state, 1)
        tiny.repeat_steps(state, [[0]], 1)
    finally:
        patience.cancel()


def _unpacked(packed: Words, columns: int) -> Bools:
    """(n, columns): the bits of each row."""
    bits = np.unpackbits(np.ascontiguousarray(packed).view(np.uint8), axis=1, bitorder="little", count=columns)
    return bits.astype(np.bool_)
