"""What a player may want: utility models, functions of how a game ended.

Those that every game has are `own`, `lead`, `spoil` and `team`; a game may bring others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ggp.reasoner import NO_GOAL, Floats, Ints, Reasoner, States


@dataclass(frozen=True)
class Outcomes:
    """How games ended, or may end, from each of n positions.

    `states` are the final states, where they are known; playouts tell only the goals.
    """

    goals: Floats  # (n, samples, roles)
    me: int  # the searcher's role
    chance: int | None = None
    is_final: bool = True  # the game is over; else these are guesses
    states: States | None = None  # (n, …)
    reasoner: Reasoner | None = None

    @property
    def players(self) -> list[int]:
        return [role for role in range(self.goals.shape[-1]) if role != self.chance]


def scored(goals: Ints) -> Floats:
    """Goals as search takes them: where the rules give none, 0."""
    return np.where(goals == NO_GOAL, 0.0, goals)


Utility = Callable[[Outcomes], Floats]  # (n, samples, roles): what the outcome is worth to each role


def own(outcomes: Outcomes) -> Floats:
    """The role's goal."""
    return outcomes.goals


def lead(outcomes: Outcomes) -> Floats:
    """The role's goal less the best goal of another; the role's goal where there is no other.

    >>> lead(Outcomes(np.array([[[50.0, 20.0, 30.0]]]), me=0)).tolist()
    [[[20.0, -30.0, -20.0]]]
    """
    goals = outcomes.goals
    found = goals.copy()
    for role in outcomes.players:
        others = [other for other in outcomes.players if other != role]
        if others:
            found[..., role] = goals[..., role] - goals[..., others].max(axis=-1)
    return found


def spoil(outcomes: Outcomes) -> Floats:
    """The less the searcher gets, the better."""
    return np.repeat(-outcomes.goals[..., [outcomes.me]], outcomes.goals.shape[-1], axis=-1)


def team(outcomes: Outcomes) -> Floats:
    """The sum of everybody's goals."""
    total = outcomes.goals[..., outcomes.players].sum(axis=-1, keepdims=True)
    return np.repeat(total, outcomes.goals.shape[-1], axis=-1)


UTILITIES: dict[str, Utility] = {"own": own, "lead": lead, "spoil": spoil, "team": team}


def utility(name: str) -> Utility:
    """The utility model of this name."""
    if name not in UTILITIES:
        raise ValueError(f"utility model {name!r}: expected one of {', '.join(UTILITIES)}, given")
    return UTILITIES[name]
