"""A network laid out for the kernels: gates sorted by phase, level and arity, so that evaluation is a few long loops.

Phases are what different questions need: `STATE` (all that depends on the state alone: legal, terminal, and what next
needs of it), `GOAL` (only goals need it), `NEXT` (depends on moves too), `SEES` (only percepts need it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ggp.propnet.network import Loop, Network

STATE, GOAL, NEXT, SEES = range(4)
RUN, LOOP, REPEAT = range(3)  # operations


@dataclass(frozen=True)
class Tape:
    """What the kernels read. A row is a node; rows are 0 (true), facts, moves of each role, loop variables, gates.

    `program` rows are (operation, …): (RUN, arity, first row, gates, offset in `inputs`), (LOOP, variables, offset of
    pairs variable, value in `inputs`, …) which sets them to false, and (REPEAT, variables, offset, index of the
    operation to go back to). `phases[p] : phases[p + 1]` are the operations of phase p.
    """

    rows: int
    program: npt.NDArray[np.int64]  # (operations, 5)
    inputs: npt.NDArray[np.uint32]
    phases: npt.NDArray[np.int64]  # (5,)
    next: npt.NDArray[np.uint32]  # (facts,) literals
    legal: npt.NDArray[np.uint32]  # (moves of all roles,) literals
    first_move: npt.NDArray[np.int64]  # (roles + 1,) where the moves of a role begin in `legal`
    terminal: int
    goals: npt.NDArray[np.int64]  # (goals, 3): role, value, literal
    sees: npt.NDArray[np.uint32]  # literals, in the order of the network
    init: npt.NDArray[np.bool_]  # (facts,)

    @property
    def facts(self) -> int:
        return len(self.next)


@dataclass
class _Unit:
    """A gate, or the gates of a loop, which stay together."""

    gates: list[int]
    loop: Loop | None
    level: int = 0
    phase: int = SEES


def tape(network: Network) -> Tape:
    units = _units(network)
    unit_of = {gate: unit for unit in units for gate in unit.gates}
    for unit in units:
        if unit.loop:
            unit_of.update({v - network.inputs: unit for v in unit.loop.variables})
    _set_phases(network, units, unit_of)
    needed = [unit for unit in units if unit.phase >= 0]
    order = _ordered(network, needed)

    row = {gate: network.inputs + i for i, gate in enumerate(g for unit in order for g in unit.gates)}

    def moved(literal: int) -> int:
        node = literal >> 1
        return literal if node < network.inputs else 2 * row[node - network.inputs] + (literal & 1)

    program: list[tuple[int, ...]] = []
    inputs: list[int] = []
    phases = [0]
    for phase in range(4):
        for loop, some in groupby((u for u in order if u.phase == phase), key=lambda u: u.loop):
            gates = [gate for unit in some for gate in unit.gates]
            if loop:
                at = len(inputs)
                for variable, value in zip(loop.variables, loop.values, strict=True):
                    inputs += (variable, moved(value))
                program.append((LOOP, len(loop.variables), at, 0, 0))
            back = len(program)
            for arity, run in groupby(gates, key=lambda gate: len(network.gates[gate])):
                members = list(run)
                program.append((RUN, arity, row[members[0]], len(members), len(inputs)))
                inputs += [moved(literal) for gate in members for literal in network.gates[gate]]
            if loop:
                program.append((REPEAT, len(loop.variables), at, back, 0))
        phases.append(len(program))
    moves = [literal for some in network.legal for literal in some.tolist()]
    return Tape(
        rows=network.inputs + len(row),
        program=np.array(program, np.int64).reshape(-1, 5),
        inputs=np.array(inputs, np.uint32),
        phases=np.array(phases, np.int64),
        next=np.array([moved(x) for x in network.next.tolist()], np.uint32),
        legal=np.array([moved(x) for x in moves], np.uint32),
        first_move=np.cumsum([0, *map(len, network.moves)]).astype(np.int64),
        terminal=moved(network.terminal),
        goals=np.array(
            [(role, value, moved(x)) for role, some in enumerate(network.goals) for value, x in some], np.int64
        ).reshape(-1, 3),
        sees=np.array([moved(x) for some in network.sees for _, x in some], np.uint32),
        init=network.init,
    )


def _units(network: Network) -> list[_Unit]:
    """Gates and loops in the order of the network."""
    units: list[_Unit] = []
    at = 0
    for loop in (*network.loops, None):
        end = loop.start if loop else len(network.gates)
        units += [_Unit([gate], None) for gate in range(at, end)]
        if loop:
            units.append(_Unit(list(range(loop.start, loop.end)), loop))
            at = loop.end
    return units


def _reads(network: Network, unit: _Unit) -> Iterator[int]:
    """Nodes that a unit depends on, without its own."""
    for gate in unit.gates:
        yield from (literal >> 1 for literal in network.gates[gate])
    if unit.loop:
        yield from (literal >> 1 for literal in unit.loop.values)


def _set_phases(network: Network, units: list[_Unit], unit_of: dict[int, _Unit]) -> None:
    """The first phase in which each unit is needed and can be known; −1 where nobody needs it."""
    first_loop_variable = network.inputs - sum(len(loop.variables) for loop in network.loops)
    facts_end = 1 + len(network.facts)
    moving: dict[int, bool] = {}  # unit → depends on moves
    for unit in units:
        moving[id(unit)] = any(
            facts_end <= node < first_loop_variable
            or (node >= first_loop_variable and unit_of[node - network.inputs] is not unit
                and moving[id(unit_of[node - network.inputs])])
            for node in _reads(network, unit)
        )  # fmt: skip

    def mark(literals: Iterable[int], fixed: int, after_moves: int) -> None:
        todo = [literal >> 1 for literal in literals]
        while todo:
            node = todo.pop()
            if node < first_loop_variable:
                continue
            unit = unit_of[node - network.inputs]
            phase = after_moves if moving[id(unit)] else fixed
            if unit.phase < 0 or phase < unit.phase:
                unit.phase = phase
                todo += _reads(network, unit)

    for unit in units:
        unit.phase = -1
    mark((x for some in network.sees for _, x in some), SEES, SEES)
    mark((x for some in network.goals for _, x in some), GOAL, SEES)
    mark(network.next.tolist(), STATE, NEXT)
    mark((x for some in network.legal for x in some.tolist()), STATE, NEXT)
    mark([network.terminal], STATE, NEXT)


def _ordered(network: Network, units: list[_Unit]) -> list[_Unit]:
    """By phase, level and arity."""
    level_of: dict[int, int] = {}
    for unit in units:
        unit.level = 1 + max((level_of.get(node, 0) for node in _reads(network, unit)), default=0)
        for gate in unit.gates:
            level_of[network.inputs + gate] = unit.level
        if unit.loop:
            level_of.update(dict.fromkeys(unit.loop.variables, unit.level))
    arity = [len(gate) for gate in network.gates]
    return sorted(units, key=lambda u: (u.phase, u.level, u.loop is not None, arity[u.gates[0]] if u.gates else 0))
