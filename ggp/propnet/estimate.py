"""How many ground instances relations and bodies will have: estimates as data bases make them before a join.

Every argument has a domain, read off the rules; a relation given by facts has as many instances as facts, `true` and
`does` have all that their domains allow, and joins are taken as if values were spread evenly and independently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from ggp.dependencies import components
from ggp.propnet.flatten import atom_of, is_atom
from ggp.terms import Compound, Relation, Rule, Symbol, Term, Variable, is_ground, relation

FLOWS: dict[Relation, Relation] = {("init", 1): ("true", 1), ("next", 1): ("true", 1), ("legal", 2): ("does", 2)}
MAX_DEPTH = 3  # of terms in a domain
MAX_SIZE = 1e30
ROUNDS = 4  # of recursion that are looked at
CORRELATION = 0.25  # 1: relations that share variables are independent, 0: whatever is in one is in the other


@dataclass(frozen=True)
class Domain:
    """The terms that can stand at one place: constants, and functions of terms."""

    constants: frozenset[str] = frozenset()
    functions: Mapping[Relation, tuple[Domain, ...]] = field(default_factory=dict)

    @cached_property
    def size(self) -> float:
        inner = sum(prod(arg.size for arg in args) for args in self.functions.values())
        return min(len(self.constants) + inner, MAX_SIZE)

    def __or__(self, other: Domain) -> Domain:
        if self.constants >= other.constants and not other.functions:
            return self
        functions = dict(self.functions)
        for name, args in other.functions.items():
            mine = functions.get(name)
            functions[name] = args if mine is None else tuple(a | b for a, b in zip(mine, args, strict=True))
        return Domain(self.constants | other.constants, functions)

    def __and__(self, other: Domain) -> Domain:
        both = self.functions.keys() & other.functions.keys()
        functions = {
            name: tuple(a & b for a, b in zip(self.functions[name], other.functions[name], strict=True))
            for name in both
        }
        return Domain(self.constants & other.constants, functions)

    def cut(self, depth: int) -> Domain:
        """Without terms that are nested deeper."""
        if not self.functions:
            return self
        functions = {name: tuple(arg.cut(depth - 1) for arg in args) for name, args in self.functions.items()}
        return Domain(self.constants, functions if depth > 1 else {})


NOTHING = Domain()


@dataclass(frozen=True)
class Join:
    """What a conjunction of literals is expected to give: how many instances, and how many values of each variable."""

    size: float
    values: Mapping[Variable, float]

    def projected(self, wanted: Iterable[Variable]) -> float:
        """How many different instances of some of the variables."""
        return min(self.size, prod(self.values.get(v, 1.0) for v in wanted))


class Estimate:
    """Expected sizes of the relations of flat rules.

    >>> from ggp.parser import parse, parse_term
    >>> rules = parse("(n 1) (n 2) (n 3) (s 1 2) (s 2 3) (<= (init (at ?x)) (n ?x)) (<= (p ?x ?y) (n ?x) (n ?y))").rules
    >>> sizes = Estimate(rules)
    >>> sizes.size[("p", 2)], sizes.join([parse_term("(true (at ?x))"), parse_term("(s ?x ?y)")]).size
    (9.0, 2.0)
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        definitions: dict[Relation, list[Rule]] = defaultdict(list)
        for rule in rules:
            definitions[relation(rule.head)].append(rule)
        self.domains = _domains(definitions)
        self.size: dict[Relation, float] = {}
        self._atoms: dict[Term, Join] = {}  # what has been estimated, as long as the sizes stay
        self.size[("true", 1)] = self.full(("true", 1))
        uses = {
            rel: list(
                dict.fromkeys(
                    r for rule in rules for lit in rule.body if (r := relation(atom_of(lit))) not in self.size
                )
            )
            for rel, rules in definitions.items()
        }
        uses[("does", 2)] = [("legal", 2)]
        for members in components(uses):
            rest = [rel for rel in members if rel in definitions]
            self.size.update({rel: 0.0 for rel in members if rel not in definitions})
            if ("does", 2) in members:
                self.size[("does", 2)] = self.size.get(("legal", 2), self.full(("does", 2)))
            elif len(members) > 1 or members[0] in uses.get(members[0], ()):
                self._limit(rest, definitions)
            else:
                for rel in rest:
                    self.size[rel] = self._total(definitions[rel])
        self._atoms.clear()

    def _limit(self, members: Sequence[Relation], definitions: Mapping[Relation, Sequence[Rule]]) -> None:
        """Sets the sizes of relations that depend on each other: a few rounds, then what a geometric series goes to."""
        rounds = [dict.fromkeys(members, 0.0)]
        for _ in range(ROUNDS):
            self.size.update(rounds[-1])
            self._atoms.clear()
            rounds.append({rel: self._total(definitions[rel]) for rel in members})
        for rel in members:
            before, last = (rounds[-i][rel] - rounds[-i - 1][rel] for i in (2, 1))
            ratio = last / before if before else 0.0
            limit = rounds[-1][rel] + last * ratio / (1 - ratio) if ratio < 1 else MAX_SIZE
            self.size[rel] = min(limit, self.full(rel))
        self._atoms.clear()

    def full(self, rel: Relation) -> float:
        """The size of a relation that holds for all that the domains of its arguments allow."""
        return min(prod(domain.size for domain in self.domains.get(rel, ())), MAX_SIZE)

    def _total(self, rules: Sequence[Rule]) -> float:
        """The size of the relation that these rules define."""
        heads = [dict.fromkeys(_variables(rule.head)) for rule in rules]
        sizes = [self.join(r.body).projected(head) if r.body else 1.0 for r, head in zip(rules, heads, strict=True)]
        return min(sum(sizes), self.full(relation(rules[0].head)))

    def add(self, rule: Rule) -> None:
        """A new relation, defined by one rule."""
        found = _bound(rule.body, self.domains)
        self.domains[relation(rule.head)] = [_image(arg, found) for arg in rule.head.args]
        self.size[relation(rule.head)] = self._total([rule])

    def set(self, rel: Relation, size: float, domains: list[Domain]) -> None:
        """A new relation of a known size."""
        self.domains[rel], self.size[rel] = domains, size
        self._atoms.clear()

    def join(self, literals: Iterable[Term]) -> Join:
        """What the atoms among the literals give together; tests are taken to hold."""
        left = sorted((self.atom(literal) for literal in literals if is_atom(literal)), key=lambda atom: atom.size)
        size = 1.0
        values: dict[Variable, float] = {}
        while left:
            index = next((i for i, atom in enumerate(left) if atom.values.keys() & values.keys()), 0)
            atom = left.pop(index)
            shared = [v for v in atom.values if v in values]
            # All that the atom allows for the shared variables, and how much of it there is: relations that share
            # several variables are seldom independent of each other.
            everything = prod(atom.values[v] for v in shared)
            there = min(everything, max(atom.size, 1.0))
            overlap = prod(atom.values[v] / max(atom.values[v], values[v]) for v in shared)
            correlated = (there / everything) ** CORRELATION if len(shared) > 1 else 1.0
            size = min(size * atom.size / there * overlap * correlated, MAX_SIZE)
            for v, count in atom.values.items():
                values[v] = min(count, values.get(v, count))
        return Join(size, {v: min(count, max(size, 1.0)) for v, count in values.items()})

    def atom(self, atom: Term) -> Join:
        """What an atom gives alone."""
        known = self._atoms.get(atom)
        if known is None:
            known = self._atoms[atom] = self._estimated(atom)
        return known

    def _estimated(self, atom: Term) -> Join:
        rel = relation(atom)
        domains = self.domains.get(rel, ())
        size, everything = self.size.get(rel, 0.0), 1.0
        places: dict[Variable, list[Domain]] = defaultdict(list)
        for arg, domain in zip(atom.args, domains, strict=False):
            matching = _matching(arg, domain, places)
            # Which functions are the frequent ones is not known: each may make up all of the relation.
            among = prod(d.size for d in domain.functions.get(relation(arg), ())) if arg.args else domain.size
            size *= matching / max(among, 1.0)
            everything *= matching
        size = min(size, everything)
        for found in places.values():
            size /= prod(max(domain.size, 1.0) for domain in found[1:])
        return Join(size, {v: max(min(d.size for d in found), 1.0) for v, found in places.items()})


