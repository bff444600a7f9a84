"""GDL text to terms and rules. Every mistake in the text is reported with its line and column, several per run.

Tokens end only at white space, parentheses and `;`. Quotes, bars, dots and letters of any script are ordinary.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from ggp.errors import GdlSyntaxError, Problem
from ggp.terms import CONNECTIVES, KEYWORDS, Compound, Rule, Symbol, Term, Variable, collector_paused, is_ground

MAX_NESTING = 250  # deeper than any game; so that walking a rule never meets Python's recursion limit
MAX_PROBLEMS = 20
MAX_BYTES = 64 << 20  # of a file; the largest public game has 46 kB
TOKEN = re.compile(r"[()]|[^\s();]+|;[^\r\n]*", re.ASCII)
JUNK = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")

Nested = str | list["Nested"]


@dataclass(frozen=True)
class Source:
    """Where rules came from, to say in which line something is."""

    name: str
    text: str
    _lines: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def problem(self, offset: int, message: str) -> Problem:
        if not self._lines:
            self._lines.extend([0, *(m.end() for m in re.finditer("\r\n|\n|\r", self.text))])
        line = bisect_right(self._lines, offset)
        return Problem(self.name, line, offset - self._lines[line - 1] + 1, message)


@dataclass(frozen=True)
class Rulesheet:
    """The rules of one game in the order of the text, and the text itself."""

    rules: tuple[Rule, ...]
    source: Source = field(compare=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules)) + "\n"


@collector_paused()
def parse(text: str, *, name: str = "<text>") -> Rulesheet:
    """The rules in `text`: a rulesheet, or the one list of rules that a START message carries.

    >>> sheet = parse("(role robot) (<= terminal (true (step 3)))")
    >>> [str(rule) for rule in sheet.rules]
    ['(role robot)', '(<= terminal (true (step 3)))']
    >>> parse("(role robot", name="robot.kif")
    Traceback (most recent call last):
    ggp.errors.GdlSyntaxError: robot.kif:1:1: end of text, expected ')' to close '(role'
    """
    return _Reader(Source(name, text.removeprefix("\ufeff"))).rulesheet()


def load(path: str | Path) -> Rulesheet:
    """The rules in a file. Bytes that are not UTF-8 are tolerated in comments only."""
    with Path(path).open("rb") as file:
        found = file.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        raise GdlSyntaxError([Problem(str(path), 1, 1, f"more than {MAX_BYTES >> 20} MB, expected a rulesheet")])
    return parse(found.decode("utf-8", errors="surrogateescape"), name=str(path))


def parse_term(text: str) -> Term:
    """The one term in `text`.

    >>> parse_term(" (mark 1 ?y) ; comment").args
    (Symbol('1'), Variable('?y'))
    """
    source = Source("<term>", text)
    terms = _Reader(source).terms()
    if len(terms) != 1:
        raise GdlSyntaxError([source.problem(0, f"{len(terms)} terms, expected one")])
    return terms[0]


def parse_ground(text: str) -> Symbol | Compound:
    """The one ground term in `text`: a move or a fact."""
    term = parse_term(text)
    if isinstance(term, Variable) or not is_ground(term):
        raise GdlSyntaxError(
            [Source("<term>", text).problem(0, f"{_shown(term)} has a variable, expected a ground term")]
        )
    return term


def parse_lists(text: str, *, name: str = "<text>") -> list[Nested]:
    """All that `text` holds as nested lists of tokens: for joint moves and messages, whose lists have no name in front.

    >>> parse_lists("((mark 1 1) noop) (noop)")
    [[['mark', '1', '1'], 'noop'], ['noop']]
    """
    source = Source(name, text)
    stack: list[list[Nested]] = [[]]
    opened: list[int] = []
    for match in TOKEN.finditer(text):
        token = match[0]
        if token == "(":
            opened.append(match.start())
            if len(opened) > MAX_NESTING:
                raise GdlSyntaxError([source.problem(match.start(), _too_deep())])
            inner: list[Nested] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token == ")":
            if not opened:
                raise GdlSyntaxError([source.problem(match.start(), "')' without '('")])
            opened.pop()
            stack.pop()
        elif token[0] != ";":
            stack[-1].append(token)
    if opened:
        raise GdlSyntaxError([source.problem(opened[-1], "end of text, expected ')' to close '('")])
    return stack[0]


def _too_deep() -> str:
    return f"nested deeper than {MAX_NESTING} levels"


def _shown(item: object) -> str:
    """The text of a token or term for a message: not longer than a line, and safe to print."""
    text = JUNK.sub(lambda junk: repr(junk[0])[1:-1], str(item))
    return text if len(text) <= 60 else f"{text[:60]}…"


class _Frame:
    """An open parenthesis: where it is, and what came after it so far."""

    __slots__ = ("at", "items", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.items: list[Term] = []
        self.at: list[int] = []

    def opening(self) -> str:
        return f"({_shown(self.items[0])}" if self.items and not self.items[0].args else "("


class _Reader:
    """One pass over the tokens with a stack of open parentheses; mistakes are noted, then reading goes on."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.names: dict[str, Variable | Symbol] = {}

    def terms(self) -> list[Term]:
        top = self.read(unwrap=False)
        self.finish()
        return top.items

    def rulesheet(self) -> Rulesheet:
        top = self.read(unwrap=True)
        rules = [rule for term, at in zip(top.items, top.at, strict=True) if (rule := self.rule(term, at))]
        self.finish()
        return Rulesheet(tuple(rules), self.source)

    def finish(self, *last: Problem) -> None:
        if self.problems:
            raise GdlSyntaxError([*sorted(self.problems), *last])

    def note(self, offset: int, message: str) -> None:
        self.problems.append(self.source.problem(offset, message))
        if len(self.problems) >= MAX_PROBLEMS:
            self.finish(self.source.problem(offset, "too many errors, stopped here"))

    def read(self, *, unwrap: bool) -> _Frame:
        """Everything at the top level. `unwrap`: one list around all of it is dropped, as START sends it."""
        top = frame = _Frame(0)
        stack: list[_Frame] = []
        wrapper: _Frame | None = None
        names = self.names
        self.literals: dict[int, tuple[int, ...]] = {}  # offset of a rule → offsets of its parts
        for match in TOKEN.finditer(self.source.text):
            token, start = match[0], match.start()
            if token == "(":
                if unwrap and len(stack) == 1 and not frame.items and not top.items:
                    wrapper = frame  # "((" : rules follow, not the arguments of a name
                if len(stack) >= MAX_NESTING:
                    self.note(start, _too_deep())
                    self.finish()
                stack.append(frame)
                frame = _Frame(start)
            elif token == ")":
                if not stack:
                    self.note(start, "')' without '('")
                    continue
                closed, frame = frame, stack.pop()
                if closed is wrapper:
                    frame.items += closed.items
                    frame.at += closed.at
                elif (term := self.compound(closed)) is not None:
                    frame.items.append(term)
                    frame.at.append(closed.start)
            elif token[0] != ";":
                if token == "<=" and not frame.items and (unfinished := self.unfinished(stack, wrapper)):
                    # A rule inside a rule: the one around it was never closed. Say so and go on with this one.
                    first, line = unfinished[0], self.source.problem(start, "").line
                    self.note(first.start, f"'(<=' in line {line}, expected ')' to close '{first.opening()}'")
                    stack = [f for f in stack if f not in unfinished]
                frame.items.append(names.get(token) or self.name(token, start))
                frame.at.append(start)
        for open_frame in [*stack, frame]:
            if open_frame is not top and open_frame is not wrapper:
                self.note(open_frame.start, f"end of text, expected ')' to close '{open_frame.opening()}'")
                break
        else:
            if frame is wrapper:
                self.note(frame.start, "end of text, expected ')' to close '('")
        return top

    @staticmethod
    def unfinished(stack: list[_Frame], wrapper: _Frame | None) -> list[_Frame]:
        """The open frames around a rule that has just begun: there should be none but the wrapper."""
        return [frame for frame in stack[1:] if frame is not wrapper]

    def name(self, token: str, start: int) -> Variable | Symbol:
        """The variable or symbol of a token that is met for the first time."""
        if junk := JUNK.search(token):
            self.note(start + junk.start(), f"character {junk[0]!r}, expected text")
        if token == "?":
            self.note(start, "'?' without a name, expected a variable such as ?x")
        self.names[token] = new = Variable(token) if token[0] == "?" else Symbol(token)
        return new

    def compound(self, frame: _Frame) -> Term | None:
        if not frame.items:
            self.note(frame.start, "'()', expected a name after '('")
            return None
        name = frame.items[0]
        if not isinstance(name, Symbol) or name.parens:
            came = "a variable" if isinstance(name, Variable) else "a list"
            self.note(frame.at[0], f"{came} after '(', expected a name")
            return None
        if name.name == "<=":
            self.literals[frame.start] = (frame.start, *frame.at[1:])
        args = tuple(frame.items[1:])
        return Compound(name.name, args) if args else Symbol(name.name, parens=True)

    def rule(self, term: Term, at: int) -> Rule | None:
        if isinstance(term, Variable):
            self.note(at, f"variable {_shown(term)}, expected a rule or a fact")
            return None
        if term.name != "<=":
            return Rule(self.head(term), (), (at, at))
        if not term.args:
            self.note(at, "'<=' without a head")
            return None
        head, *body = term.args
        where = self.literals.get(at, (at,) * (len(term.args) + 1))
        if isinstance(head, Variable) or head.name == "<=":
            came = f"variable {_shown(head)}" if isinstance(head, Variable) else "'<='"
            self.note(where[1], f"{came}, expected the head of a rule")
            return None
        return Rule(self.head(head), tuple(map(keywords_lowered, body)), where)

    @staticmethod
    def head(term: Symbol | Compound) -> Symbol | Compound:
        lowered = keywords_lowered(term, connectives=False)
        assert not isinstance(lowered, Variable)
        return lowered


def keywords_lowered(literal: Term, *, connectives: bool = True) -> Term:
    """`literal` with its keyword in lower case (`TRUE` is `true`), also inside connectives; arguments stay as is."""
    name = literal.name.lower()
    if isinstance(literal, Variable) or name not in KEYWORDS:
        return literal
    if isinstance(literal, Compound) and connectives and name in CONNECTIVES:
        return Compound(name, tuple(map(keywords_lowered, literal.args)))
    if name == literal.name:
        return literal
    return Compound(name, literal.args) if isinstance(literal, Compound) else Symbol(name, parens=literal.parens)
