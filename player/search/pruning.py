"""The depth-first walker that prunes: maxⁿ and paranoid, with tables, move ordering and node counts.

maxⁿ is pruned with `maxsum`, the most that all scores can sum to, and `lower`, the least that each can be. A mover on
the path has a bound: what it gets at least by what it has searched. A value that is backed up to some ancestor's child
is worth its bound or more to every mover on the way, so that the ancestor gets at most maxsum less their sum. Where
that is no more than its own bound, it will not take it, and the node can be cut. If the ancestor is the parent,
that is shallow pruning (Korf 1991). If it is further up, the movers between may yet choose what was cut, or else
something that the ancestor would take, and the cut is speculative (Sturtevant 2003): a mover between that ends with a
value which those above would take looks again at what was cut below it. Bounds reach up until all players are among
them: n − 1 plies where players move in turn. Approximate deep maxⁿ (Sturtevant 2004) uses the bounds of the whole path
and never looks again: what it has found when it cuts a node is the node's value. For two players that is alpha-beta.

Every comparison knows which of two moves is first as GDL text and wins a tie, so that exact pruning keeps the root
value in any order of search, with ties too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ggp.match import Deadline
from ggp.reasoner import Floats, States
from player.search.dag import LONGEST_FORCED, NOBODY, SEVERAL, TOLERANCE
from player.search.tree import GameTree, Stopped, Value

PRUNING = ("none", "immediate", "shallow", "speculative", "deep")
MOST_PLIES = 300  # of a search without a depth: Python's stack
MOST_ENTRIES = 2_000_000  # of the tables
EXACT, AT_LEAST, AT_MOST = range(3)

Leaf = Callable[[States], Floats]
Ranker = Callable[[States, int], npt.ArrayLike]
V = TypeVar("V")


@dataclass(frozen=True)
class Found:
    """What a search found. A value has a number for each role; paranoid's has one, the searcher's."""

    value: Value
    line: tuple[tuple[int, ...], ...]  # joint moves, as far as tables tell; at least the root's, unless it is the end
    depth: float  # plies of real choices
    complete: bool  # every line that mattered was followed to its end
    visited: int  # nodes, as often as they were visited, of this search and those before it
    expanded: int  # those of them whose children were looked at
    again: int  # nodes that were cut and had to be looked at once more
    hits: int  # nodes that a table answered
    states: int  # positions that the engine gave

    @property
    def move(self) -> tuple[int, ...]:
        """The root's joint move."""
        return self.line[0] if self.line else ()


@dataclass(frozen=True, slots=True)
class Cut:
    """Instead of a value: whatever it is, the mover at level `owner` of the path will not take it if it gets there."""

    owner: int
    most: float  # that it can be worth to the mover of the parent


@dataclass(slots=True)
class Level:
    """One mover on the path."""

    mover: int
    best: Value | None = None
    place: int = -1  # of the best child, in the order of text
    bound: float = 0.0  # what the mover gets at least, above its lower bound
    at: int = 0  # place of the child that is being searched
    edge: int = -1  # to the best child

    def refuses(self, most: float) -> bool:
        """Whether the child that is being searched is not chosen if it is worth at most so much."""
        if self.best is None:
            return False
        return most <= self.bound + TOLERANCE if self.place < self.at else most < self.bound - TOLERANCE


@dataclass(frozen=True, slots=True)
class Entry:
    """What a table knows of a node."""

    value: Value
    kind: int  # EXACT, or what alpha-beta knows of it
    edge: int  # to the best child, −1: none
    height: float  # plies that must be left for it; inf: some were cut off at the depth