def _variables(term: Term) -> list[Variable]:
    if isinstance(term, Variable):
        return [term]
    return [v for arg in term.args for v in _variables(arg)]


def _matching(term: Term, domain: Domain, places: dict[Variable, list[Domain]]) -> float:
    """How many terms of the domain match, and the domains of the variables in them."""
    if isinstance(term, Variable):
        places[term].append(domain)
        return domain.size
    if isinstance(term, Symbol):
        return 1.0 if term.name in domain.constants else 0.0
    inner = domain.functions.get(relation(term))
    if inner is None:
        return 0.0
    return prod(_matching(arg, part, places) for arg, part in zip(term.args, inner, strict=True))


def _bound(body: Iterable[Term], domains: Mapping[Relation, Sequence[Domain]]) -> dict[Variable, Domain]:
    """What the atoms of a body leave for each variable."""
    bound: dict[Variable, Domain] = {}
    for literal in body:
        if is_atom(literal):
            places: dict[Variable, list[Domain]] = defaultdict(list)
            args = domains.get(relation(literal)) or [NOTHING] * len(literal.args)
            for arg, domain in zip(literal.args, args, strict=True):
                if not _matching(arg, domain, places):
                    for variable in _variables(arg):
                        places[variable].append(NOTHING)
            for variable, found in places.items():
                for domain in found:
                    bound[variable] = bound[variable] & domain if variable in bound else domain
    return bound


