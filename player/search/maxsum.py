"""The most that the goals of all roles can sum to where a game ends: what maxⁿ can be pruned with."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ggp.game import Game
from ggp.match import Deadline
from ggp.propnet.tape import END, RUN, Tape
from ggp.reasoner import Reasoner, States
from player.search.dag import Dag
from player.search.utilities import scored

MOST_COMBINATIONS = 100_000


def maxsum(
    game: Game, root: States | None = None, *, max_nodes: int = 20_000, deadline: Deadline | None = None
) -> int | None:
    """A bound that no end of the game exceeds, None where the rules tell none.

    A game that is small from `root` on (default: from its start) is looked at as a whole, and the bound is reached.
    Else it comes from the compiled goals: those count together whose conditions do not contradict each other.

    >>> import ggp
    >>> maxsum(ggp.load("tic_tac_toe"))
    100
    """
    reasoner = game.reasoner()
    seen = _seen(reasoner, reasoner.initial() if root is None else root, max_nodes, deadline)
    if seen is not None:
        return seen
    tape = getattr(reasoner, "tape", None)
    return _told(tape) if isinstance(tape, Tape) else None


def _seen(reasoner: Reasoner, root: States, max_nodes: int, deadline: Deadline | None) -> int | None:
    """The largest sum at the ends of a game of at most so many positions."""
    dag = Dag(reasoner, root, max_nodes=max_nodes)
    while dag.grow(deadline):
        pass
    if not dag.is_complete:
        return None
    ends = [ply.goals[ply.terminal] for ply in dag.plies]
    sums = np.concatenate([scored(goals).sum(axis=1) for goals in ends])
    return int(sums.max()) if len(sums) else None


def _told(tape: Tape) -> int:
    """The largest sum of goals, one a role, no two of which contradict each other or that the game is over."""
    gates = _gates(tape)
    over = _implied(gates, (tape.terminal, True))
    goals: list[list[tuple[int, frozenset[tuple[int, bool]]]]] = [[(0, frozenset())] for _ in tape.roles]
    for role, value, row in tape.goals.tolist():
        implied = _implied(gates, (row, True)) | over
        if not _contradict(implied, implied):
            goals[role].append((value, implied))
    highest = [max(value for value, _ in some) for some in goals]
    if prod(map(len, goals)) > MOST_COMBINATIONS:
        return sum(highest)
    for chosen in sorted(product(*goals), key=lambda chosen: -sum(value for value, _ in chosen)):
        met = [implied for _, implied in chosen]
        if not any(_contradict(a, b) for i, a in enumerate(met) for b in met[:i]):
            return sum(value for value, _ in chosen)
    return 0


Literal = tuple[int, bool]  # a row of the tape, and whether it is set


def _gates(tape: Tape) -> dict[int, tuple[bool, list[Literal]]]:
    """For each gate whether it is stored as its complement, and the literals that it is the AND of."""
    gates: dict[int, tuple[bool, list[Literal]]] = {}
    for operation, positive, negative, inverted, first, count, offset in tape.programs[END].tolist():
        if operation != RUN:
            continue
        width = positive + negative
        for gate in range(count):
            inputs = tape.inputs[offset + gate * width : offset + (gate + 1) * width].tolist()
            gates[first + gate] = bool(inverted), [(row, i < positive) for i, row in enumerate(inputs)]
    return gates


def _implied(gates: dict[int, tuple[bool, list[Literal]]], literal: Literal) -> frozenset[Literal]:
    """What must hold where this does, as far as ANDs tell."""
    found: set[Literal] = set()
    stack = [literal]
    while stack:
        row, value = literal = stack.pop()
        if literal not in found:
            found.add(literal)
            inverted, inputs = gates.get(row, (False, []))
            if value != inverted:
                stack += inputs
    return frozenset(found)


def _contradict(a: frozenset[Literal], b: frozenset[Literal]) -> bool:
    return any((row, not value) in b for row, value in a)
