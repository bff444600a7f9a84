"""The batched walker: a game as plies of positions, grown by one engine call per batch and folded from below.

Equal positions of a ply are one node, so this is a DAG and its size is that of the game, not of its tree. Positions
are told apart within a ply only: public games may cycle, and so a cycle is just another ply. A position in which nobody
has a choice is passed through: depth counts plies of real choices. Everything is arrays; no node is a Python object.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ggp.errors import TimeLimit
from ggp.match import Deadline
from ggp.reasoner import Bools, Children, Floats, Ints, Reasoner, States
from player.search import kernels
from player.search.utilities import Outcomes, scored

NOBODY, SEVERAL = -1, -2  # instead of the role that chooses
LONGEST_FORCED = 1000  # steps without a choice before we doubt that there will be one
MOST_NODES = 50_000_000
MOST_BYTES = 8 << 30
CHUNK = 1 << 14  # positions that are expanded at once, at most
EDGES = 1 << 18  # that are folded at once, about
PATIENCE = 0.02  # seconds, about, between two looks at the clock
TOLERANCE = 1e-9  # values that differ by less are equal


class OpponentModel(Protocol):
    def odds(self, states: States, role: int, legal: Bools) -> Floats:
        """(n, moves): how likely the role plays each move; rows sum to 1, 0 where a move is not legal."""
        ...


@dataclass(frozen=True)
class Pruning:
    """Which of the moves that a model ranks are searched: the likeliest, so many or so much probability."""

    count: int = 0  # 0: any number
    mass: float = 1.0

    def kept(self, odds: Floats) -> Bools:
        """(n, moves): the moves to keep; the likeliest always.

        >>> Pruning(mass=0.6).kept(np.array([[0.5, 0.3, 0.2]])).tolist()
        [[True, True, False]]
        """
        order = np.argsort(-odds, axis=1, kind="stable")
        ranked = np.take_along_axis(odds, order, axis=1)
        keep = ranked.cumsum(axis=1) - ranked < self.mass - TOLERANCE
        if self.count:
            keep[:, self.count :] = False
        keep[:, 0] = True
        kept = np.zeros_like(keep)
        np.put_along_axis(kept, order, keep, axis=1)
        return kept


@dataclass
class Ply:
    """Positions at one depth, and once it is grown, what follows: node i has the edges first[i] to first[i + 1]."""

    states: States  # (n, …)
    terminal: Bools  # (n,)
    goals: Ints  # (n, roles)
    mover: npt.NDArray[np.int8]  # (n,) the role that chooses, or NOBODY, or SEVERAL at once
    first: Ints | None = None  # (n + 1,)
    child: npt.NDArray[np.int32] | None = None  # (edges,) a node of the next ply
    joint: Ints | None = None  # (edges, roles) what is played; kept at the root, elsewhere if asked for
    odds: Floats | None = None  # (edges, roles) how likely the model of a role plays its move, NaN where none knows
    sizes: Ints | None = None  # (nodes with SEVERAL, roles) how many moves each role has

    def __len__(self) -> int:
        return len(self.terminal)

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in vars(self).values() if part is not None)

    def pieces(self) -> Iterator[Ply]:
        """The ply in pieces of so many edges that folding one takes a blink."""
        assert self.first is not None
        assert self.child is not None
        most = EDGES if self.sizes is None else EDGES // 32
        marks = np.arange(most, self.first[-1], most)
        cuts = np.unique(np.concatenate(([0], np.searchsorted(self.first, marks), [len(self)])))
        several = np.flatnonzero(self.mover == SEVERAL)
        for begin, end in pairwise(cuts.tolist()):
            edges = slice(self.first[begin], self.first[end])
            yield Ply(
                self.states[begin:end],
                self.terminal[begin:end],
                self.goals[begin:end],
                self.mover[begin:end],
                self.first[begin : end + 1] - self.first[begin],
                self.child[edges],
                odds=None if self.odds is None else self.odds[edges],
                sizes=None if self.sizes is None else self.sizes[slice(*np.searchsorted(several, (begin, end)))],
            )


@dataclass(frozen=True)
class Choices:
    """Nodes in which one role chooses among children: node i among those from first[i] to first[i + 1]."""

    mover: Ints  # (n,)
    first: Ints  # (n + 1,)
    values: npt.NDArray[Any]  # (edges, …) of the children
    odds: Floats  # (edges,) as a model or chance has them, NaN where nobody knows

    @property
    def sizes(self) -> Ints:
        return np.diff(self.first)

    @property
    def node(self) -> Ints:
        """(edges,)"""
        return np.repeat(np.arange(len(self.mover)), self.sizes)

    @property
    def chooser(self) -> Ints:
        """(edges,) the role that chooses."""
        return np.repeat(self.mover, self.sizes)

    def best(self, worth: Floats) -> Bools:
        """(edges,) the children that are worth most, with all that tie."""
        highest = np.maximum.reduceat(worth, self.first[:-1])
        return worth >= np.repeat(highest, self.sizes) - TOLERANCE

    def the_first(self, of: Bools) -> Floats:
        """(edges,) probability 1 for the first of these in each node."""
        places = np.flatnonzero(of)
        nodes = np.searchsorted(self.first, places, side="right")
        found = np.zeros(len(of))
        found[places[np.flatnonzero(np.diff(nodes, prepend=0))]] = 1
        return found

    def evenly(self, of: Bools) -> Floats:
        """(edges,) the same probability for all of these in each node."""
        return np.asarray(of / np.repeat(np.add.reduceat(of.astype(np.float64), self.first[:-1]), self.sizes))

    def expected(self, odds: Floats) -> Floats:
        """(n, …) the values that follow if the choice is made with these odds."""
        found: Floats = np.add.reduceat(self.values * odds[:, None], self.first[:-1], axis=0)
        return found


@dataclass(frozen=True)
class Stages:
    """Nodes in which several roles choose at the same time, every joint move a child."""

    first: Ints  # (n + 1,)
    sizes: Ints  # (n, roles) how many moves
    local: Ints  # (edges, roles) which of them
    values: npt.NDArray[Any]  # (edges, …)
    odds: Floats  # (edges, roles) as models or chance have them, NaN where nobody knows

    @property
    def node(self) -> Ints:
        """(edges,)"""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.first))

    @property
    def unknown(self) -> Bools:
        """(n, roles) who has a choice of which nobody knows the odds."""
        return np.isnan(self.odds[self.first[:-1]]) & (self.sizes > 1)

    def expected(self, odds: Floats) -> Floats:
        """(n, …) the values that follow if every role chooses with these odds (edges, roles)."""
        return np.add.reduceat(self.values * odds.prod(axis=1)[:, None], self.first[:-1], axis=0)

    def of_role(self, role: int, odds: Floats) -> Floats:
        """(moves of the role in all nodes,) from odds (edges, roles)."""
        return self.moves(role, np.maximum, odds[:, [role]]).values[:, 0]

    def replies(self, role: int, odds: Floats) -> Choices:
        """The role as if it chose alone: where each of its moves leads if the others play with these odds."""
        weights = np.delete(odds, role, axis=1).prod(axis=1)
        return self.moves(role, np.add, self.values * weights[:, None])

    def moves(self, role: int, reduce: np.ufunc, values: npt.NDArray[Any]) -> Choices:
        """The role as if it chose alone, where values (edges, …) with the same move of its are reduced to one."""
        order = np.lexsort((self.local[:, role], self.node))
        first = np.concatenate(([0], np.cumsum(self.sizes[:, role])))
        each = np.diff(self.first) // self.sizes[:, role]  # joint moves for each of its moves
        begins = np.concatenate(([0], np.cumsum(np.repeat(each, self.sizes[:, role]))))[:-1]
        reduced = reduce.reduceat(values[order], begins, axis=0)
        return Choices(np.full(len(self.sizes), role), first, reduced, np.full(len(reduced), np.nan))

    def equilibrium(self, payoffs: Floats, odds: Floats | None = None) -> Floats:
        """(edges, roles) what the roles play by regret matching, where each move is worth `payoffs` (edges, roles)."""
        found = np.empty(payoffs.shape)
        rounds = int(np.clip(4e6 / len(payoffs), 100, 2000))
        given = self.odds if odds is None else odds
        kernels.regret_matching(self.first, self.sizes, self.local, np.ascontiguousarray(payoffs), given, rounds, found)
        return found


class Rule(Protocol):
    """What one algorithm believes. A value is a row of an array, whatever it means to the rule."""

    def leaf(self, outcomes: Outcomes) -> npt.NDArray[Any]:
        """(n, …) values of positions from how they end or may end."""
        ...

    def back_up(self, choices: Choices) -> npt.NDArray[Any]:
        """(n, …) values of nodes in which one role chooses."""
        ...

    def back_up_stages(self, stages: Stages) -> npt.NDArray[Any]:
        """(n, …) values of nodes in which several choose at once."""
        ...


class Table:
    """Numbers for rows, equal ones alike. Compiled states are rows of words; others are asked for their keys."""

    def __init__(self, reasoner: Reasoner, sample: States) -> None:
        self.reasoner = reasoner
        self.count = 0
        self.rows: Any = np.empty((0, *sample.shape[1:]), sample.dtype)
        self.slots = np.full(1 << 10, -1, np.int32)
        self.known: dict[bytes, int] = {}
        self.compiled = sample.ndim == 2 and sample.dtype == np.uint64

    @property
    def bytes(self) -> int:
        return int(self.rows.nbytes + self.slots.nbytes)

    def number(self, rows: States) -> tuple[npt.NDArray[np.int32], Ints]:
        """The number of each row, and the places of those that are new, in the order of their numbers."""
        before = self.count
        ids = np.empty(len(rows), np.int32)
        if len(self.rows) < before + len(rows):
            self.rows = np.concatenate(
                [self.rows[:before], np.empty((len(rows) + before, *rows.shape[1:]), rows.dtype)]
            )
        if not self.compiled:
            fresh: list[int] = []
            for i, key in enumerate(self.reasoner.keys(rows)):
                ids[i] = self.known.setdefault(key, len(self.known))
                if ids[i] == before + len(fresh):
                    fresh.append(i)
            self.rows[before : len(self.known)] = rows[fresh]
            self.count = len(self.known)
            return ids, np.array(fresh, np.int64)
        if len(self.slots) < 2 * (before + len(rows)):
            self.slots = np.full(1 << (4 * (before + len(rows))).bit_length(), -1, np.int32)
            kernels.rehash(self.rows, before, self.slots)
        origin = np.empty(before + len(rows), np.int64)
        self.count = kernels.number(np.ascontiguousarray(rows), self.rows, before, self.slots, ids, origin)
        return ids, origin[before : self.count]


class TextOrder:
    """Puts the children of each row in the order of their moves as GDL text; Prolog numbers moves as it finds them."""

    def __init__(self, reasoner: Reasoner) -> None:
        self.moves = reasoner.moves
        self._ranks: list[Ints | None] = [None] * len(self.moves)  # None: in order as they are
        self._ranked = [0] * len(self.moves)

    def __call__(self, found: Children) -> Children:
        for role, table in enumerate(self.moves):
            if self._ranked[role] != len(table):
                texts = [str(move) for move in table]
                by_text = sorted(range(len(texts)), key=texts.__getitem__)
                self._ranks[role] = None if by_text == sorted(by_text) else np.argsort(by_text)
                self._ranked[role] = len(table)
        if all(ranks is None for ranks in self._ranks):
            return found
        columns = [
            column if ranks is None else ranks[column] for ranks, column in zip(self._ranks, found.joint.T, strict=True)
        ]
        order = np.lexsort((*columns[::-1], found.parents))
        return Children(*(part[order] for part in _parts(found)))


class Dag:
    """A game from one position on, as deep as it has been grown.

    `models` (by role) and `pruning` say which moves of a role are not searched, and how likely the others are.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        root: States,
        *,
        chance: int | None = None,
        models: Mapping[int, OpponentModel] | None = None,
        pruning: Pruning | None = None,
        max_nodes: int = MOST_NODES,
        max_bytes: int = MOST_BYTES,
        keep_states: bool = False,
        keep_joint: bool = False,
    ) -> None:
        self.reasoner = reasoner
        self.chance = chance
        self.models = models or {}
        self.pruning = pruning
        self.max_nodes = max_nodes
        self.max_bytes = max_bytes
        self.bytes = 0  # about, of the plies that are grown
        self.keep_states = keep_states
        self.keep_joint = keep_joint
        self.start = root
        self.passed = False  # whether the root is not where we started, because nobody had a choice there
        goals = reasoner.goals(root)
        self.plies = [Ply(root.copy(), reasoner.terminal(root), goals, np.full(len(root), NOBODY, np.int8))]
        self.nodes = len(root)
        self._in_order = TextOrder(reasoner)
        self._chunk = 16

    @property
    def depth(self) -> int:
        return len(self.plies) - 1

    @property
    def joint(self) -> Ints:
        """(edges, roles) of the root."""
        joint = self.plies[0].joint
        return np.zeros((0, len(self.reasoner.roles)), np.int64) if joint is None else joint

    @property
    def is_complete(self) -> bool:
        """Whether every line has been followed to its end."""
        return bool(self.plies[-1].terminal.all())

    def grow(self, deadline: Deadline | None = None) -> bool:
        """One ply more. False where time or nodes are not enough, or nothing follows."""
        ply = self.plies[-1]
        live = np.flatnonzero(~ply.terminal)
        if not len(live):
            return False
        table = Table(self.reasoner, ply.states)
        sizes = np.zeros(len(ply), np.int64)
        mover = np.full(len(ply), NOBODY, np.int8)
        links, odds, terminal, goals, joints, several = [], [], [], [], [], []
        at = 0
        while at < len(live):
            begun = time.perf_counter()
            chunk = live[at : at + self._chunk]
            found = self._children(ply, chunk)
            at += len(chunk)
            nodes, first = _begins(found)
            chooses = found.joint[first[:-1]] != found.joint[first[1:] - 1]
            mover[nodes] = np.where(chooses.sum(axis=1) > 1, SEVERAL, chooses.argmax(axis=1))
            if self.models:
                found, given = self._weighed(ply, found)
                odds.append(given)
                nodes, first = _begins(found)
            sizes[nodes] = np.diff(first)
            together = np.flatnonzero(mover[nodes] == SEVERAL)
            if len(together):
                several.append(np.empty((len(together), found.joint.shape[1]), np.int64))
                kernels.options(first[together], sizes[nodes[together]], found.joint, several[-1])
            ids, fresh = table.number(found.states)
            links.append(ids)
            terminal.append(found.terminal[fresh])
            goals.append(found.goals[fresh])
            if self.depth == 0 or self.keep_joint:
                joints.append(found.joint)
            slow = (time.perf_counter() - begun) / PATIENCE
            self._chunk = int(np.clip(len(chunk) / slow, 1, min(CHUNK, 4 * len(chunk))))
            size = self.bytes + table.bytes + sum(ids.nbytes for ids in links)
            if self.nodes + table.count > self.max_nodes or size > self.max_bytes:
                return False
            if at < len(live) and deadline is not None and deadline.passed:
                return False
        ply.terminal[live[sizes[live] == 0]] = True  # also where the rules leave somebody without a move
        if not table.count:
            return False
        ply.mover = mover
        ply.first = np.concatenate(([0], np.cumsum(sizes)))
        ply.child = np.concatenate(links)
        ply.odds = np.concatenate(odds) if odds else None
        ply.sizes = np.concatenate(several) if several else None
        ply.joint = np.concatenate(joints) if joints else None
        if self.depth > 0 and not self.keep_states:
            ply.states = np.empty((0, *ply.states.shape[1:]), ply.states.dtype)
        nobody = np.full(table.count, NOBODY, np.int8)
        rows = table.rows[: table.count].copy()  # without the room that there was for more
        self.plies.append(Ply(rows, np.concatenate(terminal), np.concatenate(goals), nobody))
        self.nodes += table.count
        self.bytes = sum(ply.bytes for ply in self.plies)
        return True

    def _children(self, ply: Ply, nodes: Ints) -> Children:
        """What follows these nodes, in their order; one without a choice becomes its successor."""
        pieces = []
        for step in range(LONGEST_FORCED):
            found = self.reasoner.expand(ply.states[nodes])
            each = np.bincount(found.parents, minlength=len(nodes))
            forced = np.flatnonzero(each == 1)
            alone = np.isin(found.parents, forced) if len(forced) else np.zeros(len(found.parents), np.bool_)
            parents = nodes[found.parents]
            pieces.append(Children(parents, found.joint, found.states, found.terminal, found.goals))
            if not len(forced) or step == LONGEST_FORCED - 1:
                break
            pieces[-1] = _only(pieces[-1], ~alone)
            nodes = nodes[forced]
            self.passed |= self.depth == 0
            ply.states[nodes] = found.states[alone]
            ply.terminal[nodes] = found.terminal[alone]
            ply.goals[nodes] = found.goals[alone]
            nodes = nodes[~found.terminal[alone]]
            if not len(nodes):
                break
        if len(pieces) > 1:
            whole = [np.concatenate(parts) for parts in zip(*map(_parts, pieces), strict=True)]
            order = np.argsort(whole[0], kind="stable")
            return self._in_order(Children(*(part[order] for part in whole)))
        return self._in_order(pieces[0])

    def _weighed(self, ply: Ply, found: Children) -> tuple[Children, Floats]:
        """The children that models leave, and the odds of each role's move there."""
        given = np.full(found.joint.shape, np.nan)
        keep = np.ones(len(found.parents), np.bool_)
        nodes, row = np.unique(found.parents, return_inverse=True)
        for role, model in self.models.items():
            legal = np.zeros((len(nodes), len(self.reasoner.moves[role])), np.bool_)
            legal[row, found.joint[:, role]] = True
            chooses = legal.sum(axis=1) > 1
            odds = legal.astype(np.float64)
            if chooses.any():
                odds[chooses] = model.odds(ply.states[nodes[chooses]], role, legal[chooses])
            odds = np.where(legal & (odds.sum(axis=1, keepdims=True) > 0), odds, legal)
            if self.pruning is not None:
                kept = self.pruning.kept(odds) & legal
                odds = np.where(kept, odds, 0.0)
                keep &= kept[row, found.joint[:, role]]
            odds = odds / odds.sum(axis=1, keepdims=True)
            given[:, role] = np.where(chooses[row], odds[row, found.joint[:, role]], np.nan)
        return _only(found, keep), given[keep]

    def path(self, node: int, depth: int) -> list[list[int]]:
        """Joint moves that lead from the root to a node of the ply at this depth; needs `keep_joint`."""
        found: list[list[int]] = []
        for ply in self.plies[depth - 1 :: -1] if depth else []:
            assert ply.first is not None
            assert ply.child is not None
            assert ply.joint is not None
            edge = int((ply.child == node).argmax())
            found.append(ply.joint[edge].tolist())
            node = int(np.searchsorted(ply.first, edge, side="right")) - 1
        return found[::-1]

    # From below to the root

    def outcomes(self, ply: Ply, nodes: Ints, me: int) -> Outcomes:
        """How the game ends where it has ended."""
        goals = scored(ply.goals[nodes])
        states = ply.states[nodes] if len(ply.states) == len(ply) else None
        return Outcomes(goals[:, None, :], me, self.chance, states=states, reasoner=self.reasoner)

    def fold(
        self,
        rule: Rule,
        me: int,
        frontier: Callable[[States], npt.NDArray[Any]] | None = None,
        deadline: Deadline | None = None,
    ) -> npt.NDArray[Any]:
        """The values of the root's children, and where there are none, of the root itself.

        `frontier` gives the values of positions that are neither final nor grown. TimeLimit if it takes too long.
        """
        values = self._values(self.plies[-1], rule, me, None, frontier)
        for ply in self.plies[-2:0:-1]:
            pieces = []
            for piece in ply.pieces():
                if deadline is not None and deadline.passed:
                    raise TimeLimit("the values were not backed up in time")
                pieces.append(self._values(piece, rule, me, values, frontier))
            values = np.concatenate(pieces)
        child = self.plies[0].child
        return values if child is None else values[child]

    def root(self, values: npt.NDArray[Any]) -> Choices | Stages | None:
        """The root and these values of its children, as a rule wants them; None where nobody has a choice."""
        ply = self.plies[0]
        if ply.first is None or ply.mover[0] == NOBODY:
            return None
        return self._stages(ply, np.array([0]), values) if ply.mover[0] == SEVERAL else self._choices(ply, None, values)

    def _values(
        self, ply: Ply, rule: Rule, me: int, below: npt.NDArray[Any] | None, frontier: Callable[[States], Any] | None
    ) -> npt.NDArray[Any]:
        known = np.flatnonzero(ply.mover == NOBODY) if below is not None else np.flatnonzero(ply.terminal)
        at_end = rule.leaf(self.outcomes(ply, known, me))
        if len(known) == len(ply):
            return at_end
        values = np.empty((len(ply), *at_end.shape[1:]), at_end.dtype)
        values[known] = at_end
        if below is None:
            rest = np.flatnonzero(~ply.terminal)
            assert frontier is not None, "a game that goes on below the last ply needs a heuristic"
            values[rest] = frontier(ply.states[rest])
            return values
        assert ply.child is not None
        one = np.flatnonzero(ply.mover >= 0)
        if len(one):
            whole = len(one) + len(known) == len(ply)
            values[one] = rule.back_up(self._choices(ply, None if whole else one, below[ply.child]))
        if len(several := np.flatnonzero(ply.mover == SEVERAL)):
            values[several] = rule.back_up_stages(self._stages(ply, several, below[ply.child]))
        return values

    def _edges(self, ply: Ply, nodes: Ints) -> tuple[Ints, Ints]:
        """The edges of these nodes, and where each node's begin among them."""
        assert ply.first is not None
        sizes = ply.first[nodes + 1] - ply.first[nodes]
        first = np.concatenate(([0], np.cumsum(sizes)))
        return np.repeat(ply.first[nodes] - first[:-1], sizes) + np.arange(first[-1]), first

    def _choices(self, ply: Ply, nodes: Ints | None, values: npt.NDArray[Any]) -> Choices:
        """Nodes with one mover; None: all that have edges at all."""
        assert ply.first is not None
        if nodes is None:
            nodes = np.flatnonzero(ply.mover >= 0)
            edges: Ints | slice = slice(None)
            first = np.append(ply.first[nodes], ply.first[-1])
        else:
            edges, first = self._edges(ply, nodes)
        mover = ply.mover[nodes].astype(np.int64)
        sizes = np.diff(first)
        odds = np.full(int(first[-1]), np.nan)
        if ply.odds is not None:
            odds = ply.odds[edges][np.arange(len(odds)), np.repeat(mover, sizes)]
        if self.chance is not None:
            odds = np.where(np.repeat(mover == self.chance, sizes), np.repeat(1 / sizes, sizes), odds)
        return Choices(mover, first, values[edges], odds)

    def _stages(self, ply: Ply, nodes: Ints, values: npt.NDArray[Any]) -> Stages:
        """All nodes in which several choose."""
        assert ply.sizes is not None
        edges, first = self._edges(ply, nodes)
        each = np.diff(first)
        within = np.arange(first[-1]) - np.repeat(first[:-1], each)
        sizes = np.repeat(ply.sizes, each, axis=0)
        odds = np.full(sizes.shape, np.nan) if ply.odds is None else ply.odds[edges]
        if self.chance is not None:
            odds[:, self.chance] = 1 / sizes[:, self.chance]
        local = within[:, None] // np.repeat(strides(ply.sizes), each, axis=0) % sizes
        return Stages(first, ply.sizes, local, values[edges], odds)


def strides(sizes: Ints) -> Ints:
    """(n, roles) how many edges further a role's next move is: the last role's moves change fastest."""
    found = np.ones_like(sizes)
    found[:, :-1] = np.cumprod(sizes[:, :0:-1], axis=1)[:, ::-1]
    return found


def _begins(found: Children) -> tuple[Ints, Ints]:
    """The nodes that have children, and where each node's begin; one place more for the end."""
    first = np.flatnonzero(np.diff(found.parents, prepend=-1))
    return found.parents[first], np.append(first, len(found.parents))


def _parts(found: Children) -> tuple[Any, ...]:
    return found.parents, found.joint, found.states, found.terminal, found.goals


def _only(found: Children, these: Bools) -> Children:
    return Children(*(part[these] for part in _parts(found)))
