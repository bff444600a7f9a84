"""Players that search: each deepens a DAG of the game while there is time, and plays what its rule says."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from ggp.errors import GGPError, TimeLimit
from ggp.game import Game, State
from ggp.match import Deadline, Happened
from ggp.reasoner import Floats
from ggp.terms import Move
from player.search import rules
from player.search.algorithms import Options, beliefs, checked, rule
from player.search.anytime import PLAYOUTS, Answer, Leaves, deepen, mini_players
from player.search.beliefs import Belief
from player.search.dag import Dag, OpponentModel, Pruning
from player.search.heuristics import given
from player.search.rules import Expectation
from player.strategies.base import Player, with_margin

MOST_NODES = 3_000_000
LEARNING_NODES = 20_000  # of the search that tells what each model would have chosen
ESTIMATES = 128  # playouts that tell who leads

log = logging.getLogger(__name__)


class Searcher(Player):
    """A player with a rule. `depth` 0 is as deep as time allows; `heuristic` is `given` where the game has one."""

    algorithm = ""

    def __init__(
        self,
        rng: np.random.Generator,
        options: Options | None = None,
        *,
        depth: int = 0,
        nodes: int = MOST_NODES,
        playouts: int = PLAYOUTS,
        heuristic: str = "playouts",
    ) -> None:
        super().__init__(rng)
        if heuristic not in ("given", "playouts"):
            raise ValueError(f"heuristic={heuristic}: expected given or playouts")
        if depth < 0 or nodes < 1 or playouts < 1:
            raise ValueError(f"depth={depth}, nodes={nodes}, playouts={playouts}: expected at least 0, 1 and 1")
        self.options = checked(options or Options())
        self.depth = depth
        self.nodes = nodes
        self.playouts = playouts
        self.heuristic = heuristic
        self.models: dict[int, OpponentModel] = {}
        self.pruning: Pruning | None = None
        self.answer: Answer | None = None  # of the last search

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        super().prepare(game, role, deadline)
        self.me = game.roles.index(role)
        self.reasoner = game.reasoner()
        known = given(game, self.reasoner) if self.heuristic == "given" else None
        if self.algorithm == "max-prob" and known is not None and not known.distinguishing:
            log.warning("%s: its heuristic does not tell winners at the end: leaves are valued by playouts", game.name)
            known = None
        self.leaves = Leaves(
            self.reasoner, self.me, self.rng, chance=game.chance, playouts=self.playouts, heuristic=known
        )
        for _ in self.search(game.initial, Deadline.after(min(0.1, deadline.remaining / 4), clock=deadline.clock)):
            pass  # what is compiled at the first use is compiled now

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        state = self.possible(state, deadline)
        legal = state.legal(self.role)
        if len(legal) == 1:
            return legal[0]
        self.answer = None
        try:
            for found in self.search(state, with_margin(deadline)):
                self.answer = found
        except GGPError as error:  # an engine that took too long or too much: what was found until then counts
            log.warning("%s: the search ended early: %s", type(self).__name__, error)
        if self.answer is None:
            return legal[int(self.rng.integers(len(legal)))]
        return state.reasoner.moves[self.me][self.answer.move(self.rng)]

    def search(self, state: State, deadline: Deadline) -> Iterator[Answer]:
        """Better and better answers for a state."""
        dag = self.dag(state, self.nodes)
        return deepen(dag, self.rule(state), self.leaves, depth=self.depth or None, deadline=deadline)

    def dag(self, state: State, nodes: int) -> Dag:
        return Dag(
            state.reasoner,
            state.row,
            chance=self.game.chance,
            models=self.models,
            pruning=self.pruning,
            max_nodes=nodes,
            keep_states=self.options.asks_for_states,
        )

    def rule(self, state: State) -> Expectation:
        return rule(self.algorithm, self.game, self.me, self.options, lambda: self.estimates(state))

    def estimates(self, state: State) -> Floats:
        """(roles,) what the state is about worth."""
        repeated = np.repeat(state.row, max(1, ESTIMATES // self.playouts), axis=0)
        found: Floats = self.leaves.outcomes(repeated).goals.mean(axis=(0, 1))
        return found


class MaxN(Searcher):
    """maxⁿ: everybody takes what is best for them."""

    algorithm = "maxn"


class Paranoid(Searcher):
    """Paranoid: everybody else is against us."""

    algorithm = "paranoid"


class SoftMaxN(Searcher):
    """soft-maxⁿ: who ties may do any of it; `by` is what counts of a set of outcomes: mean, worst or best."""

    algorithm = "soft-maxn"

    def __init__(
        self, rng: np.random.Generator, *, models: tuple[str, ...] = ("own",), by: str = "mean", **common: Any
    ) -> None:
        super().__init__(rng, Options(models=models, by=by), **common)


class MaxProb(Searcher):
    """Max-Prob: everybody maximises their probability to win; `win` is by `goal`, or the `best` has won."""

    algorithm = "max-prob"

    def __init__(self, rng: np.random.Generator, *, win: str = "goal", **common: Any) -> None:
        super().__init__(rng, Options(win=win), **common)


class MPMix(Searcher):
    """MP-Mix: paranoid when ahead by `defend`, on the offensive when another is by `attack`, else maxⁿ."""

    algorithm = "mp-mix"

    def __init__(self, rng: np.random.Generator, *, defend: float = 20.0, attack: float = 20.0, **common: Any) -> None:
        super().__init__(rng, Options(defend=defend, attack=attack), **common)


class ProbMaxN(Searcher):
    """prob-maxⁿ: beliefs over what the others want, learned from what they choose unless `learn` is no.

    `firm` is how many choices the prior belief counts for.
    """

    algorithm = "prob-maxn"

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        models: tuple[str, ...] = ("own", "lead"),
        belief: tuple[float, ...] = (),
        epsilon: float = 0.1,
        true: str = "own",
        learn: bool = True,
        firm: float = 2.0,
        **common: Any,
    ) -> None:
        super().__init__(rng, Options(models=models, belief=belief, epsilon=epsilon, true=true), **common)
        if not 0 < firm < inf:
            raise ValueError(f"firm={firm:g}: expected a number above 0")
        self.learn = learn
        self.firm = firm

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        prior = beliefs(game, self.options)
        self.beliefs = [Belief(self.firm * row + 1e-6, self.rng) for row in prior]
        first = Belief([1, 1], self.rng)
        first.observe([1, 0])
        _ = first.mean  # compiled now, not on the play clock
        self.before: State | None = None if game.is_imperfect else game.initial
        self.seen: list[tuple[State, tuple[Move, ...]]] = []  # what happened since the last search
        super().prepare(game, role, deadline)

    def observe(self, happened: Happened, state: State | None) -> None:
        super().observe(happened, state)
        if self.before is not None and isinstance(happened, tuple):
            others = set(self.game.roles) - {self.role}
            if any(len(self.before.legal(role)) > 1 for role in others):
                self.seen.append((self.before, happened))
        self.before = state

    def search(self, state: State, deadline: Deadline) -> Iterator[Answer]:
        if self.learn and len(self.options.models) > 1:
            share = deadline.remaining / 10 / max(1, len(self.seen))
            for before, moves in self.seen:
                self.study(before, moves, Deadline.after(share, clock=deadline.clock))
        self.seen = []
        return super().search(state, deadline)

    def study(self, before: State, moves: tuple[Move, ...], deadline: Deadline) -> None:
        """Learns from everybody's choices in a state, as far as a small search tells what each model would do."""
        dag, rule = self.dag(before, LEARNING_NODES), self.rule(before)
        half = deadline.part(0.5)
        while (not self.depth or dag.depth < self.depth) and dag.grow(half):
            pass
        try:
            learned = mini_players(dag, rule, self.leaves, deadline)
        except TimeLimit:
            return
        for role, (options, likelihoods) in learned.items():
            chosen = before.reasoner.moves[role].id(moves[role])
            if role not in (self.me, self.game.chance):
                self.beliefs[role].observe(likelihoods[options == chosen][:1])

    def rule(self, state: State) -> rules.ProbMaxN:
        found = super().rule(state)
        assert isinstance(found, rules.ProbMaxN)
        for role, belief in enumerate(self.beliefs):
            if role != self.game.chance:
                found.belief[role, :-1] = belief.mean
        return found
