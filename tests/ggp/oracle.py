"""The readable evaluation of a network, one state at a time: what the kernels must agree with."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ggp.propnet.network import Network
from ggp.terms import Fact, Move


class Oracle:
    """A network in one state, with the moves that are played in it (None where a role's is not known yet)."""

    def __init__(self, network: Network, facts: Collection[Fact], joint: Sequence[Move | None] = ()) -> None:
        self.network = network
        values = [True, *(fact in facts for fact in network.facts)]
        for moves, move in zip(network.moves, joint or [None] * len(network.moves), strict=True):
            values += [move == m for m in moves]
        self.values = values + [False] * (network.inputs + len(network.gates) - len(values))
        at = 0
        for loop in network.loops:
            self.settle(at, loop.start)
            while True:
                self.settle(loop.start, loop.end)
                found = [self.literal(value) for value in loop.values]
                if found == [self.values[variable] for variable in loop.variables]:
                    break
                for variable, value in zip(loop.variables, found, strict=True):
                    self.values[variable] = value
            at = loop.end
        self.settle(at, len(network.gates))

    def settle(self, start: int, end: int) -> None:
        for gate in range(start, end):
            self.values[self.network.inputs + gate] = all(map(self.literal, self.network.gates[gate]))

    def literal(self, x: int) -> bool:
        return self.values[x >> 1] != bool(x & 1)

    def legal(self, role: int) -> set[Move]:
        pairs = zip(self.network.moves[role], self.network.legal[role].tolist(), strict=True)
        return {move for move, literal in pairs if self.literal(literal)}

    def terminal(self) -> bool:
        return self.literal(self.network.terminal)

    def goals(self, role: int) -> tuple[int, ...]:
        return tuple(value for value, literal in self.network.goals[role] if self.literal(literal))

    def next(self) -> frozenset[Fact]:
        pairs = zip(self.network.facts, self.network.next.tolist(), strict=True)
        return frozenset(fact for fact, literal in pairs if self.literal(literal))

    def sees(self, role: int) -> tuple[Fact, ...]:
        return tuple(percept for percept, literal in self.network.sees[role] if self.literal(literal))
