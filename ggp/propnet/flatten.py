"""GDL rules to flat ones: bodies of atoms, `(not atom)`, `(distinct a b)` and `(not (distinct a b))`.

Alternatives become rules of their own while they are few, else a relation of their own; so does what stands under `not`
and has variables that occur nowhere else. A name with a space in it is ours: no token of a rulesheet has one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from ggp.terms import Compound, Rule, Symbol, Term, Variable, substitute, variables

MAX_ALTERNATIVES = 16  # of one rule
Body = Sequence[Term]


def is_connective(literal: Term, *names: str) -> bool:
    return isinstance(literal, Compound) and literal.name in names


def is_atom(literal: Term) -> bool:
    """Whether a flat literal binds its variables: it is no test."""
    return not is_connective(literal, "not", "distinct")


def atom_of(literal: Term) -> Term:
    """A flat literal without its `not`."""
    return literal.args[0] if is_connective(literal, "not") else literal


@lru_cache(1 << 14)
def scope(literal: Term) -> frozenset[Variable]:
    """The variables of a literal."""
    return frozenset(variables(literal))


def bound_by(literals: Iterable[Term]) -> set[Variable]:
    """The variables that the atoms among flat literals bind."""
    return set().union(*(scope(literal) for literal in literals if is_atom(literal)))


def guards(wanted: Collection[Variable], literals: Iterable[Term]) -> list[Term]:
    """A few atoms among `literals` that bind what is wanted, as far as they can."""
    missing = set(wanted)
    left = [literal for literal in literals if is_atom(literal)]
    chosen: list[Term] = []
    while missing and left:
        best = max(left, key=lambda atom: (len(missing & scope(atom)), -len(scope(atom))))
        if not missing & scope(best):
            break
        missing -= scope(best)
        chosen.append(best)
        left.remove(best)
    return chosen


def made_safe(body: Body, wanted: Collection[Variable], context: Iterable[Term]) -> Body:
    """`body` with atoms of `context` in front where it does not bind what is wanted, or what its tests ask for."""
    tested = {v for literal in body if not is_atom(literal) for v in variables(literal)}
    return [*guards((tested | set(wanted)) - bound_by(body), context), *body]


class Auxiliaries:
    """Relations that we add, one for each different definition.

    >>> from ggp.parser import parse_term
    >>> new = Auxiliaries()
    >>> str(new.atom([[parse_term("(p ?x ?y)")]], [Variable("?x")]))
    '(aux 0 ?x)'
    >>> str(new.atom([[parse_term("(p ?a ?b)")]], [Variable("?a")])), len(new.rules)
    ('(aux 0 ?a)', 1)
    """

    def __init__(self, prefix: str = "aux") -> None:
        self.prefix = prefix
        self.rules: list[Rule] = []
        self._names: dict[object, str] = {}

    def atom(self, bodies: Sequence[Body], args: Collection[Variable]) -> Symbol | Compound:
        """An atom that holds for those `args` for which one of the bodies does. Their order is decided here."""
        ordered = [sorted(body, key=lambda literal: _shape(literal, args)) for body in bodies]
        found = dict.fromkeys(v for body in ordered for literal in body for v in variables(literal))
        names = {v: Variable(f"?{number}") for number, v in enumerate(found)}
        inside = [v for v in found if v in args]
        renamed = dict.fromkeys(tuple(substitute(literal, names) for literal in body) for body in ordered)
        key = (tuple(names[v] for v in inside), frozenset(renamed))
        if key not in self._names:
            self._names[key] = f"{self.prefix} {len(self._names)}"
            head = applied(self._names[key], [names[v] for v in inside])
            self.rules += [Rule(head, body) for body in renamed]
        return applied(self._names[key], inside)


def applied(name: str, args: Iterable[Term]) -> Symbol | Compound:
    """`name` applied to `args`, which may be none."""
    arguments = tuple(args)
    return Compound(name, arguments) if arguments else Symbol(name)


def _shape(literal: Term, args: Collection[Variable]) -> str:
    """What a literal looks like apart from the names of its variables."""
    return str(substitute(literal, {v: Variable("?arg" if v in args else "?") for v in variables(literal)}))


def flatten(rules: Iterable[Rule]) -> list[Rule]:
    """Flat rules that mean the same.

    >>> from ggp.parser import parse
    >>> for rule in flatten(parse("(<= p (or q (not (or r (not s))))) (<= (u ?x) (v ?x) (not (w ?x ?y)))").rules):
    ...     print(rule)
    (<= p q)
    (<= p (not r) s)
    (<= (u ?x) (v ?x) (not (aux 0 ?x)))
    (<= (aux 0 ?0) (w ?0 ?1))
    """
    new = Auxiliaries()
    flat = [flat for rule in rules for flat in _Flat(rule, new).rules()]
    found = [Rule(rule.head, body) for rule in flat if (body := _safe(rule, new)) is not None]
    for rule in new.rules:  # it grows meanwhile
        if (body := _safe(rule, new)) is not None:
            found.append(Rule(rule.head, body))
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class _Scope:
    """What stands beside a literal: the variables used there, and the atoms that hold there."""

    used: frozenset[Variable]
    atoms: tuple[Term, ...]

    def beside(self, literals: Sequence[Term], index: int) -> _Scope:
        """The scope of one literal of a conjunction that has this scope."""
        others = [*literals[:index], *literals[index + 1 :]]
        atoms = [literal for literal in others if not is_connective(literal, "not", "distinct", "or", "and")]
        return _Scope(self.used.union(*map(variables, others)), (*self.atoms, *atoms))


class _Flat:
    """One rule on its way to flat ones."""

    def __init__(self, rule: Rule, new: Auxiliaries) -> None:
        self.head = rule.head
        self.new = new
        self.literals: list[Term] = []
        todo = list(rule.body[::-1])
        while todo:
            literal = todo.pop()
            if is_connective(literal, "and"):
                todo.extend(literal.args[::-1])
            else:
                self.literals.append(literal)

    def rules(self) -> list[Rule]:
        scope = _Scope(frozenset(variables(self.head)), ())
        return [Rule(self.head, tuple(body)) for body in self.conjunction(self.literals, scope)]

    def conjunction(self, literals: Sequence[Term], scope: _Scope, *, positive: bool = True) -> list[Body]:
        """Flat bodies, one of which holds where all the literals do (or all do not)."""
        scopes = [scope.beside(literals if positive else (), i) for i in range(len(literals))]
        parts = [self.alternatives(lit, s, positive=positive) for lit, s in zip(literals, scopes, strict=True)]
        while prod(map(len, parts)) > MAX_ALTERNATIVES:
            widest = max(range(len(parts)), key=lambda i: len(parts[i]))
            parts[widest] = [[self.relation(parts[widest], scopes[widest])]]
        return [[literal for body in bodies for literal in body] for bodies in product(*parts)]

    def alternatives(self, literal: Term, scope: _Scope, *, positive: bool) -> list[Body]:
        """Flat bodies, one of which holds where the literal does (or does not)."""
        if is_connective(literal, "not"):
            return self.alternatives(literal.args[0], scope, positive=not positive)
        if not is_connective(literal, "or", "and"):
            return [[literal]] if positive else [[Compound("not", (literal,))]]
        if (literal.name == "and") == positive:
            return self.conjunction(literal.args, scope, positive=positive)
        if positive or bound_by(scope.atoms).issuperset(variables(literal)):
            return [body for arg in literal.args for body in self.alternatives(arg, scope, positive=positive)]
        # (not (and … ?local …)): no value of the local variables makes it true
        bodies = self.conjunction(literal.args, scope)
        return [[Compound("not", (self.relation(bodies, scope),))]]

    def relation(self, bodies: Sequence[Body], scope: _Scope) -> Symbol | Compound:
        """A new atom for these alternatives, over the variables that they share with what stands beside them."""
        shared = {v for body in bodies for literal in body for v in variables(literal)} & scope.used
        return self.new.atom([made_safe(body, shared, scope.atoms) for body in bodies], shared)


def _safe(rule: Rule, new: Auxiliaries) -> tuple[Term, ...] | None:
    """The body as Prolog takes it where nothing binds the variables of a test; None: it never holds.

    Variables of the head may be known to whoever asks.
    """
    bound = bound_by(rule.body).union(variables(rule.head))
    safe: list[Term] = []
    for literal in rule.body:
        if is_atom(literal) or bound.issuperset(variables(literal)):
            safe.append(literal)
        elif is_connective(literal, "distinct"):
            return None  # what is free could still become equal
        elif not is_connective(literal.args[0], "distinct"):
            atom = literal.args[0]
            safe.append(Compound("not", (new.atom([[atom]], bound.intersection(variables(atom))),)))
    return tuple(dict.fromkeys(safe))
