"""Positions as people draw them: facts that look like cells become boards, the rest is listed beneath.

Nothing is known about the game but its facts and, where given, its rules. A relation is a board if two of its arguments
are coordinates (1…8, a…h, c1…c8, or both in one symbol as in `b3`). What else it says is the content of the cell; a
further coordinate makes layers, drawn side by side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from math import prod
from typing import TYPE_CHECKING

from ggp.domains import domains
from ggp.terms import Fact, Variable, subterms

if TYPE_CHECKING:
    from ggp.game import Game, State

BLANKS = frozenset({"b", "blank", "empty", "e", "none", "nothing", "free", "clear", "_", "-", "0empty"})
COLOURS = ("white", "black", "red", "blue", "green", "yellow", "light", "dark", "purple", "orange", "teal", "pink")
MAX_AXIS = 50
MAX_LAYERS = 16
MAX_LISTED_LINES = 6

Row = tuple[str, ...]  # a fact's arguments as text


@dataclass(frozen=True)
class Board:
    """One board: `columns` from left to right, `rows` from top to bottom.

    `cells[column, row]` lists what stands there: nothing on an empty cell; a cell that is not part of the board has no
    entry. `marks` abbreviates each content to what fits into a cell; `layer` is the rest of its address, if it has one.
    """

    relation: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[str, ...]]
    layer: tuple[str, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def legend(self) -> dict[str, str]:
        """Abbreviation → content, for the contents that are shortened here."""
        seen = {content for contents in self.cells.values() for content in contents}
        return {self.marks[c]: c for c in sorted(seen) if self.marks.get(c, c) != c.replace(" ", "")}

    def __str__(self) -> str:
        return "\n".join(_lines(self))


@dataclass(frozen=True)
class Picture:
    """A position as boards, and the facts that are on none of them."""

    boards: tuple[Board, ...]
    others: tuple[Fact, ...]

    def text(self, width: int = 100) -> str:
        """The boards, as many side by side as fit, then the other facts by relation."""
        blocks = []
        titled = len({board.relation for board in self.boards}) > 1
        for relation, boards in groupby(self.boards, lambda board: board.relation):
            rows = [_abreast(list(row), width) for _, row in groupby(boards, lambda board: board.layer[:-1])]
            blocks.append("\n\n".join([f"  {relation}:\n{rows[0]}" if titled else rows[0], *rows[1:]]))
        legend = {mark: content for board in self.boards for mark, content in board.legend.items()}
        if legend:
            blocks.append("\n".join(_filled([f"{mark} {content}" for mark, content in legend.items()], width)))
        if self.others:
            blocks.append("\n".join(_listed(self.others, width)))
        return "\n\n".join(blocks)


def draw(state: State, width: int = 100) -> str:
    """The position as text.

    >>> from ggp.game import load
    >>> print(draw(load("tic_tac_toe").initial.play("(mark 1 3)", "noop")))
        1 2 3
      3 x . .
      2 . . .
      1 . . .
    <BLANKLINE>
    control: oplayer
    """
    return picture(state.facts, state.game).text(width)


def picture(facts: Collection[Fact], game: Game | None = None) -> Picture:
    """The boards among the facts. With the game, boards have their full size even while they are empty."""
    known = domains(game.rules) if game else {}
    arities: dict[str, set[int]] = {}
    for fact in facts:
        arities.setdefault(fact.name, set()).add(len(fact.args))
    for _, name, *argument in (place for place in known if place[0] == "true" and len(place) == 3):
        arities.setdefault(str(name), {0})
    layouts = []
    for name, found in sorted(arities.items()):
        arity = max(found) or 1 + max(int(p[2]) for p in known if p[:2] == ("true", name) and len(p) == 3)
        rows = [tuple(map(str, fact.args)) for fact in facts if fact.name == name]
        values = [set(known.get(("true", name, i), ())) for i in range(arity)]
        if len(found) == 1 and (layout := _layout(name, rows, values, game)):
            layouts.append(layout)
    drawn = [layout for layout in layouts if not _minor(layout, layouts)]
    boards = tuple(board for layout in drawn for board in layout.boards(game.roles if game else ()))
    used = {layout.relation for layout in drawn}
    return Picture(boards, tuple(sorted((f for f in facts if f.name not in used), key=str)))


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
        return tuple(chr(ord("a") + i) for i in range(last + 1)) if last < 3 * len(values) else ()
    parsed = [re.fullmatch(r"([A-Za-z_]{0,4})(\d{1,3})", v, re.ASCII) for v in values]
    found = [(m[1], int(m[2]), len(m[2])) for m in parsed if m]
    if len(found) < len(values) or len({prefix for prefix, _, _ in found}) > 1:
        return ()
    numbers = {number for _, number, _ in found}
    low, high = min(1, *numbers), max(numbers)
    if not high - low < min(4 * len(numbers), MAX_AXIS):
        return ()
    pad = min(digits for _, _, digits in found)
    return tuple(f"{found[0][0]}{i:0{pad}}" for i in range(low, high + 1))


def _expanded(rows: list[Row], values: list[set[str]]) -> tuple[list[Row], list[set[str]]]:
    """Both coordinates in one symbol (`b3`) are taken apart."""
    for i in reversed(range(len(values))):
        pairs = [re.fullmatch(r"([a-z])(\d\d?)", v, re.ASCII) for v in values[i]]
        split = [(m[1], m[2]) for m in pairs if m]
        letters, numbers = {a for a, _ in split}, {b for _, b in split}
        if len(split) == len(values[i]) and axis(letters) and axis(numbers):
            rows = [(*row[:i], row[i][0], row[i][1:], *row[i + 1 :]) for row in rows]
            values = [*values[:i], letters, numbers, *values[i + 1 :]]
    return rows, values


# Which arguments are what


@dataclass(frozen=True)
class _Layout:
    """A relation seen as a board: which arguments are column, row, layer and content."""

    relation: str
    rows: list[Row]
    values: list[set[str]]  # per argument, what can stand there
    column: int
    row: int
    layer: tuple[int, ...]
    content: tuple[int, ...]
    downwards: bool  # whether row 1 is at the top

    @property
    def axes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return axis(self.values[self.column]), axis(self.values[self.row])

    def boards(self, roles: Sequence[str]) -> Iterator[Board]:
        columns, rows = self.axes
        marks = [_marks(self.values[i], roles) for i in self.content]
        blank = any(v.lower() in BLANKS for i in self.content for v in self.values[i])
        layers = list(product(*(axis(self.values[i]) or sorted(self.values[i]) for i in self.layer)))
        for layer in layers:
            # Where blanks are facts, a cell without a fact is not part of the board.
            cells: dict[tuple[str, str], tuple[str, ...]] = {} if blank else dict.fromkeys(product(columns, rows), ())
            short: dict[str, str] = {}
            for fact in sorted(self.rows):
                if tuple(fact[i] for i in self.layer) == layer:
                    content = [fact[i] for i in self.content]
                    filled = [c for c in content if c.lower() not in BLANKS]
                    place = fact[self.column], fact[self.row]
                    text = " ".join(content) if filled else ""
                    cells[place] = (*cells.get(place, ()), *([text] if filled else []))
                    short[text] = "".join(m[c] for m, c in zip(marks, content, strict=True) if c in filled)
            if not self.content:
                cells |= {(f[self.column], f[self.row]): (self.relation,) for f in self.rows}
                short = {self.relation: self.relation[0]}
            down = rows if self.downwards else rows[::-1]
            yield Board(self.relation, columns, down, cells, layer, short)


def _layout(name: str, rows: list[Row], known: list[set[str]], game: Game | None) -> _Layout | None:
    seen = [{row[i] for row in rows} for i in range(len(known))]
    # The rules may allow too much (or nothing, inside functions); then what is there has to do.
    values = [k | s if axis(k | s) or not axis(s) else s for k, s in zip(known, seen, strict=True)]
    names = _variable_names(name, len(values), game)
    rows, expanded = _expanded(rows, values)
    if len(expanded) != len(values):
        names = [Counter()] * len(expanded)
    values = expanded
    ordered = [i for i, v in enumerate(values) if axis(v)]
    plain = [i for i in range(len(values)) if i not in ordered]
    if len(ordered) < 2 or len(ordered) > 5 or any("(" in v for i in plain for v in values[i]):
        return None
    if not plain:
        if len(ordered) == 2:
            if not _scattered(rows):
                return None
        else:
            plain = [_value_argument(rows, values, ordered)]
            ordered.remove(plain[0])
            if len(ordered) > 2 and 2 * len(rows) < _size(values, ordered):
                return None  # a relation between numbers, such as an edge from 1 2 to 1 3
    pair = _pair(ordered, values)
    extra = [i for i in ordered if i not in pair]
    layer: list[int] = []
    if extra and (not _is_key(rows, pair) or _sparse_layers(rows, values, pair, extra)):
        layer = extra
    if len(plain) > 1 and not _is_key(rows, [*pair, *layer]):
        layer += next(([i] for i in plain if _is_key(rows, [*pair, *layer, i])), [])
    content = tuple(i for i in range(len(values)) if i not in pair and i not in layer)
    for i in layer:
        if len(values[i]) > MAX_LAYERS:  # the rules count on and on: take the layers that there are
            values[i] = {row[i] for row in rows}
    if _size(values, layer) > MAX_LAYERS or (layer and not content):
        return None
    column, row, downwards = _oriented(pair, values, names)
    return _Layout(name, rows, values, column, row, tuple(layer), content, downwards)


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


def _is_key(rows: list[Row], places: Sequence[int]) -> bool:
    return len({tuple(row[i] for i in places) for row in rows}) == len(rows)


def _sparse_layers(rows: list[Row], values: list[set[str]], pair: list[int], extra: list[int]) -> bool:
    """Whether a third coordinate is a layer although too few facts are there to tell."""
    return 2 * len(rows) < _size(values, pair) and all(len(values[i]) <= 4 for i in extra)


def _value_argument(rows: list[Row], values: list[set[str]], ordered: list[int]) -> int:
    """Where all arguments are numbers: the one that the others determine and leave the fewest cells empty."""

    def emptiness(i: int) -> tuple[bool, int, int]:
        rest = [j for j in ordered if j != i]
        return not _is_key(rows, rest), _size(values, rest), -i

    return min(ordered, key=emptiness)


def _scattered(rows: list[Row]) -> bool:
    """Whether pairs of coordinates are marks on a board rather than a table of values."""
    return len(rows) > 4 and not _is_key(rows, [0]) and not _is_key(rows, [1])


def _minor(layout: _Layout, layouts: list[_Layout]) -> bool:
    """Whether a relation only adds a few facts to a board that is drawn anyway: they read better as a list."""
    boards = [other for other in layouts if other.content and other.relation != layout.relation]
    if not layout.content:
        return bool(boards)
    return len(layout.rows) < 5 and any(len(other.rows) > 4 * max(1, len(layout.rows)) for other in boards)


def _variable_names(name: str, arity: int, game: Game | None) -> list[Counter[str]]:
    """What the rules call the arguments: `?row`, `?x` and so on say how the author draws the board."""
    names = [Counter[str]() for _ in range(arity)]
    for rule in game.rules if game else ():
        for part in (rule.head, *rule.body):
            for term in subterms(part):
                if term.name == name and len(term.args) == arity:
                    for i, arg in enumerate(term.args):
                        if isinstance(arg, Variable):
                            names[i][arg.name.strip("?0123456789").lower()[:1]] += 1
    return names


def _oriented(pair: list[int], values: list[set[str]], names: list[Counter[str]]) -> tuple[int, int, bool]:
    """(column, row, whether row 1 is at the top). Letters go across and numbers up; matrices go down; else x, then y."""
    first, second = pair
    kinds = [min(values[i])[0] for i in pair]
    said = [names[i].most_common(1)[0][0] if names[i] else "" for i in pair]
    for hints in (kinds, said):
        if hints in (["r", "c"], ["c", "r"]):
            return (second, first, True) if hints[0] == "r" else (first, second, True)
        if hints in (["y", "x"], ["x", "y"]):
            return (second, first, False) if hints[0] == "y" else (first, second, False)
    letters = [all(len(v) == 1 and v.isalpha() for v in values[i]) for i in pair]
    if letters == [False, True]:
        return second, first, False
    return first, second, False


# Drawing


def _marks(values: Iterable[str], roles: Sequence[str]) -> dict[str, str]:
    """A short mark for each content, different for different ones: white rook → wr.

    >>> _marks({"whiteking", "whiteknight", "empty", "x"}, ["white"])
    {'x': 'x', 'empty': 'e', 'whiteking': 'wk', 'whiteknight': 'wn'}
    """
    marks: dict[str, str] = {}
    for value in sorted(values, key=lambda v: (len(v) > 2, v)):
        taken = {mark for other, mark in marks.items() if other.lower() not in BLANKS}
        marks[value] = value if len(value) <= 2 else next(m for m in _candidates(value, roles) if m not in taken)
    return marks


def _candidates(word: str, roles: Sequence[str]) -> Iterator[str]:
    head = next((r for r in sorted({*roles, *COLOURS}, key=len, reverse=True) if word.startswith(r) and r != word), "")
    parts = re.findall(r"\d+|[^\W\d_]+", word.removeprefix(head)) or [word]
    start = (head[:1] + "".join(p[0] for p in parts[:-1])).lower()
    last = parts[-1].lower()
    yield start + (last if last.isdigit() else last[0])
    yield from (start + letter for letter in last)
    yield from (start + last[:n] for n in range(2, len(last)))
    yield word


def _lines(board: Board) -> list[str]:
    """The board as lines of equal length: column names above, row names at the left."""
    shown = {place: "".join(board.marks.get(c, c) for c in contents) or "." for place, contents in board.cells.items()}
    left = max(map(len, board.rows)) + 1
    width = max(map(len, (*shown.values(), *board.columns)))
    lines = [" " * left + "".join(f" {c:>{width}}" for c in board.columns)]
    for row in board.rows:
        lines.append(f"{row:>{left}}" + "".join(f" {shown.get((c, row), ''):>{width}}" for c in board.columns))
    if board.layer:
        lines.insert(0, " ".join(board.layer).center(len(lines[0])))
    return [f"  {line}" for line in lines]


def _abreast(boards: list[Board], width: int) -> str:
    """Boards side by side, as many as fit, under the name of their relation if there are several."""
    lines = [_lines(board) for board in boards]
    fit = max(1, width // (2 + max(len(line) for block in lines for line in block)))
    rows = [lines[i : i + fit] for i in range(0, len(lines), fit)]
    return "\n\n".join("\n".join("  ".join(parts).rstrip() for parts in zip(*row, strict=True)) for row in rows)


def _listed(facts: Sequence[Fact], width: int) -> Iterator[str]:
    """One paragraph for each relation: `control: xplayer`."""
    for name, group in groupby(facts, lambda fact: fact.name):
        rows = [[str(arg) for arg in fact.args] for fact in group]
        if rows == [[]]:
            yield name
            continue
        blanks = Counter(row[-1] for row in rows if row[-1].lower() in BLANKS)
        many = {word: count for word, count in blanks.items() if count > 8}
        texts = [" ".join(row) for row in rows if row[-1] not in many]
        texts += [f"{word} ({count} times)" for word, count in many.items()]
        lines = _filled(texts, width, f"{name}: ")
        yield from lines[:MAX_LISTED_LINES]
        if len(lines) > MAX_LISTED_LINES:
            yield f"  … ({len(texts)} in all)"


def _filled(items: Sequence[str], width: int, start: str = "") -> list[str]:
    """The items with commas between them in lines of at most `width`; no item is broken."""
    lines = [start]
    for i, item in enumerate(items):
        text = item if i == len(items) - 1 else f"{item}, "
        if len(lines[-1]) + len(text.rstrip()) > width and lines[-1].strip():
            lines.append("  ")
        lines[-1] += text
    return [line.rstrip() for line in lines]
