"""Boards found among facts: which relations are cells, how large the board is, and what stands where.

Nothing is known about the game but its facts and, where given, its rules. A relation is a board if two of its arguments
are coordinates (1…8, a…h, c1…c8, or both in one symbol as in `b3`). What else it says is the content of the cell; a
further coordinate makes layers. A lone board also gets the walls and the marked cells that other relations tell of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from ggp.domains import domains
from ggp.terms import Fact, Variable, subterms

if TYPE_CHECKING:
    from ggp.game import Game

BLANKS = frozenset({"blank", "empty", "none", "nothing", "free", "_", "-"})
SHORT_BLANKS = frozenset({"b", "e"})  # they may also be black, bishop or east
WALL = re.compile("wall|blocked", re.IGNORECASE)
DIRECTION = re.compile("(north|up|south|down|east|right|west|left)$", re.IGNORECASE)
STEPS = {"east": (1, 0), "right": (1, 0), "west": (-1, 0), "left": (-1, 0)} | {
    "north": (0, -1), "up": (0, -1), "south": (0, 1), "down": (0, 1),
}  # fmt: skip
LANDMARKS = frozenset({"exit"})  # relations of the rules, not of the state, that are worth drawing
MAX_AXIS = 50
MAX_LAYERS = 16

Row = tuple[str, ...]  # a fact's arguments as text
Place = tuple[str, str]  # column, row


@dataclass(frozen=True)
class Board:
    """One board: `columns` from left to right, `rows` from top to bottom.

    `cells[column, row]` lists what stands there, each content as the symbols of its fact; nothing stands on an empty
    cell, and a cell that is not part of the board has no entry. `layer` is the rest of its address, if it has one.
    `walls` are pairs of neighbours, the left or upper one first.
    """

    relation: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: Mapping[Place, tuple[Row, ...]]
    contents: tuple[frozenset[str], ...]  # what can stand in a cell, symbol by symbol
    layer: Row = ()
    landmarks: frozenset[str] = frozenset()  # contents from other relations
    walls: frozenset[tuple[Place, Place]] = frozenset()


@dataclass(frozen=True)
class Picture:
    """A position as boards, and the facts that are on none of them."""

    boards: tuple[Board, ...]
    others: tuple[Fact, ...]


def picture(facts: Collection[Fact], game: Game | None = None) -> Picture:
    """The boards among the facts. With the game, boards have their full size even while they are empty."""
    rows: dict[str, list[Row]] = {}
    for fact in facts:
        rows.setdefault(fact.name, []).append(tuple(map(str, fact.args)))
    known = _known(game)
    layouts: list[_Layout] = []
    for name in sorted({*rows, *known}):
        arities = {len(row) for row in rows.get(name, ())} or {len(known[name])}
        values = known.get(name) or [set() for _ in range(max(arities))]
        if arities == {len(values)} and not WALL.search(name):
            layouts += filter(None, [_layout(name, rows.get(name, []), values, game)])
    drawn = [layout for layout in layouts if not _minor(layout, layouts)]
    boards = [board for layout in drawn for board in layout.boards()]
    used = {layout.relation for layout in drawn}
    if len(boards) == 1:
        rest = {name: found for name, found in rows.items() if name not in used}
        boards[0], furniture = _furnished(boards[0], rest, _fixed(game), x_first=drawn[0].column < drawn[0].row)
        used |= furniture
    return Picture(tuple(boards), tuple(sorted((fact for fact in facts if fact.name not in used), key=_natural)))


def _known(game: Game | None) -> dict[str, list[set[str]]]:
    """What each argument of each fact can be: as declared by `base`, else as far as the rules can be followed."""
    places = domains(game.rules) if game else {}
    found: dict[str, dict[int, set[str]]] = {}
    for kind in ("base", "true"):
        arguments: dict[str, dict[int, set[str]]] = {}
        for place, values in places.items():
            if place[0] == kind and len(place) == 3:
                arguments.setdefault(str(place[1]), {})[int(place[2])] = set(values)
        found = arguments | found
    return {name: [args.get(i, set()) for i in range(max(args) + 1)] for name, args in found.items()}


def _fixed(game: Game | None) -> dict[str, list[Row]]:
    """The facts that the rules state once and for all."""
    found: dict[str, list[Row]] = {}
    for rule in game.rules if game else ():
        if not rule.body:
            found.setdefault(rule.head.name, []).append(tuple(map(str, rule.head.args)))
    return found


def _natural(fact: Fact) -> tuple[str, list[tuple[int, str]]]:
    """Sorts by relation, and numbers by value: 2 before 10."""
    return fact.name, [(int(number or 0), text) for number, text in re.findall(r"(\d{1,18})|(\D+|\d+)", str(fact))]


# Coordinates


def axis(values: Collection[str]) -> tuple[str, ...]:
    """The values as one ascending range without gaps, `()` where they are no coordinates.

    >>> axis({"a", "d"}), axis({"c2", "c3"}), axis({"x", "o"})
    (('a', 'b', 'c', 'd'), ('c1', 'c2', 'c3'), ())
    """
    if len(values) < 2:
        return ()
    if all(len(v) == 1 and "a" <= v <= "z" for v in values):
        last = ord(max(values)) - ord("a")
        most = 3 * len(values) if "a" in values else 2 * len(values) - 1
        return tuple(chr(ord("a") + i) for i in range(last + 1)) if last < most else ()
    found = [m.groups() for v in values if (m := re.fullmatch(r"([A-Za-z_]{0,4})(\d{1,3})", v, re.ASCII))]
    if len(found) < len(values) or len({prefix for prefix, _ in found}) > 1:
        return ()
    numbers = {int(digits) for _, digits in found}
    low, high = min(1, *numbers), max(numbers)
    if high - low >= min(4 * len(numbers), MAX_AXIS):
        return ()
    pad = min(len(digits) for _, digits in found)
    return tuple(f"{found[0][0]}{i:0{pad}}" for i in range(low, high + 1))


def _split(values: Collection[str]) -> dict[str, Place]:
    """Symbols that are both coordinates at once: b3 → b, 3. Empty if not all of them are."""
    found = {v: (m[1], m[2]) for v in values if (m := re.fullmatch(r"([a-z])(\d\d?)", v, re.ASCII))}
    both = len(found) == len(values) and axis({a for a, _ in found.values()}) and axis({b for _, b in found.values()})
    return found if both else {}


# Which arguments are what


@dataclass(frozen=True)
class _Layout:
    """A relation seen as a board: which arguments are column, row, layer and content."""

    relation: str
    facts: list[Row]
    values: list[set[str]]  # per argument, what can stand there
    column: int
    row: int
    layer: tuple[int, ...]
    content: tuple[int, ...]
    downwards: bool  # whether row 1 is at the top
    shape: frozenset[Place]  # the cells of a board that is no rectangle

    def boards(self) -> Iterator[Board]:
        columns, rows = axis(self.values[self.column]), axis(self.values[self.row])
        blanks = [_blanks(self.values[i]) for i in self.content]
        contents = tuple(frozenset(self.values[i] - blank) for i, blank in zip(self.content, blanks, strict=True))
        for layer in product(*(axis(self.values[i]) or sorted(self.values[i]) for i in self.layer)):
            # Where blanks are facts, a cell without a fact is not part of the board.
            empty: Iterable[Place] = () if any(blanks) else self.shape or product(columns, rows)
            cells: dict[Place, tuple[Row, ...]] = dict.fromkeys(empty, ())
            for fact in sorted(self.facts):
                if tuple(fact[i] for i in self.layer) == layer:
                    place = fact[self.column], fact[self.row]
                    symbols = [fact[i] for i in self.content if fact[i] not in _blanks(self.values[i])]
                    content = tuple(symbols) if self.content else (self.relation,)
                    cells[place] = (*cells.get(place, ()), *filter(None, [content]))
            down = rows if self.downwards else rows[::-1]
            yield Board(self.relation, columns, down, cells, contents or (frozenset({self.relation}),), layer)


def _blanks(values: set[str]) -> frozenset[str]:
    """Those of the contents of a cell that say that it is empty."""
    blanks = frozenset(v for v in values if v.lower() in BLANKS)
    if not blanks and not values <= {"b", "w"} and values.isdisjoint({"n", "s"}):
        blanks = SHORT_BLANKS & values
    return blanks


def _layout(name: str, facts: list[Row], known: list[set[str]], game: Game | None) -> _Layout | None:
    seen = [{fact[i] for fact in facts} for i in range(len(known))]
    # The rules may allow too much (or nothing, inside functions); then what is there has to do.
    values = [k | s if axis(k | s) or _split(k | s) or not axis(s) else s for k, s in zip(known, seen, strict=True)]
    names = _variable_names(name, len(values), game)
    shape: frozenset[Place] = frozenset()
    for i in reversed(range(len(values))):
        if split := _split(values[i]):
            facts = [(*fact[:i], *split[fact[i]], *fact[i + 1 :]) for fact in facts]
            values[i : i + 1] = [{a for a, _ in split.values()}, {b for _, b in split.values()}]
            names[i : i + 1] = ["", ""]
            shape = frozenset(split.values())
    ordered = [i for i, v in enumerate(values) if axis(v)]
    plain = [i for i in range(len(values)) if i not in ordered]
    if not 2 <= len(ordered) <= 5 or any("(" in v for i in plain for v in values[i]):
        return None
    if not plain and len(ordered) == 2 and not _scattered(facts):
        return None
    if not plain and len(ordered) > 2:
        plain = [_value_argument(facts, values, ordered)]
        ordered.remove(plain[0])
        if len(ordered) > 2 and 2 * len(facts) < _size(values, ordered):
            return None  # a relation between numbers, such as an edge from 1 2 to 1 3
    pair = _pair(ordered, values)
    layer = [i for i in ordered if i not in pair]
    if _is_key(facts, pair) and not _sparse_layers(facts, values, pair, layer):
        layer = []
    if len(plain) > 1 and not _is_key(facts, [*pair, *layer]):
        layer += next(([i] for i in plain if _is_key(facts, [*pair, *layer, i])), [])
    for i in layer:
        if len(values[i]) > MAX_LAYERS:  # the rules count on and on: take the layers that there are
            values[i] = {fact[i] for fact in facts}
    content = tuple(i for i in range(len(values)) if i not in pair and i not in layer)
    if _size(values, layer) > MAX_LAYERS or (layer and not content):
        return None
    column, row, downwards = _oriented(pair, values, names, nested=len(layer) > 1)
    return _Layout(name, facts, values, column, row, tuple(layer), content, downwards, shape)


def _pair(ordered: list[int], values: list[set[str]]) -> list[int]:
    """The two arguments that span the grid: the last two of four, the two that are alike, or the first two."""
    if len(ordered) >= 4:
        return ordered[2:4]
    if len(ordered) == 3:
        a, b, c = ordered
        if values[a] != values[b] and (values[b] == values[c] or values[a].isdisjoint(values[b])):
            return [b, c]
    return ordered[:2]


def _size(values: list[set[str]], places: Iterable[int]) -> int:
    return prod(len(axis(values[i]) or values[i]) for i in places)


def _is_key(facts: list[Row], places: Sequence[int]) -> bool:
    return len({tuple(fact[i] for i in places) for fact in facts}) == len(facts)


def _sparse_layers(facts: list[Row], values: list[set[str]], pair: list[int], extra: list[int]) -> bool:
    """Whether further coordinates are layers although there are too few facts to tell."""
    return 2 * len(facts) < _size(values, pair) and all(len(values[i]) <= 4 for i in extra)


def _value_argument(facts: list[Row], values: list[set[str]], ordered: list[int]) -> int:
    """Where all arguments are numbers: the one that the others determine and leave the fewest cells empty."""

    def emptiness(i: int) -> tuple[bool, int, int]:
        rest = [j for j in ordered if j != i]
        return not _is_key(facts, rest), _size(values, rest), -i

    return min(ordered, key=emptiness)


def _scattered(facts: list[Row]) -> bool:
    """Whether pairs of coordinates are marks on a board rather than a table of values."""
    return len(facts) > 4 and not _is_key(facts, [0]) and not _is_key(facts, [1])


def _minor(layout: _Layout, layouts: list[_Layout]) -> bool:
    """Whether a relation only adds a few facts to a board that is drawn anyway: they read better as a list."""
    boards = [other for other in layouts if other.content and other is not layout]
    if not layout.content:
        return bool(boards)
    return len(layout.facts) < 5 and any(len(other.facts) > 4 * max(1, len(layout.facts)) for other in boards)


def _variable_names(name: str, arity: int, game: Game | None) -> list[str]:
    """The first letter of what the rules mostly call each argument: `?row` or `?x` says how the author draws it."""
    names = [Counter[str]({"": 0}) for _ in range(arity)]
    for rule in game.rules if game else ():
        for part in (rule.head, *rule.body):
            for term in subterms(part):
                if term.name == name and len(term.args) == arity:
                    for i, arg in enumerate(term.args):
                        if isinstance(arg, Variable):
                            names[i][arg.name.strip("?0123456789").lower()[:1]] += 1
    return [counter.most_common(1)[0][0] for counter in names]


def _oriented(pair: list[int], values: list[set[str]], names: list[str], *, nested: bool) -> tuple[int, int, bool]:
    """(column, row, whether row 1 is at the top).

    Rows before columns, as in a matrix, go down; columns before rows go up. Else letters go across, and numbers up.
    """
    first, second = pair
    letters = [all(len(v) == 1 and v.isalpha() for v in values[i]) for i in pair]
    for hints in ("".join(min(values[i])[0] for i in pair), "".join(names[i] for i in pair)):
        if hints in ("rc", "mn", "ij"):
            return second, first, not letters[0]
        if hints in ("cr", "xy"):
            return first, second, False
        if hints == "yx":
            return second, first, False
    if nested:
        return second, first, True
    return (second, first, False) if letters == [False, True] else (first, second, False)


# What else is on the board


def _furnished(
    board: Board, rows: Mapping[str, list[Row]], fixed: Mapping[str, list[Row]], *, x_first: bool
) -> tuple[Board, set[str]]:
    """The board with the walls and marks that the other facts, and the rules, put there; and the relations that do."""
    walls: set[tuple[Place, Place]] = set()
    marks: dict[str, list[Place]] = {}
    used = set()
    for name, facts in (*rows.items(), *fixed.items()):
        places = [(fact[0], fact[1]) if x_first else (fact[1], fact[0]) for fact in facts if len(fact) in (2, 3)]
        if WALL.search(name) and len(places) == len(facts):
            sides = [DIRECTION.search(" ".join([name, *fact[2:]])) for fact in facts]
            if all(sides):
                walls.update(w for p, s in zip(places, sides, strict=True) if s for w in _wall(board, p, s[1].lower()))
                used.add(name)
        elif all(len(fact) == 2 and place in board.cells for fact, place in zip(facts, places, strict=False)):
            free = [place for place in places if not board.cells.get(place, ((name,),))]
            if (2 * len(free) >= len(facts) and name in rows) or name in LANDMARKS:
                marks[name] = free  # a mark lies beneath a piece
    if len(marks) > 1:  # too many to be told apart
        marks = {name: places for name, places in marks.items() if name in LANDMARKS}
    cells = {**board.cells, **{place: ((name,),) for name, places in marks.items() for place in places}}
    return replace(board, cells=cells, landmarks=frozenset(marks), walls=frozenset(walls)), used | marks.keys()


def _wall(board: Board, place: Place, side: str) -> Iterator[tuple[Place, Place]]:
    """The cells on both sides of a wall, none if it is the border."""
    if place[0] in board.columns and place[1] in board.rows:
        dx, dy = STEPS[side]
        x, y = board.columns.index(place[0]) + dx, board.rows.index(place[1]) + dy
        if 0 <= x < len(board.columns) and 0 <= y < len(board.rows):
            other = board.columns[x], board.rows[y]
            yield (place, other) if dx > 0 or dy > 0 else (other, place)
