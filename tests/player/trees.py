"""Explicit game trees: written down or drawn at random, answered as a `Reasoner`, and printed as GDL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from ggp.parser import parse_ground
from ggp.reasoner import (
    DEFAULT_MAX_STEPS,
    NO_GOAL,
    Bools,
    Children,
    Ints,
    MoveTable,
    Playouts,
    States,
)
from ggp.terms import Fact

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Leaf:
    """The end of the game; a payoff may be any number but −1, which means none."""

    payoffs: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """One role's choice; with one child, nobody's."""

    mover: int
    children: tuple[Tree, ...]


@dataclass(frozen=True)
class Stage:
    """All roles choose at once among `widths[role]` moves; children as `itertools.product` orders joint moves."""

    widths: tuple[int, ...]
    children: tuple[Tree, ...]


Tree = Leaf | Node | Stage


def players(tree: Tree) -> int:
    while not isinstance(tree, Leaf):
        tree = tree.children[0]
    return len(tree.payoffs)


def names(players: int, *, chance: bool = False) -> tuple[str, ...]:
    """p1, p2, …; with `chance` the last of them is `random`."""
    roles = [f"p{i + 1}" for i in range(players)]
    return (*roles[:-1], "random") if chance else tuple(roles)


def widths(tree: Tree, players: int) -> tuple[int, ...]:
    """How many moves each role has."""
    if isinstance(tree, Stage):
        return tree.widths
    return tuple(len(tree.children) if isinstance(tree, Node) and tree.mover == i else 1 for i in range(players))


def numbered(tree: Tree, *, share: bool = True) -> tuple[list[Tree], list[list[int]]]:
    """All nodes with the root first, and the numbers of their children; equal subtrees are one node if `share`."""
    nodes: list[Tree] = []
    children: list[list[int]] = []
    known: dict[Tree, int] = {}

    def visit(node: Tree) -> int:
        if share and node in known:
            return known[node]
        number = known[node] = len(nodes)
        nodes.append(node)
        children.append([])
        if not isinstance(node, Leaf):
            children[number].extend([visit(child) for child in node.children])
        return number

    visit(tree)
    return nodes, children


class TreeReasoner:
    """The game of a tree. A state is the number of its node; a mover's moves are a, b, …, the others have `noop`.

    Where a node has several movers each has a, b, …; one who has no choice there has `noop`.
    """

    engine = "tree"

    def __init__(self, tree: Tree, roles: Sequence[str] | None = None, *, share: bool = True) -> None:
        count = players(tree)
        self.roles = tuple(roles or names(count))
        assert len(self.roles) == count
        self.nodes, self.children = numbered(tree, share=share)
        shapes = [widths(node, count) for node in self.nodes]
        widest = np.max(shapes, axis=0, initial=1)
        self.moves = tuple(MoveTable(role) for role in self.roles)
        for table, width in zip(self.moves, widest, strict=True):
            for name in sorted([*LETTERS[:width], "noop"]):
                table.add(parse_ground(name))
        self._first = np.zeros(len(self.nodes) + 1, np.int64)  # where the children of a node begin
        joints: list[tuple[int, ...]] = []
        for number, (node, shape) in enumerate(zip(self.nodes, shapes, strict=True)):
            if not isinstance(node, Leaf):
                joints += product(*(self._ids(node, role, width) for role, width in enumerate(shape)))
                assert len(node.children) == prod(shape)
            self._first[number + 1] = len(joints)
        self._joint = np.array(joints, np.int64).reshape(-1, count)
        self._child = np.array([child for below in self.children for child in below], np.uint64)
        self._goals = np.array(
            [node.payoffs if isinstance(node, Leaf) else (NO_GOAL,) * count for node in self.nodes], np.int64
        )
        self._steps = {
            (number, *self._joint[k].tolist()): self._child[k]
            for number in range(len(self.nodes))
            for k in range(self._first[number], self._first[number + 1])
        }

    def _ids(self, node: Tree, role: int, width: int) -> list[int]:
        moving = width > 1 or (isinstance(node, Node) and node.mover == role)
        return [self.moves[role].id(parse_ground(name)) for name in (LETTERS[:width] if moving else ["noop"])]

    def initial(self, n: int = 1) -> States:
        return np.zeros((n, 1), np.uint64)

    def legal(self, states: States, role: int) -> Bools:
        legal = np.zeros((len(states), len(self.moves[role])), np.bool_)
        for row, number in enumerate(states[:, 0].tolist()):
            legal[row, self._joint[self._first[number] : self._first[number + 1], role]] = True
        return legal

    def step(self, states: States, joint: npt.ArrayLike) -> States:
        rows = zip(states[:, 0].tolist(), np.asarray(joint).tolist(), strict=True)
        return np.array([self._steps[number, *moves] for number, moves in rows], np.uint64).reshape(-1, 1)

    def terminal(self, states: States) -> Bools:
        return np.array([not self.children[number] for number in states[:, 0].tolist()], np.bool_)

    def goals(self, states: States) -> Ints:
        return self._goals[states[:, 0].astype(np.int64)]

    def goal_values(self, states: States, role: int) -> list[tuple[int, ...]]:
        return [() if goal == NO_GOAL else (goal,) for goal in self.goals(states)[:, role].tolist()]

    def sees(self, states: States, joint: npt.ArrayLike, role: int) -> list[tuple[Fact, ...]]:
        return [()] * len(states)

    def playouts(
        self,
        states: States,
        n: int,
        rng: np.random.Generator,
        odds: Sequence[npt.ArrayLike | None] | None = None,
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
    ) -> Playouts:
        goals = np.zeros((len(states), n, len(self.roles)), np.int64)
        steps = np.zeros((len(states), n), np.int64)
        for row, lane in np.ndindex(len(states), n):
            node = int(states[row, 0])
            while self.children[node] and steps[row, lane] < max_steps:
                joint = [self._drawn(node, role, rng, odds) for role in range(len(self.roles))]
                node = int(self._steps[node, *joint])
                steps[row, lane] += 1
            goals[row, lane] = self._goals[node]
        return Playouts(goals, steps)

    def _drawn(
        self, node: int, role: int, rng: np.random.Generator, odds: Sequence[npt.ArrayLike | None] | None
    ) -> int:
        moves = np.unique(self._joint[self._first[node] : self._first[node + 1], role])
        weights = np.ones(len(self.moves[role]))
        if odds is not None and odds[role] is not None:
            given = np.asarray(odds[role], np.float64)
            weights[: len(given)] = given[: len(weights)]
        share = weights[moves] if weights[moves].sum() > 0 else np.ones(len(moves))
        return int(rng.choice(moves, p=share / share.sum()))

    def bulk(self, size: int, rng: np.random.Generator) -> tuple[int, int]:
        return int(self.playouts(self.initial(), size, rng).steps.sum()), size

    def expand(self, states: States) -> Children:
        numbers = states[:, 0].astype(np.int64)
        counts = self._first[numbers + 1] - self._first[numbers]
        parents = np.repeat(np.arange(len(numbers)), counts)
        k = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts - self._first[numbers], counts)
        children = self._child[k][:, None]
        return Children(parents, self._joint[k], children, self.terminal(children), self.goals(children))

    def keys(self, states: States) -> list[bytes]:
        return [row.tobytes() for row in states]

    def facts(self, states: States) -> list[frozenset[Fact]]:
        return [frozenset({parse_ground(f"(at n{number})")}) for number in states[:, 0].tolist()]

    def encode(self, facts: Iterable[Iterable[Fact]]) -> States:
        found = []
        for row in facts:
            (fact,) = row
            found.append(int(str(fact.args[0])[1:]))
        return np.array(found, np.uint64).reshape(-1, 1)

    def close(self) -> None:
        pass


def gdl(tree: Tree, roles: Sequence[str] | None = None, *, share: bool = True) -> str:
    """The same game as GDL text, its states named as `TreeReasoner.facts` does; payoffs must be goals, 0..100."""
    reasoner = TreeReasoner(tree, roles, share=share)
    roles = reasoner.roles
    does = [f"(does {role} ?m{i})" for i, role in enumerate(roles)]
    lines = [f"(role {role})" for role in roles]
    lines += [
        "(init (at n0))",
        "(<= (legal ?role ?move) (true (at ?node)) (may ?node ?role ?move))",
        f"(<= (next (at ?child)) (true (at ?node)) {' '.join(does)}",
        f"    (leads ?node {' '.join(f'?m{i}' for i in range(len(roles)))} ?child))",
        "(<= terminal (true (at ?node)) (leaf ?node))",
        "(<= (goal ?role ?payoff) (true (at ?node)) (pays ?node ?role ?payoff))",
    ]
    for number, node in enumerate(reasoner.nodes):
        if isinstance(node, Leaf):
            if not all(0 <= payoff <= 100 for payoff in node.payoffs):
                raise ValueError(f"payoffs {node.payoffs}: expected goals, 0..100")
            lines.append(f"(leaf n{number})")
            lines += [f"(pays n{number} {role} {goal})" for role, goal in zip(roles, node.payoffs, strict=True)]
            continue
        found = reasoner.expand(np.array([[number]], np.uint64))
        for role, table in enumerate(reasoner.moves):
            moves = dict.fromkeys(found.joint[:, role].tolist())
            lines += [f"(may n{number} {roles[role]} {table[move]})" for move in moves]
        for joint, child in zip(found.joint.tolist(), found.states[:, 0].tolist(), strict=True):
            moves_text = " ".join(str(reasoner.moves[role][move]) for role, move in enumerate(joint))
            lines.append(f"(leads n{number} {moves_text} n{child})")
    return "\n".join(lines) + "\n"


def random_tree(
    rng: np.random.Generator,
    players: int = 3,
    plies: int = 5,
    width: int = 3,
    values: tuple[int, int] = (0, 100),
    *,
    transpositions: bool = False,
    distinct: bool = False,
    constant_sum: int | None = None,
    turns: bool = False,
    simultaneous: float = 0.0,
    chance: bool = False,
) -> Tree:
    """A tree of at most `plies` plies whose nodes have 1 to `width` children.

    Payoffs are drawn from `values` (both included) or, with `constant_sum`, are at least 0 and sum to it. With
    `distinct` no two leaves tie for anybody: a total order. `turns` moves the players in turn, else any of them moves.
    A share `simultaneous` of the nodes has several movers; `chance` makes the last player `random`, who gets 0.
    """
    scored = players - chance
    taken: set[tuple[int, int]] = set()
    pool: dict[int, list[Tree]] = {}

    def payoffs() -> tuple[int, ...]:
        for _ in range(10_000):
            if constant_sum is None:
                drawn = rng.integers(values[0], values[1] + 1, scored).tolist()
            else:
                cuts = np.sort(rng.integers(0, constant_sum + 1, scored - 1))
                drawn = np.diff(cuts, prepend=0, append=constant_sum).tolist()
            found = set(enumerate(drawn))
            if NO_GOAL not in drawn and not (distinct and found & taken):
                taken.update(found)
                return (*drawn, 0) if chance else tuple(drawn)
        raise ValueError("too many leaves for payoffs that are distinct: expected a wider range of values")

    def build(ply: int) -> Tree:
        if ply == plies or (ply > 0 and rng.random() < 0.1):
            return Leaf(payoffs())
        if transpositions and pool.get(ply) and rng.random() < 0.35:
            return pool[ply][rng.integers(len(pool[ply]))]
        node: Tree
        if rng.random() < simultaneous:
            shape = tuple(rng.integers(1, width + 1, players).tolist())
            node = Stage(shape, tuple(build(ply + 1) for _ in range(prod(shape))))
        else:
            mover = ply % players if turns else int(rng.integers(players))
            node = Node(mover, tuple(build(ply + 1) for _ in range(rng.integers(1, width + 1))))
        pool.setdefault(ply, []).append(node)
        return node

    return build(0)


def _choices(mover: int, *payoffs: tuple[int, ...]) -> Node:
    return Node(mover, tuple(map(Leaf, payoffs)))


# The worked examples of the papers. What their words leave open is chosen so that they hold.
PROB_MAXN_1 = Node(
    0,
    (
        _choices(1, (6, 4, 0), (1, 4, 5)),
        _choices(1, (3, 4, 3), (1, 3, 6)),
        _choices(1, (5, 4, 1), (4, 4, 2)),
    ),
)
PROB_MAXN_3 = _choices(0, (31, 10, -20), (30, -10, 20), (31, -10, -20))
MAX_PROB_1 = Node(
    0,
    (
        _choices(1, (1, 0, 0), (0, 0, 1)),
        _choices(1, (1, 0, 1), (0, 0, 1), (1, 0, 0)),
    ),
)
CHALLENGES_1 = Node(
    0,
    (
        _choices(1, (1, 3, 5), (5, 1, 3)),
        _choices(1, (4, 2, 3), (3, 5, 1)),
        _choices(1, (6, 3, 0), (2, 3, 4)),
    ),
)
CHALLENGES_2 = Node(0, (Leaf((5, 4, 1)), Node(1, (Leaf((2, 3, 5)), _choices(2, (4, 4, 2), (3, 6, 1))))))
