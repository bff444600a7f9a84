"""The field's usual player: UCT under the clock."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import inf

import numpy as np

from ggp.errors import ReasonerError, TimeLimit
from ggp.game import Game, Moves, State
from ggp.match import Deadline, Happened
from ggp.reasoner import Reasoner
from ggp.terms import Move
from player.search.uct import Choice, Odds, Tree, warm_up
from player.strategies.base import Guess, Player, with_margin

log = logging.getLogger(__name__)

UNTIMED = 10_000  # descents for a move where there is neither a clock nor a budget


class UCT(Player):
    """Plays the move that UCT tries most often; a certain one where there is such.

    `iterations` is a budget of descents for each move, so that a seed gives the same match on every machine; 0 leaves
    it to the clock. In GDL-II it searches `worlds` states that fit what was seen and adds up what it finds there.
    `models` are opponent models by role, which the tree trusts with probability `trust`.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        c: float = 0.25,
        history: float = 1.0,
        batch: int = 128,
        playouts: int = 0,
        nodes: int = 1 << 21,
        iterations: int = 0,
        worlds: int = 8,
        trust: float = 0.9,
        models: Mapping[str, Odds] | None = None,
    ) -> None:
        super().__init__(rng)
        counts = (batch, nodes, worlds)
        if min(counts) < 1 or max(counts) > 1 << 28 or min(playouts, iterations) < 0:
            raise ValueError("expected batch, nodes and worlds from 1 to 268435456, playouts and iterations from 0")
        if not (0 <= c < inf and 0 <= history < inf and 0 <= trust <= 1):
            raise ValueError("expected c and history from 0, and trust from 0 to 1")
        self.c, self.history, self.batch, self.playouts, self.nodes = c, history, batch, playouts, nodes
        self.iterations, self.worlds, self.trust = iterations, worlds, trust
        self.models = models or {}
        self.tree: Tree | None = None

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        super().prepare(game, role, deadline)
        self.index = game.roles.index(role)
        first = game.initial
        warm_up()
        if self.guess is not None:
            self.guesses = [self.guess, *(Guess(first, role, self.rng) for _ in range(self.worlds - 1))]
        elif not self.iterations and deadline.remaining < inf:
            self.search(first, with_margin(deadline))

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        legal = self.legal(state, deadline)
        if len(legal) == 1:
            return legal[0]
        within = with_margin(deadline)
        try:
            if state is None:
                return self.vote(legal, within)
            return self.decide(self.search(state, within), legal)
        except ReasonerError as error:
            log.warning("uct: %s, playing what is known", error)
            return self.decide(self.tree, legal)

    def observe(self, happened: Happened, state: State | None) -> None:
        super().observe(happened, state)
        if self.guess is not None:
            for guess in self.guesses[1:]:
                guess.seen = self.guess.seen
        elif state is not None and self.tree is not None and self.tree.reasoner is state.reasoner:
            self.tree.reset(state.row)

    def ponder(self, deadline: Deadline) -> None:
        if self.tree is not None and self.guess is None and not self.iterations and deadline.remaining < inf:
            self.tree.search(with_margin(deadline))

    def search(self, state: State, deadline: Deadline, share: int = 1) -> Tree:
        if self.tree is None or self.tree.reasoner is not state.reasoner:
            self.tree = self.sapling(state.reasoner)
        self.tree.reset(state.row)
        budget = self.iterations or (UNTIMED if deadline.remaining == inf else 0)
        self.tree.search(deadline, max(1, budget // share) if budget else None)
        return self.tree

    def sapling(self, reasoner: Reasoner) -> Tree:
        roles = self.game.roles
        return Tree(
            reasoner,
            chance=self.game.chance,
            rng=self.rng,
            c=self.c,
            history=self.history,
            batch=self.batch,
            playouts=self.playouts,
            max_nodes=self.nodes,
            odds={roles.index(role): odds for role, odds in self.models.items()},
            trust=self.trust,
        )

    def decide(self, tree: Tree | None, legal: Moves) -> Move:
        """The best move; where others move at the same time, one of the best, so as not to be foreseen."""
        if tree is None or tree.root < 0:
            return legal[0]
        choices = tree.statistics()
        best = tree.best(self.index)
        if sum(len(some) > 1 for role, some in enumerate(choices) if role != tree.chance) > 1:
            best = self.drawn(choices[self.index])
        found = legal.find(tree.reasoner.moves[self.index][best]) if best >= 0 else None
        return found or legal[0]

    def drawn(self, choices: list[Choice]) -> int:
        visits = np.array([choice.visits for choice in choices], np.float64)
        visits[visits < visits.max() / 2] = 0
        if not visits.any():
            return -1
        return choices[int(self.rng.choice(len(visits), p=visits / visits.sum()))].move

    def vote(self, legal: Moves, deadline: Deadline) -> Move:
        """What the searches of several possible states favour together."""
        votes = dict.fromkeys(legal, 0.0)
        for number, guess in enumerate(self.guesses):
            left = len(self.guesses) - number
            part = deadline if left == 1 else deadline.part(1 / left)
            try:
                state = guess.state(part)
                tree = self.search(state, part, len(self.guesses))
            except TimeLimit:
                continue
            table = tree.reasoner.moves[self.index]
            choices = tree.statistics()[self.index]
            total = sum(choice.visits for choice in choices) or 1
            for choice in choices:
                if table[choice.move] in votes:
                    votes[table[choice.move]] += choice.visits / total
        return max(legal, key=lambda move: votes[move])
