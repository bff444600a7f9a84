"""Heuristics given by bundled games, in their own words. One for another game is an entry in `RECIPES`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import ggp

OTHERS = ""  # in `Weights`: every role that is not named

Weights = Mapping[str, float]  # role → points, of the 100 that a goal has at most


@dataclass(frozen=True)
class Recipe:
    """How a game's positions are valued: a sum over the facts that hold, and over pairs of them.

    `facts` has for a relation what a fact of it adds, as a function of its arguments; `pairs` likewise for two
    relations and the arguments of both, for two facts that hold at the same time. What is left out adds nothing.
    """

    base: float = 0.0
    facts: Mapping[str, Callable[..., Weights]] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Callable[..., Weights]] = field(default_factory=dict)
    bounds: tuple[float, float] = (0.0, 100.0)
    distinguishing: bool = False  # see `Heuristic`


def _duel(role: str, points: float) -> Weights:
    """What one has gained the other has lost."""
    return {role: points, OTHERS: -points}


FARTHEST = 19  # steps from the three holes of a start to the camp


def _to_camp(role: str, hole: str) -> int:
    """Steps from a hole of Chinese Checkers to the nearest of the camp, on the empty board."""
    camp = {"red": ("i3", "h3", "h4"), "green": ("c3", "c4", "d3"), "blue": ("c9", "c8", "d8")}[role]
    offsets = [(ord(hole[0]) - ord(end[0]), int(hole[1]) - int(end[1])) for end in camp]
    return min(max(abs(rows), abs(columns), abs(rows + columns)) for rows, columns in offsets)


def _piece(size: int) -> Callable[[str, str, str], Weights]:
    """A piece of Breakthrough: one that has arrived decides, the others count more the farther they are."""

    def weigh(_x: str, y: str, role: str) -> Weights:
        advance = (int(y) - 1 if role == "white" else size - int(y)) / (size - 1)
        return _duel(role, 100 if advance == 1 else 50 / (4 * size) * (1 + advance**2))

    return weigh


def _runner(role: str, row: str, _column: str) -> Weights:
    return _duel(role, 100 if row == "e" else 8 * (ord(row) - ord("a")))


def _detour(role: str, row: str, column: str, walled: str, site: str, first: str, _last: str) -> Weights:
    """Steps to the side to the door of a wall ahead; the nearest wall counts most, as the next may turn one back."""
    if role != walled or row > site:
        return {}
    door = 3 if first == "1" else 1
    return _duel(role, -8 * abs(int(column) - door) / 2 ** (ord(site) - ord(row)))


@cache
def _maze() -> dict[tuple[int, int], dict[tuple[int, int], int]]:
    """Steps from each cell of Mummy Maze to each other."""
    walls = {tuple(map(str, (rule.head.name, *rule.head.args))) for rule in ggp.load("mummy_maze").rules}
    cells = [(x, y) for x in range(1, 9) for y in range(1, 9)]

    def beside(x: int, y: int) -> list[tuple[int, int]]:
        ways = {
            (x + 1, y): ("wall_east", x, y),
            (x - 1, y): ("wall_east", x - 1, y),
            (x, y + 1): ("wall_north", x, y),
            (x, y - 1): ("wall_north", x, y - 1),
        }
        return [cell for cell, wall in ways.items() if cell in cells and tuple(map(str, wall)) not in walls]

    steps = {}
    for start in cells:
        steps[start] = {start: 0}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for cell in beside(*here):
                if cell not in steps[start]:
                    steps[start][cell] = steps[start][here] + 1
                    queue.append(cell)
    return steps


def _escape(role: str, x: str, y: str, other: str, u: str, v: str) -> Weights:
    """Who is nearer: the explorer to the exit, or the mummy, which makes two steps at a time, to the explorer?"""
    if (role, other) != ("explorer", "mummy"):
        return {}
    explorer, mummy, ways = (int(x), int(y)), (int(u), int(v)), _maze()
    chase, flight = ways[mummy][explorer], 2 * ways[explorer][3, 8]
    return _duel("explorer", 100 * chase / (chase + flight) - 50 if chase else -50)


def _hunt(role: str, x: str, y: str, other: str, u: str, v: str) -> Weights:
    distance = abs(int(x) - int(u)) + abs(int(y) - int(v))
    return _duel("prey", 25 / 8 * distance) if role == "prey" != other else {}


def _tile(row: str, column: str, tile: str) -> Weights:
    if tile == "b":
        return {}
    home = divmod(int(tile) - 1, 3)
    return {"player": -4 * (abs(int(row) - 1 - home[0]) + abs(int(column) - 1 - home[1]))}


def _lines(column: str, row: str, role: str) -> Weights:
    """How many lines of Connect Four lead through the cell."""
    c, r = int(column), int(row)
    lines = 0
    for dc, dr in ((1, 0), (0, 1), (1, 1), (1, -1)):
        for back in range(4):
            ends = [(c + k * dc, r + k * dr) for k in (-back, 3 - back)]
            lines += all(1 <= x <= 7 and 1 <= y <= 6 for x, y in ends)
    return _duel(role, 50 / 138 * lines)


ROOM = 2.0  # points for a border of one's own land on free land


def _land(x: str, y: str, role: str) -> Weights:
    return {role: 4 + ROOM * sum(1 <= int(a) + d <= 5 for a in (x, y) for d in (-1, 1))}


def _shut(x: str, y: str, role: str, u: str, v: str, _other: str) -> Weights:
    beside = abs(int(x) - int(u)) + abs(int(y) - int(v)) == 1
    return {role: -ROOM} if beside else {}


PIECES = {"pawn": 1, "knight": 3, "bishop": 3, "rook": 5, "queen": 9, "king": 0}

RECIPES = {
    "breakthrough": Recipe(50, {"cell": _piece(8)}, distinguishing=True),
    "breakthrough_5x5": Recipe(50, {"cell": _piece(5)}, distinguishing=True),
    # The distance of the pieces to their camp, as in the Max-Prob paper. When the moves are used up only who is home
    # counts.
    "chinese_checkers_3p": Recipe(
        100,
        {"at": lambda hole, role: {role: -100 / FARTHEST * _to_camp(role, hole)}},
        {
            ("step", "at"): lambda step, hole, role: (
                {role: 100 / FARTHEST * away - 100 / 3} if step == "91" and (away := _to_camp(role, hole)) else {}
            )
        },
        distinguishing=True,
    ),
    "connect_four": Recipe(50, {"cell": _lines}),
    "eight_puzzle": Recipe(100, {"cell": _tile}),
    "gardner_minichess": Recipe(50, {"at": lambda square, role, kind: _duel(role, 50 / 30 * PIECES[kind])}),
    # A card is worth the points that it may still win: the cards add up to as much as the prizes.
    "goofspiel": Recipe(
        50,
        {
            "points": lambda role, points: _duel(role, 50 / 15 * int(points)),
            "holds": lambda role, card: _duel(role, 50 / 15 * int(card)),
        },
        distinguishing=True,
    ),
    "land_grab_4p": Recipe(0, {"cell": _land}, {("cell", "cell"): _shut}, bounds=(4, 88), distinguishing=True),
    "mummy_maze": Recipe(50, {}, {("at", "at"): _escape}),
    # The points of this turn count as if they were safe.
    "pig_dice": Recipe(
        50,
        {"safe": lambda role, points: _duel(role, 50 / 21 * int(points))},
        {
            ("turn", "safe"): lambda role, n, other, points: _duel(role, -50 / 21 * int(points) * (role == other)),
            ("turn", "total"): lambda role, n, points: _duel(role, 50 / 21 * int(points)),
        },
        distinguishing=True,
    ),
    "pursuit": Recipe(50, {"caught": lambda: _duel("prey", -100)}, {("at", "at"): _hunt}, distinguishing=True),
    "racetrack": Recipe(50, {"at": _runner}, {("at", "wall"): _detour}),
    "racetrack_simultaneous": Recipe(50, {"at": _runner}, {("at", "wall"): _detour}),
}
