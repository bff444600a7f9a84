"""The player that we would send to a match: what it does depends on the game."""

from __future__ import annotations

import logging

import numpy as np

from ggp.errors import GGPError, TimeLimit
from ggp.game import Game, State
from ggp.match import Deadline, Happened
from ggp.terms import Move
from player.search.anytime import answer
from player.search.dag import NOBODY, Dag
from player.search.rules import MaxN, ProbMaxN, best
from player.strategies.base import Player
from player.strategies.uct import UCT

SOLVING = 0.05  # of the clock, to find out whether a position can be solved
PUZZLING = 0.8  # the same for puzzles
MOST_NODES = 5_000_000
BEST_GOAL = 100

log = logging.getLogger(__name__)


class Default(Player):
    """Solves the rest of the game where it is small enough, by a DAG, and a puzzle as soon as it sees an end; else UCT.

    Of moves that are equally good against perfect play it takes the one that gains most if the others err.
    """

    def __init__(self, rng: np.random.Generator, *, nodes: int = MOST_NODES) -> None:
        super().__init__(rng)
        if nodes < 1:
            raise ValueError(f"nodes={nodes}: expected at least 1")
        self.nodes = nodes
        self.uct = UCT(rng)
        self.plan: list[int] = []  # of a puzzle: the moves that are left
        self.played: Move | None = None  # what we chose the last time

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        super().prepare(game, role, deadline)
        self.me = game.roles.index(role)
        self.uct.prepare(game, role, deadline.part(0.5))
        if not game.is_imperfect:  # a puzzle gets its plan; else this only loads what is compiled
            self.solved(game.initial, deadline.part(0.5 if len(game.roles) == 1 else SOLVING))

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        legal = self.legal(state, deadline)
        if len(legal) == 1:
            return legal[0]
        if state is not None:
            share = PUZZLING if len(self.game.roles) == 1 else SOLVING
            try:
                move = self.solved(state, deadline.part(share))
            except GGPError as error:
                log.warning("default: %s, playing UCT", error)
                move = None
            self.plan = self.plan[1:]
            if move is not None:
                self.played = state.reasoner.moves[self.me][move]
                return self.played
        return self.uct.choose(state, deadline)

    def observe(self, happened: Happened, state: State | None) -> None:
        super().observe(happened, state)
        self.uct.observe(happened, state)
        if self.played is not None and isinstance(happened, tuple) and happened[self.me] != self.played:
            self.plan = []  # the judge has played another move
        self.played = None

    def ponder(self, deadline: Deadline) -> None:
        self.uct.ponder(deadline)

    def solved(self, state: State, deadline: Deadline) -> int | None:
        """The move of a position whose rest can be searched to its end in time; None where it cannot."""
        alone = len(self.game.roles) == 1
        if self.plan:
            return self.plan[0]
        dag = Dag(state.reasoner, state.row, chance=self.game.chance, max_nodes=self.nodes, keep_joint=alone)
        while dag.grow(deadline):
            for depth in (dag.depth - 1, dag.depth) if alone else ():  # steps without a choice may end the game
                ply = dag.plies[depth]
                ends = np.flatnonzero(ply.terminal & (ply.goals[:, 0] == BEST_GOAL))
                if len(ends) and depth:
                    self.plan = [joint[0] for joint in dag.path(int(ends[0]), depth)]
                    return self.plan[0]
        if not dag.is_complete or dag.plies[0].mover[0] == NOBODY:
            return None
        try:
            return self.best(dag, deadline)
        except TimeLimit:
            return None

    def best(self, dag: Dag, deadline: Deadline) -> int:
        """The move that is best if everybody plays perfectly, and of several the one that gains most from errors."""
        found = answer(dag, MaxN(self.me), deadline=deadline)
        if not (found.odds > 0.999).any():
            return found.move(self.rng)  # it takes a mixture: others move at the same time
        worth = found.rule.worth(found.values)
        errors = ProbMaxN(self.me, roles=len(self.game.roles), chance=self.game.chance)
        erring = answer(dag, errors, deadline=deadline)
        return int(found.moves[np.where(best(worth), erring.values[:, -1], -np.inf).argmax()])
