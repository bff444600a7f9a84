"""A game from one position on, grown where a depth-first walker looks: numbered nodes, each expanded once.

Equal positions are one node. A call of an engine costs the same for one position as for many, so a node is expanded
together with the siblings that it was found with.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from ggp.reasoner import Ints, Reasoner, States
from player.search.dag import LONGEST_FORCED, MOST_NODES, NOBODY, SEVERAL, Table, TextOrder
from player.search.utilities import scored

UNKNOWN = -3  # who moves, in a node that has not been expanded
BATCH = 1 << 12  # children of one engine call, roughly

Value = tuple[float, ...]


class Stopped(Exception):
    """Time, nodes or memory have run out: a search ends without an answer."""


class GameTree:
    """The positions that were met, as numbers; 0 is the root.

    >>> import ggp
    >>> tree = GameTree((reasoner := ggp.load("tic_tac_toe").reasoner()), reasoner.initial())
    >>> tree.children(0)[:3], tree.mover(0), tree.mover(3), len(tree), tree.calls
    ([1, 2, 3], 0, 1, 82, 2)
    """

    def __init__(
        self, reasoner: Reasoner, root: States, *, chance: int | None = None, max_states: int = MOST_NODES
    ) -> None:
        self.reasoner = reasoner
        self.chance = chance
        self.max_states = max_states
        self.calls = 0  # of the engine
        self._table = Table(reasoner, root)
        self._terminal = bytearray()
        self._goals = np.zeros((64, len(reasoner.roles)))
        self._mover = array("b")
        self._parent = array("i")  # the node that it was found from
        self._first = array("q")  # of its edges
        self._count = array("i")
        self._child = array("i")  # of an edge
        self._joint = array("i")  # of an edge, a number for each role
        self._in_order = TextOrder(reasoner)
        self._add(root, reasoner.terminal(root), reasoner.goals(root), np.full(1, -1, np.int32))

    def __len__(self) -> int:
        return self._table.count

    def is_terminal(self, node: int) -> bool:
        return self._terminal[node] != 0

    def goals(self, node: int) -> Value:
        """What each role gets, 0 where the rules give it nothing."""
        return tuple(self._goals[node].tolist())

    def rows(self, nodes: list[int]) -> States:
        found: States = self._table.rows[nodes]
        return found

    def mover(self, node: int) -> int:
        """The role that chooses; NOBODY where there is one joint move or none, SEVERAL where roles choose at once."""
        if self._mover[node] == UNKNOWN:
            self._expand(node)
        return self._mover[node]

    def movers(self, node: int) -> list[int]:
        """The roles that choose."""
        joint = self.joints(node)
        return np.flatnonzero((joint[0] != joint).any(axis=0)).tolist() if len(joint) else []

    def children(self, node: int) -> list[int]:
        """One for each joint move, ordered by the moves as GDL text."""
        if self._mover[node] == UNKNOWN:
            self._expand(node)
        first = self._first[node]
        return self._child[first : first + self._count[node]].tolist()

    def joints(self, node: int) -> npt.NDArray[np.int32]:
        """(children, roles) the joint moves."""
        if self._mover[node] == UNKNOWN:
            self._expand(node)
        roles, first = len(self.reasoner.roles), self._first[node]
        flat = self._joint[first * roles : (first + self._count[node]) * roles]
        return np.array(flat, np.int32).reshape(-1, roles)

    def siblings(self, node: int) -> list[int]:
        """All that it was found with, itself among them."""
        return [node] if self._parent[node] < 0 else self.children(self._parent[node])

    def passed(self, node: int) -> int:
        """The node, or where nobody has a choice, the first one after it where somebody has or the game is over."""
        for _ in range(LONGEST_FORCED):
            if self._terminal[node] or self.mover(node) != NOBODY:
                break
            node = self._child[self._first[node]]
        return node

    def _expand(self, node: int) -> None:
        if self._terminal[node]:
            self._mover[node] = NOBODY
            return
        siblings = self.siblings(node)
        open_ = [other for other in siblings if self._mover[other] == UNKNOWN and not self._terminal[other]]
        nodes = np.array([node, *(other for other in dict.fromkeys(open_) if other != node)])
        nodes = nodes[: max(1, BATCH // len(siblings))]
        self.calls += 1
        found = self._in_order(self.reasoner.expand(self._table.rows[nodes]))
        begins = np.flatnonzero(np.diff(found.parents, prepend=-1))
        ends = np.append(begins[1:], len(found.parents))
        chooses = (
            found.joint[begins] != found.joint[ends - 1]
        )  # products: first and last differ wherever there is choice
        several = np.where(chooses.sum(axis=1) > 1, SEVERAL, chooses.argmax(axis=1))
        movers = np.where(chooses.any(axis=1), several, NOBODY)
        edges = len(self._child)
        ids = self._add(found.states, found.terminal, found.goals, nodes[found.parents])
        for row in nodes[np.bincount(found.parents, minlength=len(nodes)) == 0].tolist():
            self._terminal[row] = 1  # nobody can move: broken rules, but an end
        for row, mover, begin, end in zip(
            nodes[found.parents[begins]].tolist(), movers.tolist(), begins.tolist(), ends.tolist(), strict=True
        ):
            self._mover[row], self._first[row], self._count[row] = mover, edges + begin, end - begin
        self._joint.frombytes(np.ascontiguousarray(found.joint, np.int32).tobytes())
        self._child.frombytes(ids.tobytes())

    def _add(
        self, states: States, terminal: npt.NDArray[np.bool_], goals: Ints, parents: npt.NDArray[np.int64 | np.int32]
    ) -> npt.NDArray[np.int32]:
        """The numbers of these positions; new ones get the next."""
        if self._table.count + len(states) > self.max_states:
            raise Stopped(f"more than {self.max_states} positions")
        ids, fresh = self._table.number(states)
        count = self._table.count
        if count > len(self._goals):
            self._goals = np.concatenate([self._goals, np.zeros((count, self._goals.shape[1]))])
        self._goals[count - len(fresh) : count] = scored(goals[fresh])
        self._terminal += terminal[fresh].astype(np.uint8).tobytes()
        self._parent.frombytes(parents[fresh].astype(np.int32).tobytes())
        self._mover.frombytes(np.full(len(fresh), UNKNOWN, np.int8).tobytes())
        self._first.frombytes(bytes(8 * len(fresh)))
        self._count.frombytes(bytes(4 * len(fresh)))
        return ids
