"""The UCT tree: rounds of many descents, a few engine calls for all of them, and playouts that fill the lanes.

A round: `descend` goes down by UCB1 and leaves a virtual loss on its way; nodes met for the second time are opened; the
new states are stepped to, judged and played out, all in one batch; `back_up` brings the goals home. One node for each
state, found by its key, so that transpositions share what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ggp.match import Deadline
from ggp.reasoner import Bools, Floats, Reasoner, States
from player.search.uct import kernels

Odds = Callable[[States, int, Bools], Floats]  # (states, role, legal) → (n, moves): an opponent model's `odds`

LANES = 512  # playouts that the compiled engine runs at once
MAX_DEPTH = 256  # of a descent; games may cycle
SLOTS_PER_NODE = 8  # most nodes are never opened
PATIENCE = 0.05  # seconds that a round may take
PROBE = 32  # steps of the first playouts, which show what a step takes


class Choice(NamedTuple):
    """What is known of a move: how often it was tried, its mean value for the role, and whether that is certain."""

    move: int
    visits: int
    value: float
    solved: bool
    plies: int  # to the end, where solved


class Tree:
    """UCT (Kocsis and Szepesvári 2006) for any number of roles: each chooses by its own statistics of its own moves
    (decoupled UCT, Finnsson and Björnsson 2008), dice are thrown. Certain values are backed up as in MCTS-Solver
    (Winands and others 2008), and moves that did well elsewhere are tried sooner (progressive history, Nijssen and
    Winands 2010). Values are goals / 100.

    `odds` has models of roles: with probability `trust` their moves are drawn from these. `weights` are weights of
    moves for playouts, see `Reasoner.playouts`. `playouts` 0 means as many for each leaf as fill the engine's lanes.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        *,
        chance: int | None,
        rng: np.random.Generator,
        c: float = 0.25,
        fpu: float = 1.1,
        history: float = 1.0,
        batch: int = 128,
        playouts: int = 0,
        max_nodes: int = 1 << 21,
        max_steps: int = 1000,
        odds: Mapping[int, Odds] | None = None,
        trust: float = 0.9,
        weights: Sequence[npt.ArrayLike | None] | None = None,
    ) -> None:
        assert batch > 0
        assert max_nodes > 0
        self.reasoner = reasoner
        self.chance = -1 if chance is None else chance
        self.rng = rng
        self.c, self.fpu, self.history = c, fpu, history
        self.batch, self.playouts_per_leaf = batch, playouts
        self.max_nodes, self.max_steps = max_nodes, max_steps
        self.odds, self.trust, self.weights = odds or {}, trust, weights
        self.compiled = reasoner.engine == "propnet"
        self.iterations = self.playouts = 0
        self.root = -1
        self._arrays: kernels.Arrays | None = None
        self._batch = _batch(batch, len(reasoner.roles))
        self._seconds = 0.0  # that a descent takes
        self._step_seconds = 0.0  # that a step of a playout takes
        self._deadline: Deadline | None = None  # that playouts have to heed

    @property
    def nodes(self) -> int:
        return int(self.arrays.used[kernels.NODES])

    @property
    def arrays(self) -> kernels.Arrays:
        assert self._arrays is not None, "reset first"
        return self._arrays

    @property
    def solved(self) -> bool:
        """Whether the root's worth is certain."""
        return bool(self.arrays.plies[self.root] >= 0)

    def reset(self, state: States) -> None:
        """Searches from this state on (one row), with what is known of it already; room is made if it is short."""
        keys = _keys(self.reasoner, state)
        if self._arrays is None:
            self._allocate(state, keys.shape[1])
        t = self.arrays
        self.root = int(kernels.find(t, keys))
        full = t.used / [len(t.first), len(t.move), len(t.to)]
        if self.root >= 0 and full.max() > 0.5:
            self._compact()
        elif self.root < 0:
            self._clear()
            b = self._batch
            b.counts[:], b.origin[0], b.moves[0], b.place[0] = (1, 0), -1, 0, -1
            kernels.admit(t, b, keys, self.reasoner.terminal(state), self.reasoner.goals(state))
            self.root = 0
            self._states[0] = state[0]
        if t.first[self.root] < 0 and not self.solved:
            self._batch.counts[:], self._batch.wanted[0] = (0, 1), self.root
            self._open(state)

    def search(self, deadline: Deadline, max_iterations: int | None = None) -> None:
        """Grows the tree until the deadline is near, the root is solved, or this many descents are done.

        With `max_iterations` the clock only ever ends it, so that the outcome depends on nothing but the seed.
        """
        assert max_iterations is not None or deadline.remaining < inf, "a search needs an end"
        end = self.iterations + max_iterations if max_iterations is not None else None
        self._deadline = deadline if end is None else None
        while not self.solved and (end is None or self.iterations < end):
            left = deadline.remaining
            size = min(self.batch, max(8, int(self.arrays.visits[self.root]) // 8))
            size = min(size, end - self.iterations) if end is not None else self._affordable(size, left)
            if left <= size * self._seconds:
                self._seconds /= 2  # it may have been a hiccup: another time it is tried again
                break
            began = deadline.clock()
            self._round(size)
            took = (deadline.clock() - began) / size
            self._seconds = max(took, (self._seconds + took) / 2)

    def statistics(self) -> list[list[Choice]]:
        """For each role its moves at the root, in the order of their numbers."""
        t, root = self.arrays, self.root
        found: list[list[Choice]] = []
        slot = int(t.first[root])
        for role, count in enumerate(t.counts[root].tolist() if slot >= 0 else [0] * len(self.reasoner.roles)):
            some = range(slot, slot + count)
            found.append([self._choice(s, role) for s in some])
            slot += count
        return found

    def best(self, role: int) -> int:
        """The move to play: a certain one if no other promises more, else the most tried; −1 if nothing is known."""
        choices = self.statistics()[role]
        tried = max((x for x in choices if not x.solved), key=lambda x: (x.visits, x.value), default=None)
        sure = max((x for x in choices if x.solved), key=_urgency, default=None)
        if sure is not None and (tried is None or (sure.value > 0 and sure.value >= tried.value)):
            return sure.move
        return tried.move if tried is not None else -1

    def value(self) -> list[float]:
        """What each role can expect, 0 … 1."""
        t = self.arrays
        if self.solved:
            return [float(v) for v in t.value[self.root]]
        sums = [(sum(x.visits * x.value for x in some), sum(x.visits for x in some)) for some in self.statistics()]
        means = [total / visits if visits else 0.5 for total, visits in sums]
        certain = [max((x.value for x in some if x.solved), default=0.0) for some in self.statistics()]
        return [max(pair) for pair in zip(means, certain, strict=True)]

    def _choice(self, slot: int, role: int) -> Choice:
        t = self.arrays
        tries, child = int(t.tries[slot]), int(t.child[slot])
        mean = float(t.total[slot]) / tries if tries else 0.0
        if not t.exact[slot]:
            return Choice(int(t.move[slot]), tries, mean, False, -1)
        return Choice(int(t.move[slot]), tries, float(t.value[child, role]), True, int(t.plies[child]))

    # A round

    def _round(self, size: int) -> None:
        t, b = self.arrays, self._batch
        b.at[:size] = self.root
        b.depth[:size] = 0
        b.leaf[:size] = kernels.OPENING
        b.counts[:] = 0
        self.iterations += size
        how = (self.c, self.fpu, self.history, self.chance, self.trust)
        try:
            kernels.descend(t, b, size, *how, True)
            if wanted := int(b.counts[1]):
                self._open(self._states[b.wanted[:wanted]])
                t = self.arrays
                kernels.descend(t, b, size, *how, False)
            if asked := int(b.counts[0]):
                self._evaluate(asked)
        except BaseException:
            kernels.abandon(t, b)
            raise
        kernels.back_up(t, b, size, self.chance, self.trust)

    def _open(self, states: States) -> None:
        legal = [self.reasoner.legal(states, role) for role in range(len(self.reasoner.roles))]
        first_move = np.cumsum([0] + [moves.shape[1] for moves in legal])
        known = self.arrays.fame
        if (most := max(moves.shape[1] for moves in legal)) > known.shape[1]:  # Prolog's tables grow
            fame = np.tile([0.5, 0.0], (len(legal), 2 * most, 1))
            fame[:, : known.shape[1]] = known
            self._arrays = self.arrays._replace(fame=fame)
        odds = np.full((len(states), first_move[-1] if self.odds else 0), -1, np.float32)
        for role, model in self.odds.items():
            odds[:, first_move[role] : first_move[role + 1]] = model(states, role, legal[role])
        kernels.open_nodes(self.arrays, self._batch, np.concatenate(legal, axis=1), first_move, odds)

    def _evaluate(self, asked: int) -> None:
        """Steps to the states that were asked for, admits them, and plays them out."""
        t, b, reasoner = self.arrays, self._batch, self.reasoner
        moves = b.moves[:asked]
        stepped = moves[:, 0] >= 0
        states = self._states[b.origin[:asked]]
        if stepped.all():
            states = reasoner.step(states, moves)
        elif stepped.any():
            states[stepped] = reasoner.step(states[stepped], moves[stepped])
        terminal = reasoner.terminal(states)
        before = self.nodes
        kernels.admit(t, b, _keys(reasoner, states), terminal, reasoner.goals(states))
        node = b.node[:asked]
        if self._states is not t.keys:
            fresh = node >= before
            self._states[node[fresh]] = states[fresh]
        known = terminal | ((node >= 0) & (t.plies[node] >= 0))
        if not known.all():
            b.result[:asked][~known] = self._played(states[~known])

    def _played(self, leaves: States) -> Floats:
        """(n, roles): mean values of playouts."""
        n = self.playouts_per_leaf or (max(1, LANES // self.batch) if self.compiled else 1)
        most = self._steps(n * len(leaves))
        began = self._deadline.clock() if self._deadline else 0.0
        found = self.reasoner.playouts(leaves, n, self.rng, self.weights, max_steps=most)
        if self._deadline:
            took = (self._deadline.clock() - began) / max(1, int(found.steps.sum()))
            self._step_seconds = max(took, (self._step_seconds + took) / 2)
        self.playouts += n * len(leaves)
        means: Floats = np.clip(found.goals, 0, 100).mean(axis=1) / 100
        return means

    def _affordable(self, size: int, left: float) -> int:
        """How many descents a round may have, so that it is over soon; one, as long as nobody knows what it takes."""
        if self._seconds == 0.0:
            return 1
        return max(1, min(size, int(min(PATIENCE, left / 8) / self._seconds)))

    def _steps(self, playouts: int) -> int:
        """How many steps so many playouts may have at once: games may go on and on, and an engine may be slow."""
        if self._deadline is None:
            return self.max_steps
        if self._step_seconds == 0.0:
            return min(self.max_steps, PROBE)
        affordable = self._deadline.remaining / 4 / (playouts * self._step_seconds)
        return int(min(self.max_steps, max(1.0, affordable)))

    # Memory

    def _allocate(self, state: States, words: int) -> None:
        n, roles = self.max_nodes, len(self.reasoner.roles)
        slots = SLOTS_PER_NODE * n + 2 * max(10_000, sum(map(len, self.reasoner.moves)))
        size = 1 << (2 * n - 1).bit_length()
        self._arrays = kernels.Arrays(
            keys=np.empty((n, words), np.uint64),
            first=np.empty(n, np.int32),
            counts=np.empty((n, roles), np.int32),
            mover=np.empty(n, np.int16),
            visits=np.empty(n, np.int32),
            plies=np.empty(n, np.int16),
            value=np.empty((n, roles)),
            table=np.zeros(size, np.int32),
            move=np.empty(slots, np.int32),
            tries=np.empty(slots, np.int32),
            total=np.empty(slots),
            child=np.empty(slots, np.int32),
            exact=np.empty(slots, np.bool_),
            odds=np.empty(slots if self.odds else 0, np.float32),
            parent=np.empty(n, np.int32),
            joint=np.empty(n, np.uint64),
            to=np.empty(n, np.int32),
            edge_table=np.zeros(size, np.int32),
            fame=np.zeros((roles, 0, 2)),
            used=np.zeros(3, np.int64),
            rng=self.rng.integers(1 << 63, size=1, dtype=np.uint64),
        )
        self._states: States = (
            self._arrays.keys if state.dtype == np.uint64 else np.empty((n, *state.shape[1:]), state.dtype)
        )

    def _clear(self) -> None:
        t = self.arrays
        t.used[:] = 0
        t.table[:] = 0
        t.edge_table[:] = 0

    def _compact(self) -> None:
        t = self.arrays
        key = t.keys[self.root : self.root + 1].copy()
        live = kernels.reachable(t, self.root)
        opened = np.flatnonzero(live & (t.first[: len(live)] >= 0))
        kept = kernels.compact(t, live, opened[np.argsort(t.first[opened])])
        if self._states is not t.keys:
            self._states[: len(kept)] = self._states[kept]
        self.root = int(kernels.find(t, key))


def _urgency(choice: Choice) -> tuple[float, int, int]:
    """Wins soon, all else late."""
    wins = choice.value >= kernels.CERTAIN
    return round(choice.value, 9), -choice.plies if wins else choice.plies, choice.visits


def _batch(size: int, roles: int) -> kernels.Batch:
    return kernels.Batch(
        at=np.empty(size, np.int32),
        depth=np.empty(size, np.int32),
        leaf=np.empty(size, np.int32),
        nodes=np.empty((size, MAX_DEPTH), np.int32),
        slots=np.empty((size, MAX_DEPTH, roles), np.int32),
        instead=np.empty((size, MAX_DEPTH), np.int32),
        origin=np.empty(size, np.int32),
        moves=np.empty((size, roles), np.int64),
        place=np.empty(size, np.int64),
        node=np.empty(size, np.int32),
        result=np.empty((size, roles)),
        wanted=np.empty(size, np.int32),
        counts=np.zeros(2, np.int64),
    )


def _keys(reasoner: Reasoner, states: States) -> npt.NDArray[np.uint64]:
    """(n, words): rows that are equal exactly where the states are; digests where states are no words."""
    if states.dtype == np.uint64:
        return states
    digests = b"".join(blake2b(key, digest_size=16).digest() for key in reasoner.keys(states))
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)


@cache
def warm_up() -> None:
    """Compiles the kernels, or loads them, by a tiny search."""
    from ggp.game import Game

    text = (
        "(role a) (role b) (init 1) (legal a x) (legal a y) (legal b x) (<= (legal b y) (true 1))"
        "(<= (next 2) (true 1)) (<= (next 3) (true 2)) (<= terminal (true 3)) (goal a 50) (goal b 50)"
    )
    reasoner = Game.parse(text).reasoner("propnet")
    tree = Tree(reasoner, chance=None, rng=np.random.default_rng(0), batch=8, max_nodes=64)
    tree.reset(reasoner.initial())
    tree.search(Deadline.after(60), 64)
    tree._compact()
