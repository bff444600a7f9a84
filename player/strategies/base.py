"""What the simple strategies share: a role in a game, and the legal moves there, also where the state is hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import inf
from typing import Literal

import numpy as np

from ggp.errors import ReasonerError, TimeLimit
from ggp.game import Game, Moves, State
from ggp.match import Deadline, Happened, Percepts
from ggp.terms import Move

MARGIN = 0.05  # of the clock, for all that is not search
LEAST_MARGIN = 0.1  # seconds


def with_margin(deadline: Deadline) -> Deadline:
    """A little before the deadline."""
    if deadline.at == inf:
        return deadline
    margin = min(max(LEAST_MARGIN, MARGIN * deadline.remaining), deadline.remaining / 2)
    return Deadline(deadline.at - margin, deadline.clock)


class Player:
    """A strategy that answers every call; subclasses override `choose`."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        self.game = game
        self.role = role
        self.guess = Guess(game.initial, role, self.rng) if game.is_imperfect else None

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        raise NotImplementedError

    def observe(self, happened: Happened, state: State | None) -> None:
        if self.guess is not None and isinstance(happened, Percepts):
            self.guess.observe(happened)

    def ponder(self, deadline: Deadline) -> None:
        pass

    def end(self, goals: Mapping[str, int | None]) -> None:
        pass

    def legal(self, state: State | None, deadline: Deadline) -> Moves:
        """The role's legal moves: a GDL-II player can know them although it does not know the state."""
        return self.possible(state, deadline).legal(self.role)

    def possible(self, state: State | None, deadline: Deadline) -> State:
        """The state; in GDL-II, which hides it, one that fits what was seen."""
        if state is not None:
            return state
        assert self.guess is not None, "only GDL-II hides the state"
        return self.guess.state(deadline)


class Guess:
    """One course of a GDL-II game that fits all that a role has seen, found by depth-first search.

    In a sound game the role's legal moves are the same in every state that it cannot tell from the true one, so that
    one guess is enough to know them.
    """

    def __init__(self, initial: State, role: str, rng: np.random.Generator) -> None:
        self.role = role
        self.rng = rng
        self.seen: list[Percepts] = []
        self.path = [initial]
        self.others: list[Iterator[State | Literal[False]]] = []  # others[i]: what else may have followed path[i]

    def observe(self, percepts: Percepts) -> None:
        self.seen.append(percepts)

    def state(self, deadline: Deadline) -> State:
        """A state in which the game goes on and that fits what was seen.

        Fast unless the guess turns out wrong; a search that does not end in time goes on with the next call.
        """
        while len(self.path) <= len(self.seen) or self.path[-1].is_terminal:
            if deadline.passed:
                raise TimeLimit(f"no course of the game was found in time that fits what {self.role} saw")
            if len(self.path) <= len(self.seen) and len(self.others) < len(self.path):
                self.others.append(self.fitting(self.path[-1], self.seen[len(self.path) - 1]))
            if len(self.others) == len(self.path) and (after := next(self.others[-1], None)) is not None:
                self.path += [after] if after else []
                continue
            del self.others[len(self.path) - 1 :]
            self.path.pop()
            if not self.path:
                raise ReasonerError(f"no course of the game fits what {self.role} saw")
        return self.path[-1]

    def fitting(self, state: State, percepts: Percepts) -> Iterator[State | Literal[False]]:
        """What may follow this state, and False for each joint move that does not fit: searching takes time."""
        game, me = state.game, state.game.roles.index(self.role)
        own = state.legal(self.role).find(percepts.move) if not state.is_terminal else None
        if own is None:
            return
        options = [[own] if role == self.role else list(state.legal(role)) for role in game.roles]
        shuffled = [[moves[i] for i in self.rng.permutation(len(moves))] for moves in options]
        for joint in product(*shuffled):
            ids = [[table.id(move) for table, move in zip(state.reasoner.moves, joint, strict=True)]]
            yield state.reasoner.sees(state.row, ids, me)[0] == percepts.seen and state.play(*joint)
