"""Relations that are asked only for some of their instances are derived only for those: magic sets.

A helper such as `(count ?x ?y ?z ?player ?n)` may have millions of instances of which the rules ask for six. Each such
relation gets a second one, its demand, which holds the arguments that are known wherever the relation is used; and all
its rules begin with it. What is demanded need only be a superset. So the demand is a free choice to the grounder and is
taken to hold afterwards: it restricts what is ground and leaves no trace in the ground rules.
Beeri and Ramakrishnan, "On the Power of Magic", 1991.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import prod

from ggp.dependencies import components
from ggp.propnet.estimate import Estimate
from ggp.propnet.flatten import applied, atom_of, bound_by, is_atom
from ggp.terms import Relation, Rule, Term, Variable, is_ground, relation, variables

PREFIX = "demand "  # of the new names
MIN_SIZE, MIN_STATIC_SIZE = 1_000, 100_000  # of a relation that is worth it; static ones cost little
MAX_SHARE = 0.2  # of the instances of a relation that are demanded
HOPELESS = 10_000_000  # instances: too many to derive, so any demand is better than none

Positions = tuple[int, ...]  # arguments that are known wherever a relation is used


def demand(rel: Relation) -> str:
    """The name of the demand for a relation."""
    return f"{PREFIX}{rel[0]}/{rel[1]}"


def is_demand(atom: Term) -> bool:
    return atom.name.startswith(PREFIX)


def directed(rules: Sequence[Rule], static: Collection[Relation], free: Collection[Relation]) -> list[Rule]:
    """Rules that say the same of what is asked for; the relations in `free` stay whole. A demand has a name of ours.

    >>> from ggp.parser import parse
    >>> text = "(<= terminal (p a b ?x)) (<= (p ?x ?y ?z) (true (f ?x)) (true (f ?y)) (true (f ?z))) (init (f a))"
    >>> text += " ".join(f"(init (f {i}))" for i in range(10))
    >>> for rule in directed(parse(text).rules, (), ()):
    ...     if rule.head.name != "init":
    ...         print(rule)
    (<= terminal (p a b ?x))
    (<= (p ?x ?y ?z) (demand p/3 ?x ?y) (true (f ?x)) (true (f ?y)) (true (f ?z)))
    (demand p/3 a b)
    """
    work = _Demand(rules, static, free)
    demands = work.demands()
    while wasted := work.wasted(demands):
        for rel in wasted:
            del work.positions[rel]
        demands = work.demands()
    found = [Rule(rule.head, (*work.asked(rule.head), *rule.body)) if rule.body else rule for rule in rules]
    found += dict.fromkeys(rule for group in demands.values() for rule in group if rule.head not in rule.body)
    return found


def connected(head: Term, literals: Iterable[Term]) -> tuple[Term, ...]:
    """The literals that have variables of the head, or of other literals that do."""
    reached = set(variables(head))
    left = [(literal, set(variables(literal))) for literal in literals]
    found: list[Term] = []
    while near := [literal for literal, mine in left if mine & reached]:
        found += near
        reached.update(*(mine for _, mine in left if mine & reached))
        left = [(literal, mine) for literal, mine in left if literal not in near]
    return tuple(found)


class _Demand:
    """Which arguments of which relations are known beforehand, and by which literals."""

    def __init__(self, rules: Sequence[Rule], static: Collection[Relation], free: Collection[Relation]) -> None:
        self.rules = rules
        self.sizes = Estimate(rules)
        definitions: dict[Relation, list[Rule]] = defaultdict(list)
        for rule in rules:
            definitions[relation(rule.head)].append(rule)
        uses = {
            rel: list(dict.fromkeys(relation(atom_of(lit)) for rule in rules for lit in rule.body))
            for rel, rules in definitions.items()
        }
        self.order = [rel for members in reversed(components(uses)) for rel in members]  # users before used
        self.component = {rel: i for i, members in enumerate(components(uses)) for rel in members}
        self.positions: dict[Relation, Positions] = {}
        self.unsafe: set[Relation] = set()  # some of their arguments are known only where they are used
        for rel, rules in definitions.items():
            worth = self.sizes.size[rel] >= (MIN_STATIC_SIZE if rel in static else MIN_SIZE)
            if any(not bound_by(rule.body).issuperset(variables(rule.head)) for rule in rules):
                self.unsafe.add(rel)
            if rel[1] and rel not in free and any(rule.body for rule in rules) and (worth or rel in self.unsafe):
                self.positions[rel] = tuple(range(rel[1]))

    def asked(self, atom: Term) -> tuple[Term, ...]:
        """The demand for an atom; none where its relation is whole."""
        positions = self.positions.get(relation(atom), ())
        return (applied(demand(relation(atom)), [atom.args[i] for i in positions]),) if positions else ()

    def demands(self) -> dict[Relation, list[Rule]]:
        """The rules of all demands. An argument that is not known at some place is no longer among the positions."""
        while True:
            found: dict[Relation, list[Rule]] = {rel: [] for rel in self.order if rel in self.positions}
            before = dict(self.positions)
            for rule in self.rules:
                for atom, context in self.calls(rule):
                    for head in self.asked(atom):
                        assert not isinstance(head, Variable)
                        found[relation(atom)].append(Rule(head, connected(head, context)))
            if self.positions == before:
                return found

    def calls(self, rule: Rule) -> Iterator[tuple[Term, list[Term]]]:
        """The restricted atoms of a body in an order in which what they need is known, and what makes it known."""
        context: list[Term] = [*self.asked(rule.head)]
        context += [lit for lit in rule.body if is_atom(lit) and relation(lit) not in self.positions]
        left = [lit for lit in rule.body if is_atom(lit) and relation(lit) in self.positions]
        while left:
            bound = bound_by(context)
            literal = min(left, key=lambda lit: len(self.unknown(lit, bound, rule.head)))
            left.remove(literal)
            self.forget(literal, bound, rule.head)
            yield literal, list(context)
            context.append(literal)
        bound = bound_by(context)
        for literal in rule.body:
            if not is_atom(literal) and relation(atom_of(literal)) in self.positions:
                self.forget(atom_of(literal), bound, rule.head)
                yield atom_of(literal), context

    def forget(self, atom: Term, bound: set[Variable], head: Term) -> None:
        """Takes the arguments that are not known here from the positions of the relation."""
        unknown = self.unknown(atom, bound, head)
        known = tuple(i for i in self.positions.pop(relation(atom), ()) if i not in unknown)
        if known:
            self.positions[relation(atom)] = known

    def unknown(self, atom: Term, bound: set[Variable], head: Term) -> set[int]:
        """The positions of an atom that are not known, or that would make terms grow without end."""
        rel = relation(atom)
        recursive = self.component[rel] == self.component[relation(head)]
        args = [(i, atom.args[i]) for i in self.positions.get(rel, ())]
        return {
            i
            for i, arg in args
            if not bound.issuperset(variables(arg)) or (recursive and bool(arg.args) and not is_ground(arg))
        }

    def wasted(self, demands: dict[Relation, list[Rule]]) -> list[Relation]:
        """The relations of which most instances are demanded."""
        found = []
        for rel, rules in demands.items():
            positions = self.positions[rel]
            whole = prod(self.sizes.domains[rel][i].size for i in positions)
            first = [rule for rule in rules if not any(relation(lit) == relation(rule.head) for lit in rule.body)]
            total = 0.0
            for rule in first:
                total += self.sizes.join(rule.body).projected(variables(rule.head)) if rule.body else 1.0
            domains = [self.sizes.domains[rel][i] for i in positions]
            self.sizes.set((demand(rel), len(positions)), min(total, whole), domains)
            if total > MAX_SHARE * whole and rel not in self.unsafe and self.sizes.size[rel] < HOPELESS:
                found.append(rel)
        return found