def _image(term: Term, bound: Mapping[Variable, Domain]) -> Domain:
    """The domain of a term whose variables have these domains."""
    if isinstance(term, Variable):
        return bound.get(term, NOTHING)
    if isinstance(term, Symbol):
        return Domain(frozenset({term.name}))
    return Domain(frozenset(), {relation(term): tuple(_image(arg, bound) for arg in term.args)})


def _domains(definitions: Mapping[Relation, Sequence[Rule]]) -> dict[Relation, list[Domain]]:
    """The domains of all arguments, each rule again until nothing is added."""
    domains: dict[Relation, list[Domain]] = {}
    users: dict[Relation, list[Rule]] = defaultdict(list)
    todo: dict[Rule, None] = {}
    for rel, rules in definitions.items():
        target = FLOWS.get(rel, rel)
        facts = [rule.head for rule in rules if not rule.body and is_ground(rule.head)]
        places = domains.setdefault(rel, [NOTHING] * rel[1])
        for i in range(rel[1]):
            constants = frozenset(fact.args[i].name for fact in facts if isinstance(fact.args[i], Symbol))
            places[i] |= Domain(constants)
            for fact in facts:
                if isinstance(fact.args[i], Compound):
                    places[i] |= _image(fact.args[i], {})
        if target != rel:
            known = domains.get(target) or [NOTHING] * rel[1]
            domains[target] = [a | b for a, b in zip(known, places, strict=True)]
        for rule in rules:
            if rule.body:
                todo[rule] = None
                for literal in rule.body:
                    if is_atom(literal):
                        users[relation(literal)].append(rule)
    while todo:
        rule = next(iter(todo))
        del todo[rule]
        bound = _bound(rule.body, domains)
        if any(not domain.size for domain in bound.values()):
            continue
        images = [_image(arg, bound).cut(MAX_DEPTH) for arg in rule.head.args]
        rel = relation(rule.head)
        for target in dict.fromkeys((rel, FLOWS.get(rel, rel))):
            known = domains.get(target) or [NOTHING] * len(images)
            merged = [a | b for a, b in zip(known, images, strict=True)]
            if merged != known or target not in domains:
                domains[target] = merged
                todo.update(dict.fromkeys(users[target]))
    return domains
