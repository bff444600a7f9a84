"""Positions as text: boards as people draw them, the other facts listed beneath."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from ggp.boards import BLANKS, Board, Picture, Row, picture
from ggp.terms import Fact

if TYPE_CHECKING:
    from ggp.game import Game, State

COLOURS = ("white", "black", "red", "blue", "green", "yellow", "light", "dark", "purple", "orange", "teal", "pink")
MAX_LISTED_LINES = 6
MANY_BLANKS = 8


def draw(state: State, width: int = 100) -> str:
    """The position as text.

    >>> from ggp.game import load
    >>> print(draw(load("tic_tac_toe").initial.play("(mark 1 3)", "noop")))
        1 2 3
      1 . . x
      2 . . .
      3 . . .
    <BLANKLINE>
    control: oplayer
    """
    return draw_facts(state.facts, state.game, width)


def draw_facts(facts: Collection[Fact], game: Game | None = None, width: int = 100) -> str:
    """The facts as text; with the game, boards have their full size even while they are empty."""
    return text(picture(facts, game), game.roles if game else (), width)


def text(picture: Picture, roles: Sequence[str] = (), width: int = 100) -> str:
    """The boards, as many side by side as fit, what their marks stand for, then the other facts by relation."""
    blocks = []
    titled = len({board.relation for board in picture.boards}) > 1
    legend: dict[str, None] = {}  # in order
    for _, group in groupby(picture.boards, lambda board: (board.rows, board.columns, board.layer[:-1])):
        drawn = []
        for board in group:
            title = " ".join([board.relation, *board.layer] if titled else board.layer)
            drawn.append(_lines(board, roles, title))
            legend |= dict.fromkeys(f"{mark} {name}" for name, mark in marks(board, roles).items() if mark != name)
        blocks.append(_abreast(drawn, width))
    if legend:
        blocks.append("\n".join(_filled(list(legend), width)))
    if picture.others:
        blocks.append("\n".join(_listed(picture.others, width)))
    return "\n\n".join(blocks)


def marks(board: Board, roles: Sequence[str] = ()) -> dict[str, str]:
    """A short mark for each symbol that is on the board now; it stays the same throughout a game."""
    tables = [short(values, roles) for values in board.contents]
    tables.append(short(board.landmarks, taken=tables[0].values()))
    shown = {symbol for contents in board.cells.values() for content in contents for symbol in content}
    return {symbol: mark for table in tables for symbol, mark in table.items() if symbol in shown}


def short(symbols: Collection[str], roles: Sequence[str] = (), taken: Collection[str] = ()) -> dict[str, str]:
    """A short mark for each symbol, different for different ones and none of those taken.

    >>> short({"whiteking", "whiteknight", "x"}, ["white"])
    {'x': 'x', 'whiteking': 'wk', 'whiteknight': 'wn'}
    """
    found: dict[str, str] = {}
    for symbol in sorted(symbols, key=lambda s: (len(s) > 2, s)):
        used = {*taken, *found.values()}
        found[symbol] = symbol if len(symbol) <= 2 else next(m for m in _candidates(symbol, roles) if m not in used)
    return found


def _candidates(word: str, roles: Sequence[str]) -> Iterator[str]:
    """Abbreviations, the best first: initials of its parts, then other letters of the last part."""
    colours = sorted({*roles, *COLOURS}, key=len, reverse=True)
    head = next((colour for colour in colours if word.startswith(colour) and word != colour), "")
    parts = re.findall(r"\d+|[^\W\d_]+", word.removeprefix(head).lower()) or [word]
    start, last = head[:1].lower() + "".join(part[0] for part in parts[:-1]), parts[-1]
    yield start + (last if last.isdigit() else last[0])
    yield from (start + letter for letter in last)
    yield from (start + last[:n] for n in range(2, len(last) + 1))
    yield word


def _lines(board: Board, roles: Sequence[str], title: str) -> list[str]:
    """The board as lines of equal length: column names above, row names at the left, walls between the cells."""
    shown = _shown(board, marks(board, roles))
    left = max(map(len, board.rows))
    width = max(map(len, (*shown.values(), *board.columns)))
    lines = [" " * left + "".join(f" {column:>{width}}" for column in board.columns)]
    for i, row in enumerate(board.rows):
        line = f"{row:>{left}}"
        for j, column in enumerate(board.columns):
            walled = j and ((board.columns[j - 1], row), (column, row)) in board.walls
            line += ("|" if walled else " ") + f"{shown.get((column, row), ''):>{width}}"
        lines.append(line)
        if board.walls and i + 1 < len(board.rows):
            below = [((column, row), (column, board.rows[i + 1])) in board.walls for column in board.columns]
            lines.append(" " * left + "".join(" " + ("-" if walled else " ") * width for walled in below))
    if title:
        lines.insert(0, " " * left + f" {title}")
    longest = max(map(len, lines))
    return [f"  {line:<{longest}}" for line in lines]


def _shown(board: Board, marks: Mapping[str, str]) -> dict[tuple[str, str], str]:
    def cell(contents: tuple[Row, ...]) -> str:
        return "".join(marks[symbol] for content in contents for symbol in content) or "."

    return {place: cell(contents) for place, contents in board.cells.items()}


def _abreast(drawn: list[list[str]], width: int) -> str:
    fit = max(1, width // (2 + max(len(lines[0]) for lines in drawn)))
    rows = [zip_longest(*drawn[i : i + fit], fillvalue="") for i in range(0, len(drawn), fit)]
    return "\n\n".join("\n".join("  ".join(parts).rstrip() for parts in row) for row in rows)


def _listed(facts: Sequence[Fact], width: int) -> Iterator[str]:
    """One paragraph for each relation: `control: xplayer`. Many blanks become one entry."""
    for name, group in groupby(facts, lambda fact: fact.name):
        rows = [[str(arg) for arg in fact.args] for fact in group]
        if rows == [[]]:
            yield name
            continue
        blanks = Counter(row[-1] for row in rows if row and row[-1].lower() in BLANKS)
        many = {word: count for word, count in blanks.items() if count > MANY_BLANKS}
        texts = [" ".join(row) for row in rows if not row or row[-1] not in many]
        texts += [f"{word} ({count} times)" for word, count in many.items()]
        lines = _filled(texts, width, f"{name}: ")
        yield from lines[:MAX_LISTED_LINES]
        if len(lines) > MAX_LISTED_LINES:
            yield f"  … ({len(texts)} in all)"


def _filled(items: Sequence[str], width: int, start: str = "") -> list[str]:
    """The items with commas between them in lines of at most `width`; no item is broken."""
    lines = [start]
    for i, item in enumerate(items):
        piece = item if i == len(items) - 1 else f"{item}, "
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1].strip():
            lines.append("  ")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
