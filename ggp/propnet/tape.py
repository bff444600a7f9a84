"""A network laid out for the kernels: gates grouped by who needs them, then sorted by level and shape, so that
evaluation is a few long loops, and each question runs only the groups that it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ggp.propnet.network import Loop, Network
from ggp.terms import Fact, Move, collector_paused

RUN, LOOP, REPEAT = range(3)  # operations

# Questions, each a program of its own. STATE: what legal, terminal and next need of the state alone. GOAL: what goals
# need beside it. NEXT: what next needs of the moves. SEES: what percepts need beside STATE and NEXT. BEFORE: the part
# of STATE that next needs. END: what terminal and goals need, without the rest.
STATE, GOAL, NEXT, SEES, BEFORE, END = range(QUESTIONS := 6)

_LEGAL, _TERMINAL, _NEXT, _GOAL, _SEES = (1 << i for i in range(5))  # who needs a gate
_QUESTIONS = {  # (whether gates depend on moves, who must need them, who must not)
    STATE: [(False, _LEGAL | _TERMINAL | _NEXT, 0)],
    GOAL: [(False, _GOAL, _LEGAL | _TERMINAL | _NEXT)],
    NEXT: [(True, _NEXT, 0)],
    SEES: [(False, _SEES, _LEGAL | _TERMINAL | _NEXT), (True, _SEES, _NEXT)],
    BEFORE: [(False, _NEXT, 0)],
    END: [(False, _TERMINAL | _GOAL, 0)],
}


@dataclass(frozen=True)
class Tape:
    """What the kernels read. A row is a node; rows are 0 (true), facts, moves of each role, loop variables, gates.

    `programs` has one for each question; their rows are (operation, …). (RUN, p, n, inverted, first row, gates,
    offset): each gate of a run is the AND of its first p rows in `inputs` and of the complements of the next n;
    `inverted` ones are stored as their complement. (LOOP, variables, offset of pairs row, literal in `inputs`, …) sets
    the rows to false, and (REPEAT, variables, offset, how many operations to go back, …) to the literals, until
    nothing changes. Answers are read off rows as they are, never complemented. No `next` is the row of another fact, so
    that facts take their next values one after the other.
    """

    roles: tuple[str, ...]
    facts: tuple[Fact, ...]
    moves: tuple[tuple[Move, ...], ...]  # per role
    percepts: tuple[tuple[Fact, ...], ...]  # per role
    rows: int
    programs: tuple[npt.NDArray[np.int64], ...]  # each (operations, 7)
    inputs: npt.NDArray[np.uint32]
    next: npt.NDArray[np.uint32]  # (facts,) rows
    legal: npt.NDArray[np.uint32]  # (moves of all roles,) rows
    first_move: npt.NDArray[np.int64]  # (roles + 1,) where the moves of a role begin in `legal`
    terminal: int  # row
    goals: npt.NDArray[np.int64]  # (goals, 3): role, value, row
    sees: npt.NDArray[np.uint32]  # (percepts of all roles,) rows
    init: npt.NDArray[np.bool_]  # (facts,)


@dataclass
class _Unit:
    """A gate, or the gates of a loop, which stay together."""

    gates: list[int]
    loop: Loop | None
    level: int = 0
    needed: int = 0  # by whom
    moving: bool = False  # whether it depends on moves


@collector_paused()
def tape(network: Network) -> Tape:
    network, inverted = _uncomplemented(network)
    units = _units(network)
    unit_of = {gate: unit for unit in units for gate in unit.gates}
    for unit in units:
        if unit.loop:
            unit_of.update({v - network.inputs: unit for v in unit.loop.variables})
    _set_needs(network, units, unit_of)
    order = _ordered(network, [unit for unit in units if unit.needed], inverted)
    row = {gate: network.inputs + i for i, gate in enumerate(g for unit in order for g in unit.gates)}

    def moved(literal: int) -> int:
        """The literal over rows; what is stored inverted is complemented once more."""
        gate = (literal >> 1) - network.inputs
        return literal if gate < 0 else (2 * row[gate] + (literal & 1)) ^ (gate in inverted)

    programs: list[list[tuple[int, ...]]] = [[] for _ in _QUESTIONS]
    inputs: list[int] = []
    for (moving, needed), group in groupby(order, key=lambda u: (u.moving, u.needed)):
        program: list[tuple[int, ...]] = []
        for loop, some in groupby(group, key=lambda u: u.loop):
            gates = [gate for unit in some for gate in unit.gates]
            if loop:
                at = len(inputs)
                for variable, value in zip(loop.variables, loop.values, strict=True):
                    inputs += (variable, moved(value))
                program.append((LOOP, len(loop.variables), at, 0, 0, 0, 0))
            begin = len(program)
            for shape, run in groupby(gates, key=lambda gate: _shape(network, inverted, gate)):
                members = list(run)
                program.append((RUN, *shape, row[members[0]], len(members), len(inputs)))
                for gate in members:
                    literals = sorted(map(moved, network.gates[gate]), key=lambda x: (x & 1, x))
                    inputs += [literal >> 1 for literal in literals]
            if loop:
                program.append((REPEAT, len(loop.variables), at, len(program) - begin, 0, 0, 0))
        for question, kinds in _QUESTIONS.items():
            if any(moving == kind and needed & some and not needed & none for kind, some, none in kinds):
                programs[question] += program
    moves = [literal for some in network.legal for literal in some.tolist()]
    return Tape(
        roles=network.roles,
        facts=network.facts,
        moves=network.moves,
        percepts=tuple(tuple(percept for percept, _ in some) for some in network.sees),
        rows=network.inputs + len(row),
        programs=tuple(np.array(program, np.int64).reshape(-1, 7) for program in programs),
        inputs=np.array(inputs, np.uint32),
        next=np.array([moved(x) >> 1 for x in network.next.tolist()], np.uint32),
        legal=np.array([moved(x) >> 1 for x in moves], np.uint32),
        first_move=np.cumsum([0, *map(len, network.moves)]).astype(np.int64),
        terminal=moved(network.terminal) >> 1,
        goals=np.array(
            [(role, value, moved(x) >> 1) for role, some in enumerate(network.goals) for value, x in some], np.int64
        ).reshape(-1, 3),
        sees=np.array([moved(x) >> 1 for some in network.sees for _, x in some], np.uint32),
        init=network.init,
    )


def _shape(network: Network, inverted: Collection[int], gate: int) -> tuple[int, int, int]:
    """How many rows a gate reads as they are and how many complemented, and whether it is stored inverted."""
    complemented = sum((literal & 1) ^ ((literal >> 1) - network.inputs in inverted) for literal in network.gates[gate])
    return len(network.gates[gate]) - complemented, complemented, int(gate in inverted)


def _uncomplemented(network: Network) -> tuple[Network, set[int]]:
    """The network with all answers read uncomplemented, and the gates that are to be stored inverted for that.

    Where a node is an answer both ways, or is no gate, a gate that negates it is added. Likewise a gate that copies a
    fact, where that is the next value of another one.
    """
    plain = {x >> 1 for x in _answers(network) if not x & 1}
    inverted: set[int] = set()
    added: dict[int, int] = {}  # literal → its gate
    gates = list(network.gates)

    def add(x: int) -> None:
        added[x] = 2 * (network.inputs + len(gates))
        gates.append((x,))

    for x in _answers(network):
        if x & 1 and x not in added:
            if x >> 1 >= network.inputs and x >> 1 not in plain:
                inverted.add((x >> 1) - network.inputs)
            else:
                add(x)
    for fact, x in enumerate(network.next.tolist(), 1):
        if x in range(2, 2 * len(network.facts) + 2, 2) and x != 2 * fact and x not in added:
            add(x)

    def of(x: int) -> int:
        return added.get(x, x)

    changed = replace(
        network,
        gates=tuple(gates),
        next=np.array([of(x) for x in network.next.tolist()], np.int32),
        legal=tuple(np.array([of(x) for x in some.tolist()], np.int32) for some in network.legal),
        terminal=of(network.terminal),
        goals=tuple(tuple((value, of(x)) for value, x in some) for some in network.goals),
        sees=tuple(tuple((percept, of(x)) for percept, x in some) for some in network.sees),
    )
    return changed, inverted


def _answers(network: Network) -> Iterator[int]:
    """All literals that are read from outside."""
    yield from network.next.tolist()
    for some in network.legal:
        yield from some.tolist()
    yield network.terminal
    for pairs in (*network.goals, *network.sees):
        yield from (literal for _, literal in pairs)


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


def _set_needs(network: Network, units: list[_Unit], unit_of: dict[int, _Unit]) -> None:
    """Who needs each unit, and which depend on moves."""
    first_loop_variable = network.inputs - sum(len(loop.variables) for loop in network.loops)
    facts_end = 1 + len(network.facts)
    for unit in units:
        for node in _reads(network, unit):
            if node >= first_loop_variable:
                unit.moving |= unit_of[node - network.inputs].moving
            else:
                unit.moving |= node >= facts_end

    def mark(literals: Iterable[int], who: int) -> None:
        todo = [literal >> 1 for literal in literals]
        while todo:
            node = todo.pop()
            if node >= first_loop_variable:
                unit = unit_of[node - network.inputs]
                if not unit.needed & who:
                    unit.needed |= who
                    todo += _reads(network, unit)

    mark((x for some in network.legal for x in some.tolist()), _LEGAL)
    mark([network.terminal], _TERMINAL)
    mark(network.next.tolist(), _NEXT)
    mark((x for some in network.goals for _, x in some), _GOAL)
    mark((x for some in network.sees for _, x in some), _SEES)


def _ordered(network: Network, units: list[_Unit], inverted: Collection[int]) -> list[_Unit]:
    """By who needs them, level and shape; within these by what they read, so that neighbours read neighbours.

    Whoever needs a gate needs what it reads: the more need it, the earlier it comes.
    """
    level_of: dict[int, int] = {}
    for unit in units:
        unit.level = 1 + max((level_of.get(node, 0) for node in _reads(network, unit)), default=0)
        for gate in unit.gates:
            level_of[network.inputs + gate] = unit.level
        if unit.loop:
            level_of.update(dict.fromkeys(unit.loop.variables, unit.level))
    row: dict[int, int] = {}
    order: list[_Unit] = []

    def group(unit: _Unit) -> tuple[bool, int, int, int]:
        return unit.moving, -unit.needed.bit_count(), unit.needed, unit.level

    for _, same in groupby(sorted(units, key=group), key=group):
        some = sorted(
            same,
            key=lambda u: (
                u.loop is not None,
                _shape(network, inverted, u.gates[0]) if u.gates else (),
                sorted(row.get(node, node) for node in _reads(network, u)),
            ),
        )
        for unit in some:
            for gate in unit.gates:
                row[network.inputs + gate] = network.inputs + len(row)
        order += some
    return order