class DepthFirst:
    """Depth-first search of one tree for the role `me`.

    `pruning` is one of `PRUNING`; for paranoid all but "none" are alpha-beta. maxⁿ prunes only where `maxsum` is given.
    `order` says which children are searched first: "text", "history" (moves that were best elsewhere, Schaeffer 1989)
    or a ranker, odds(states, role) → (n, moves). `leaf` values positions at the depth: (n, roles).
    """

    def __init__(
        self,
        tree: GameTree,
        me: int = 0,
        rule: Literal["maxn", "paranoid"] = "maxn",
        *,
        pruning: str = "speculative",
        table: bool = True,
        order: Literal["text", "history"] | Ranker = "text",
        maxsum: float | None = None,
        lower: float | Sequence[float] = 0.0,
        leaf: Leaf | None = None,
        max_nodes: int | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        if rule not in ("maxn", "paranoid"):
            raise ValueError(f"rule {rule!r}: expected one of maxn, paranoid")
        if pruning not in PRUNING:
            raise ValueError(f"pruning {pruning!r}: expected one of {', '.join(PRUNING)}")
        if isinstance(order, str) and order not in ("text", "history"):
            raise ValueError(f"order {order!r}: expected text, history or a ranker")
        roles = len(tree.reasoner.roles)
        self.tree = tree
        self.me = me
        self.rule = rule
        self.pruning = "none" if maxsum is None and rule == "maxn" else pruning
        self.table = table
        self.order = order
        self.leaf = leaf
        self.max_nodes = inf if max_nodes is None else max_nodes
        self.deadline = deadline
        self.visited = self.expanded = self.again = self.hits = 0
        self._lower = [float(bound) for bound in np.broadcast_to(np.asarray(lower, np.float64), roles)]
        self._checked = maxsum is not None and self.pruning != "none"
        self._maxsum = inf if maxsum is None else maxsum
        self._room = self._maxsum - sum(self._lower) if self._checked else inf  # to share above the lower bounds
        self._worst = self._lower[me] if self._checked else -inf
        self._highest = self._room + self._lower[me]
        self._players = roles - (tree.chance is not None)
        self._leaves: dict[int, Value] = {}
        self._solved: dict[int, Entry] = {}  # what was followed to its end
        self._limited: dict[tuple[int, float], Entry] = {}  # what was cut off at the depth, by plies that were left
        self._history: list[dict[int, float]] = [{} for _ in range(roles)]
        self._path: list[Level] = []
        self._deepest: float = 0  # ply that was looked at; inf where the depth cut something off
        self._owner: float = inf  # highest on the path of those for whom something was cut
        self._edge = -1  # the root's

    def search(self, depth: float | None = None) -> Found:
        """The root's value and move, as deep as `depth` plies of real choices, or to the end."""
        limit = inf if depth is None else depth
        self._path = []
        self._deepest = 0
        self._edge = -1
        if self.rule == "maxn":
            value = self._maxn(0, limit, 0)
            assert not isinstance(value, Cut), "nobody above the root"
        else:
            value = (self._paranoid(0, limit, -inf, inf),)
        complete = self._deepest < inf
        line = tuple(self._line(limit))
        counts = (self.visited, self.expanded, self.again, self.hits, len(self.tree))
        return Found(value, line, limit, complete, *counts)

    def deepen(self, max_depth: float = inf) -> Found | None:
        """The deepest search that time and nodes allow; None where they do not even allow one ply."""
        found = None
        try:
            for depth in count(1):
                if depth > max_depth:
                    break
                found = self.search(depth)
                if found.complete:
                    break
        except Stopped:
            pass
        return found

    # maxⁿ

    def _maxn(self, node: int, left: float, reach: int) -> Value | Cut:
        """A node's value; or a cut for the good of a mover on the path, at level `reach` or below."""
        level = len(self._path)
        node = self._arrived(node, left)
        if self.tree.is_terminal(node):
            return self._sound(self.tree.goals(node))
        if left == 0:
            self._deepest = inf
            return self._at_depth(node)
        if (entry := self._known(node, left)) is not None:
            return self._taken(entry, level).value
        outer, self._deepest = self._deepest, level + 1
        outer_owner, self._owner = self._owner, inf
        found = self._chosen(node, left, reach)
        here = self._path.pop()
        if level == 0:
            self._edge = here.edge
        if not isinstance(found, Cut) and self._owner >= level:
            self._keep(node, left, Entry(found, EXACT, here.edge, self._deepest - level))
        self._deepest = max(outer, self._deepest)
        self._owner = min(outer_owner, self._owner)
        return found

    def _chosen(self, node: int, left: float, reach: int) -> Value | Cut:
        """Leaves its level on the path."""
        level = len(self._path)
        mover, options = self._options(node)
        here = Level(mover)
        self._path.append(here)
        self.expanded += 1
        if mover == self.tree.chance:
            return self._expected(options[0], left)
        children = self.tree.children(node)
        moves = self.tree.joints(node)[:, mover].tolist()
        cuts: list[tuple[int, Cut]] = []  # places that were cut for somebody above
        waiting = list(self._ordered(node, mover, [moves[option[0]] for option in options], left))
        waiting.reverse()
        while True:
            if waiting:
                here.at, again = waiting.pop(), reach
                if here.refuses(self._room):
                    continue  # immediate pruning
            else:
                cuts = [(here.at, cut) for here.at, cut in cuts if not here.refuses(cut.most)]
                if not cuts:
                    break
                owner = min(cut.owner for _, cut in cuts)
                if here.best is None or self._refused(here.best, owner):
                    return Cut(owner, self._most(level))
                here.at, again = next((place, owner + 1) for place, cut in cuts if cut.owner == owner)
                cuts = [(place, cut) for place, cut in cuts if place != here.at]
                self.again += 1
            option = options[here.at]
            if len(option) == 1:
                found = self._maxn(children[option[0]], left - 1, again)
            else:
                found = self._expected([children[edge] for edge in option], left)
            if isinstance(found, Cut):
                if found.owner < level:
                    cuts.append((here.at, found))
                continue
            worth = found[mover] - self._lower[mover]
            if here.best is None or worth > here.bound + TOLERANCE:
                better = True
            else:
                better = here.at < here.place and worth >= here.bound - TOLERANCE
            if better:
                here.best, here.place, here.bound, here.edge = found, here.at, worth, option[0]
                if (cut := self._cut(reach)) is not None:
                    self._praise(mover, moves[option[0]])
                    if self.pruning != "deep":
                        return cut
                    self._owner = min(self._owner, cut.owner)
                    return found
        assert here.best is not None, "what is cut for nobody above is refused for something better"
        self._praise(mover, moves[options[here.place][0]])
        return here.best

    def _expected(self, children: Sequence[int], left: float) -> Value:
        """What chance makes of these; bounds do not reach through it."""
        total = np.zeros(len(self._lower))
        for child in children:
            value = self._maxn(child, left - 1, len(self._path))
            assert not isinstance(value, Cut)
            total += value
        return tuple((total / len(children)).tolist())

    def _cut(self, reach: int) -> Cut | None:
        """A cut of the last node on the path, if its mover and others up to level `reach` have got enough."""
        if self.pruning in ("none", "immediate"):
            return None
        path, last = self._path, len(self._path) - 1
        bounds = {path[last].mover: path[last].bound}
        for level in range(last - 1, reach - 1, -1):
            above = path[level]
            most = self._room - sum(bound for mover, bound in bounds.items() if mover != above.mover)
            if above.refuses(most) and (self.pruning == "deep" or self._quiet(level)):
                return Cut(level, self._most(last))
            bounds[above.mover] = max(bounds.get(above.mover, 0.0), above.bound)
            if self.pruning == "shallow" or (self.pruning == "speculative" and len(bounds) == self._players):
                break
        return None

    def _quiet(self, level: int) -> bool:
        """Whether no mover between this level and the last has a value so far that this one would take."""
        above = self._path[level]
        between = [path.best for path in self._path[level + 1 : -1] if path.best is not None]
        return all(above.refuses(best[above.mover] - self._lower[above.mover]) for best in between)

    def _refused(self, value: Value, owner: int) -> bool:
        """Whether somebody above the last level, up to the owner's, will not take this value."""
        above = self._path[owner:-1]
        return any(level.refuses(value[level.mover] - self._lower[level.mover]) for level in above)

    def _most(self, level: int) -> float:
        """What a node on the path can be worth at most to the mover of its parent."""
        here = self._path[level]
        return self._room - here.bound if level and self._path[level - 1].mover != here.mover else self._room

    def _options(self, node: int) -> tuple[int, list[list[int]]]:
        """Who chooses, and the edges that each choice leads to: several where chance moves at the same time."""
        mover = self.tree.mover(node)
        edges = range(len(self.tree.children(node)))
        if mover == self.tree.chance:
            return mover, [self.tree.children(node)]
        if mover != SEVERAL:
            return mover, [[edge] for edge in edges]
        movers = [role for role in self.tree.movers(node) if role != self.tree.chance]
        if len(movers) > 1:
            roles = ", ".join(self.tree.reasoner.roles[role] for role in movers)
            raise ValueError(f"pruning needs turns, here {roles} move at the same time")
        options = _grouped(edges, self.tree.joints(node)[:, movers[0]].tolist())
        return movers[0], options

    # paranoid

    def _paranoid(self, node: int, left: float, alpha: float, beta: float) -> float:
        """What the searcher gets; no more than that where it is at most alpha, no less where it is at least beta."""
        level = len(self._path)
        node = self._arrived(node, left)
        if self.tree.is_terminal(node):
            return self._sound(self.tree.goals(node))[self.me]
        if left == 0:
            self._deepest = inf
            return self._at_depth(node)[self.me]
        if (entry := self._known(node, left)) is not None:
            (value,), kind = entry.value, entry.kind
            if kind == EXACT or (value >= beta if kind == AT_LEAST else value <= alpha):
                self._taken(entry, level)
                return value
        outer, self._deepest = self._deepest, level + 1
        self._path.append(Level(self.me))
        value, edge = self._answered(node, left, alpha, beta)
        self._path.pop()
        if level == 0:
            self._edge = edge
        kind = AT_MOST if value <= alpha else AT_LEAST if value >= beta else EXACT
        if value <= self._worst or value >= self._highest:
            kind = EXACT
        self._keep(node, left, Entry((value,), kind, edge, self._deepest - level))
        self._deepest = max(outer, self._deepest)
        return value

    def _answered(self, node: int, left: float, alpha: float, beta: float) -> tuple[float, int]:
        """The searcher's best if the others know its move and answer with what is worst for it; then chance moves."""
        self.expanded += 1
        children, joints = self.tree.children(node), self.tree.joints(node).tolist()
        mover, root = self.tree.mover(node), len(self._path) == 1
        best, edge, best_place = -inf, -1, -1
        prunes = self.pruning != "none"
        plans = _grouped(range(len(children)), [joint[self.me] for joint in joints])
        mine: Sequence[int] = range(len(plans))
        if mover == self.me:
            mine = self._ordered(node, mover, [joints[plan[0]][mover] for plan in plans], left)
        for place in mine:
            if prunes and best >= self._highest and (place > best_place or not root):
                continue
            floor = max(alpha, best)
            if root and place < best_place:
                floor -= 2 * TOLERANCE  # so that a tie shows
            answers = self._answers(plans[place], joints)
            worst, answer, worst_place = inf, -1, -1
            theirs: Sequence[int] = range(len(answers))
            if mover not in (self.me, SEVERAL, self.tree.chance):
                theirs = self._ordered(node, mover, [joints[edges[0]][mover] for edges in answers], left)
            for reply in theirs:
                edges = answers[reply]
                if len(edges) > 1:
                    value = sum(self._paranoid(children[e], left - 1, -inf, inf) for e in edges) / len(edges)
                else:
                    window = (floor, min(beta, worst)) if prunes else (-inf, inf)
                    value = self._paranoid(children[edges[0]], left - 1, *window)
                if value < worst - TOLERANCE or (reply < worst_place and value <= worst + TOLERANCE):
                    worst, answer, worst_place = value, edges[0], reply
                if prunes and worst <= max(floor, self._worst):
                    break
            if worst > best + TOLERANCE or (place < best_place and worst >= best - TOLERANCE):
                best, edge, best_place = worst, answer, place
            if prunes and best >= beta:
                break
        if mover >= 0 and mover != self.tree.chance:
            self._praise(mover, joints[edge][mover])
        return best, edge

    def _answers(self, plan: list[int], joints: list[list[int]]) -> list[list[int]]:
        """The edges of one move of the searcher by what the others answer; those that differ in chance are together."""
        if len(plan) == 1:
            return [plan]
        hidden = (self.me, self.tree.chance)
        return _grouped(plan, [[m for role, m in enumerate(joints[edge]) if role not in hidden] for edge in plan])

    # what both need

    def _arrived(self, node: int, left: float) -> int:
        """Counts the visit, and passes by what is no choice."""
        self.visited += 1
        if self.visited > self.max_nodes:
            raise Stopped(f"more than {self.max_nodes} nodes")
        if self.deadline is not None and self.visited % 16 == 0 and self.deadline.passed:
            raise Stopped("time is up")
        if len(self._path) > MOST_PLIES:
            raise ValueError(f"the game goes on after {MOST_PLIES} plies: expected a depth")
        if not left:
            return node
        passed = self.tree.passed(node)
        if passed != node:  # which takes a ply that is left
            self._deepest = max(self._deepest, len(self._path) + 1)
        return passed

    def _at_depth(self, node: int) -> Value:
        if node not in self._leaves:
            if self.leaf is None:
                raise ValueError("the game goes on below the depth: expected a leaf function")
            if self.deadline is not None and self.deadline.passed:
                raise Stopped("time is up")
            fresh = [n for n in self.tree.siblings(node) if n not in self._leaves and not self.tree.is_terminal(n)]
            values = np.asarray(self.leaf(self.tree.rows(fresh)), np.float64)
            self._leaves.update(zip(fresh, map(tuple, values.tolist()), strict=True))
        return self._sound(self._leaves[node])

    def _sound(self, value: Value) -> Value:
        if self._checked and (
            sum(value) > self._maxsum + 1e-6 or any(v < low - 1e-6 for v, low in zip(value, self._lower, strict=True))
        ):
            raise ValueError(f"value {value}: expected at least {self._lower} and a sum of at most {self._maxsum}")
        return value

    def _known(self, node: int, left: float) -> Entry | None:
        if not self.table:
            return None
        entry = self._solved.get(node)
        if entry is not None and entry.height <= left:
            return entry
        return self._limited.get((node, left))

    def _taken(self, entry: Entry, level: int) -> Entry:
        self.hits += 1
        self._deepest = max(self._deepest, level + entry.height)
        if level == 0:
            self._edge = entry.edge
        return entry

    def _keep(self, node: int, left: float, entry: Entry) -> None:
        if not self.table or len(self._solved) + len(self._limited) >= MOST_ENTRIES:
            return
        if entry.height < inf:
            self._solved[node] = entry
        else:
            self._limited[node, left] = entry

    def _ordered(self, node: int, mover: int, moves: list[int], left: float) -> Sequence[int]:
        """The places of the mover's choices in the order in which they are searched."""
        places = range(len(moves))
        if self.order == "text":
            return places
        if callable(self.order):
            odds = np.asarray(self.order(self.tree.rows([node]), mover)).reshape(-1)
            return sorted(places, key=lambda place: -odds[moves[place]])
        history = self._history[mover]
        entry = self._limited.get((node, left - 1)) or self._solved.get(node)
        first = moves[entry.edge] if entry is not None and 0 <= entry.edge < len(moves) else -1
        return sorted(places, key=lambda place: (moves[place] != first, -history.get(moves[place], 0.0)))

    def _praise(self, mover: int, move: int) -> None:
        """A move that was best counts twice as much as one a ply below."""
        history = self._history[mover]
        history[move] = history.get(move, 0.0) + 2.0 ** (1 - len(self._path))

    def _line(self, left: float) -> Iterable[tuple[int, ...]]:
        """The joint moves that follow from the root's choice and from what tables know."""
        node, edge = 0, self._edge
        for _ in range(LONGEST_FORCED):
            if not left or self.tree.is_terminal(node):
                break
            forced = self.tree.mover(node) == NOBODY
            if not forced and edge < 0:
                break
            taken = 0 if forced else edge
            yield tuple(self.tree.joints(node)[taken].tolist())
            node = self.tree.children(node)[taken]
            if not forced:
                left -= 1
                entry = self._known(self.tree.passed(node), left) if left else None
                edge = entry.edge if entry is not None and entry.kind == EXACT else -1


def _grouped(edges: Iterable[int], by: Sequence[object]) -> list[list[int]]:
    """The edges, those alike together, in the order of the first of each kind."""
    groups: dict[object, list[int]] = {}
    for edge, key in zip(edges, by, strict=True):
        groups.setdefault(tuple(key) if isinstance(key, list) else key, []).append(edge)
    return list(groups.values())
