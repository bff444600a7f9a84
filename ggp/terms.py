"""GDL as values: terms, and the rules made of them. Immutable, hashable, and they print back to GDL.

Comparing, hashing and printing do not recurse into a term, so that it may be as deep as memory allows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

CONNECTIVES = frozenset({"not", "or", "and"})
KEYWORDS = CONNECTIVES | {
    "role", "init", "true", "does", "next", "legal", "goal", "terminal", "distinct", "base", "input", "sees",
}  # fmt: skip


class Variable:
    """A GDL variable; `name` keeps its question mark.

    >>> str(Variable("?x"))
    '?x'
    """

    __slots__ = ("name",)
    args: tuple[Term, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Variable({self.name!r})"

    def __reduce__(self) -> tuple[type[Variable], tuple[str]]:
        return Variable, (self.name,)


class Symbol:
    """A constant, or a relation without arguments. `(p)` and `p` are equal but print as they were written.

    >>> Symbol("p", parens=True) == Symbol("p"), str(Symbol("p", parens=True))
    (True, '(p)')
    """

    __slots__ = ("name", "parens")
    args: tuple[Term, ...] = ()

    def __init__(self, name: str, *, parens: bool = False) -> None:
        self.name = name
        self.parens = parens

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and self.name == other.name

    def __hash__(self) -> int:
        return hash((self.name, ()))

    def __str__(self) -> str:
        return f"({self.name})" if self.parens else self.name

    def __repr__(self) -> str:
        return f"Symbol({self.name!r})"

    def __reduce__(self) -> tuple[object, tuple[str, bool]]:
        return _symbol, (self.name, self.parens)


def _symbol(name: str, parens: bool) -> Symbol:
    return Symbol(name, parens=parens)


class Compound:
    """A name applied to at least one argument: a function term, an atom of a relation, or a connective.

    >>> str(Compound("cell", (Symbol("1"), Variable("?y"))))
    '(cell 1 ?y)'
    """

    __slots__ = ("_hash", "args", "name")

    def __init__(self, name: str, args: tuple[Term, ...]) -> None:
        self.name = name
        self.args = args
        self._hash = hash((name, args))  # the arguments know theirs: no recursion

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Compound) or self._hash != other._hash:
            return False
        pairs: list[tuple[Term, Term]] = [(self, other)]
        while pairs:
            a, b = pairs.pop()
            if isinstance(a, Compound) and isinstance(b, Compound):
                if a is b:
                    continue
                if a.name != b.name or len(a.args) != len(b.args):
                    return False
                pairs.extend(zip(a.args, b.args, strict=True))
            elif a != b:
                return False
        return True

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        pieces: list[str] = []
        todo: list[Term | str] = [self]
        while todo:
            item = todo.pop()
            if isinstance(item, Compound):
                pieces.append(f"({item.name}")
                todo.append(")")
                for arg in reversed(item.args):
                    todo += (arg, " ")
            else:
                pieces.append(str(item))
        return "".join(pieces)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> tuple[type[Compound], tuple[str, tuple[Term, ...]]]:
        return Compound, (self.name, self.args)


Term = Variable | Symbol | Compound
Move = Symbol | Compound  # ground
Fact = Symbol | Compound  # ground
Relation = tuple[str, int]  # name and number of arguments


@dataclass(frozen=True, slots=True)
class Rule:
    """`head` holds where every literal of `body` does; a fact has an empty body.

    Literals are terms: `(not L)`, `(or L L)`, `(and L L)`, `(distinct a b)`, or an atom. `at` are the offsets in the
    source of the rule, its head and each literal; they take no part in comparison.
    """

    head: Symbol | Compound
    body: tuple[Term, ...] = ()
    at: tuple[int, ...] = field(default=(0,), compare=False, repr=False)

    def __str__(self) -> str:
        if not self.body:
            return str(self.head)
        return f"(<= {self.head} {' '.join(map(str, self.body))})"


def relation(atom: Term) -> Relation:
    return atom.name, len(atom.args)


def subterms(term: Term) -> Iterator[Term]:
    """`term` and everything inside it, outermost first, left to right."""
    todo = [term]
    while todo:
        item = todo.pop()
        yield item
        todo.extend(reversed(item.args))


def variables(term: Term) -> list[Variable]:
    """The distinct variables of `term` in order of first occurrence."""
    return list(dict.fromkeys(t for t in subterms(term) if isinstance(t, Variable)))


def is_ground(term: Term) -> bool:
    return not any(isinstance(t, Variable) for t in subterms(term))


def substitute(term: Term, binding: Mapping[Variable, Term]) -> Term:
    """`term` with its variables replaced; those not bound stay. Nesting is bounded by the parser.

    >>> str(substitute(Compound("f", (Variable("?x"), Variable("?y"))), {Variable("?x"): Symbol("a")}))
    '(f a ?y)'
    """
    if isinstance(term, Variable):
        return binding.get(term, term)
    if isinstance(term, Compound):
        return Compound(term.name, tuple(substitute(a, binding) for a in term.args))
    return term


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: terms have no cycles, and looking for some among millions takes most time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def written_in_parentheses(rules: Iterable[Rule]) -> frozenset[str]:
    """Names of the constants that are first written as `(p)`; engines know only `p`, and print it as written."""
    first: dict[str, bool] = {}
    for rule in rules:
        for literal in (rule.head, *rule.body):
            for term in subterms(literal):
                for arg in term.args:
                    if isinstance(arg, Symbol):
                        first.setdefault(arg.name, arg.parens)
    return frozenset(name for name, parens in first.items() if parens)


def respelled(term: Fact, names: frozenset[str]) -> Fact:
    """`term` with the constants in `names` printed in parentheses, and no others."""
    if isinstance(term, Symbol):
        parens = term.name in names
        return term if parens == term.parens else Symbol(term.name, parens=parens)
    if not names and all(isinstance(arg, Symbol) and not arg.parens for arg in term.args):
        return term
    return Compound(term.name, tuple(a if isinstance(a, Variable) else respelled(a, names) for a in term.args))
