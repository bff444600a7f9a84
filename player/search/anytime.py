"""From a position to an answer: deeper ply by ply while there is time, and the last complete answer is always there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from ggp.errors import TimeLimit
from ggp.match import Deadline
from ggp.reasoner import Floats, Ints, Reasoner, States
from player.search.dag import Choices, Dag, Stages
from player.search.heuristics import Heuristic, playout_outcomes
from player.search.rules import Expectation, ProbMaxN, Values, best
from player.search.utilities import Outcomes

PLAYOUTS = 16  # per leaf
ROWS = 16  # leaves that are valued before the clock is looked at again, at first
GROWING = 0.6  # of the time that is left: a ply that takes longer would not be folded in time
PATIENCE = 0.02  # seconds between two looks at the clock


@dataclass(frozen=True)
class Answer:
    """What a search found for the searcher's position."""

    rule: Expectation
    moves: Ints  # (k,) the searcher's moves, by their text
    values: Values  # (k, …) where they lead
    odds: Floats  # (k,) how likely the rule thinks each is
    value: Values  # (…) of the position
    predictions: dict[int, tuple[Ints, Floats]]  # of those who choose here: moves, and how likely each is
    depth: int
    nodes: int
    is_exact: bool  # every line was followed to its end
    together: bool  # others choose at the same time as the searcher

    @property
    def decision(self) -> Floats:
        """(k,) with which probability each move is to be played."""
        if self.together and self.rule.mixes:
            return self.odds
        return self.rule.decision(self.values, self.odds)

    def move(self, rng: np.random.Generator | None = None) -> int:
        """The move to play: by lot where the rule says so, without `rng` the first of the likeliest."""
        odds = self.decision
        if rng is None:
            return int(self.moves[best(odds).argmax()])
        return int(rng.choice(self.moves, p=odds / odds.sum()))


class Leaves:
    """Values of positions that the search leaves open: by playouts, or by a heuristic that the game has."""

    def __init__(
        self,
        reasoner: Reasoner,
        me: int,
        rng: np.random.Generator,
        *,
        chance: int | None = None,
        playouts: int = PLAYOUTS,
        heuristic: Heuristic | None = None,
    ) -> None:
        self.reasoner = reasoner
        self.me = me
        self.rng = rng
        self.chance = chance
        self.playouts = playouts
        self.heuristic = heuristic
        self.deadline: Deadline | None = None
        self._rows = ROWS

    def outcomes(self, states: States) -> Outcomes:
        if self.heuristic is not None:
            goals = self.heuristic(states)[:, None, :]
        else:
            goals = playout_outcomes(self.reasoner, states, self.playouts, self.rng)
        return Outcomes(goals, self.me, self.chance, is_final=False)

    def of(self, rule: Expectation) -> Callable[[States], Values]:
        """The function that values positions for this rule; raises TimeLimit once the deadline has passed."""

        def valued(states: States) -> Values:
            pieces = []
            at = 0
            while at < len(states):
                if self.deadline is not None and self.deadline.passed:
                    raise TimeLimit("the leaves were not valued in time")
                rows = states[at : at + self._rows]
                begun = time.perf_counter()
                outcomes = self.outcomes(rows)
                if self.heuristic is not None:
                    pieces.append(rule.estimate(outcomes, self.heuristic.bounds[1]))
                else:
                    pieces.append(rule.leaf(outcomes))
                at += len(rows)
                slow = (time.perf_counter() - begun) / PATIENCE
                self._rows = int(np.clip(len(rows) / slow, 1, min(1 << 16, 4 * len(rows))))
            return np.concatenate(pieces)

        return valued


def deepen(
    dag: Dag, rule: Expectation, leaves: Leaves, *, depth: int | None = None, deadline: Deadline | None = None
) -> Iterator[Answer]:
    """Better and better answers, until the game is solved, `depth` is reached, or time or nodes run out.

    Time in which it cannot get deeper goes into more playouts for the leaves.
    """
    leaves.deadline = deadline
    frontier = leaves.of(rule)
    while (depth is None or dag.depth < depth) and dag.grow(deadline and deadline.part(GROWING)):
        try:
            yield answer(dag, rule, frontier, deadline)
        except TimeLimit:
            return
    if deadline is None or deadline.at == inf or dag.is_complete or dag.depth == 0:
        return
    if depth is not None or leaves.heuristic is not None:
        return
    frontier = averaged(frontier)
    while True:
        try:
            yield answer(dag, rule, frontier, deadline)
        except TimeLimit:
            return


def averaged(value: Callable[[States], Values]) -> Callable[[States], Values]:
    """The mean of what it says each time of the same positions; sets, which have no mean, are those of this time."""
    total: Values = np.zeros(0)
    times = 0

    def mean(states: States) -> Values:
        nonlocal total, times
        found = value(states)
        if found.dtype != np.float64:
            return found
        total = found if times == 0 else total + found
        times += 1
        mean: Values = total / times
        return mean

    return mean


def answer(
    dag: Dag,
    rule: Expectation,
    frontier: Callable[[States], Values] | None = None,
    deadline: Deadline | None = None,
) -> Answer:
    """What this rule says of the DAG as it is; without values for its frontier it must be complete."""
    me = rule.me
    values = dag.fold(rule, me, frontier, deadline)
    root = dag.root(values)
    predictions: dict[int, tuple[Ints, Floats]] = {}
    together = False
    moves, odds = np.flatnonzero(dag.reasoner.legal(dag.start, me)[0])[:1], np.ones(1)
    if root is None:
        value = values[:1]
        values = value
    elif isinstance(root, Choices):
        mover = int(root.mover[0])
        likely, value = rule.likely(root), rule.back_up(root)
        predictions[mover] = dag.joint[:, mover], likely
        if mover == me and not dag.passed:
            moves, odds = dag.joint[:, me], likely
        else:
            values = value
    else:
        value = rule.back_up_stages(root)
        likely = rule.play(root)
        for role in np.flatnonzero(root.sizes[0] > 1).tolist():
            predictions[role] = _moves(dag, root, role), root.of_role(role, likely)
        if me in predictions and not dag.passed:
            together = True
            replies, odds = rule.replies(root, likely)
            moves, values = predictions[me][0], replies.values
        else:
            values = value
    return Answer(rule, moves, values, odds, value[0], predictions, dag.depth, dag.nodes, dag.is_complete, together)


def mini_players(dag: Dag, rule: ProbMaxN, leaves: Leaves, deadline: Deadline) -> dict[int, tuple[Ints, Floats]]:
    """Of those who choose at the root: moves, and (moves, models) how likely each mini-player plays each."""
    leaves.deadline = deadline
    root = dag.root(dag.fold(rule, rule.me, leaves.of(rule), deadline))
    if root is None or dag.passed:
        return {}
    if isinstance(root, Choices):
        mover = int(root.mover[0])
        return {mover: (dag.joint[:, mover], rule.mini_players(root))}
    odds = rule.play(root)
    return {
        role: (_moves(dag, root, role), rule.mini_players(root.replies(role, odds)))
        for role in np.flatnonzero(root.sizes[0] > 1).tolist()
    }


def _moves(dag: Dag, root: Stages, role: int) -> Ints:
    first = np.unique(root.local[:, role], return_index=True)[1]
    found: Ints = dag.joint[first, role]
    return found
