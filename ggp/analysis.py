"""The rules of a game seen from the sides that `validate` asks for: heads, uses, cycles, and what binds a variable.

Everything takes time about linear in the text, whatever the text: rules come from strangers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from itertools import compress
from typing import NamedTuple

from ggp.dependencies import Node, components
from ggp.parser import Rulesheet
from ggp.terms import CONNECTIVES, Compound, Relation, Rule, Symbol, Term, Variable, is_ground, relation, variables

Atom = Symbol | Compound


class Use(NamedTuple):
    """An atom in the body of a rule with the connectives around it taken off; `distinct` counts as one."""

    rule: Rule
    atom: Atom
    at: int
    positive: bool


class Gap(NamedTuple):
    """A literal whose variables `missing` have no value."""

    literal: Term
    at: int
    missing: list[Variable]


class Analysis:
    """Where each relation is defined and used, and which relations depend on each other."""

    def __init__(self, sheet: Rulesheet) -> None:
        self.source = sheet.source
        self.rules = sheet.rules
        self.heads: dict[Relation, list[Rule]] = defaultdict(list)
        self.uses: list[Use] = []
        self.misfits: list[tuple[Term, int]] = []  # variables and bare connectives where a literal belongs
        for rule in sheet.rules:
            self.heads[relation(rule.head)].append(rule)
            for literal, at in body(rule):
                for part, positive in parts(literal):
                    if isinstance(part, Variable) or part.name in CONNECTIVES:
                        self.misfits.append((part, at))
                    else:
                        self.uses.append(Use(rule, part, at, positive))
        seats = (rule.head for rule in self.heads.get(("role", 1), ()) if not rule.body)
        self.roles = dict.fromkeys(seat.args[0] for seat in seats if is_ground(seat))
        self.callers = graph((atom, head) for head, atom in map(edge, self.uses))
        self.cycle = cycles(self.callers)

    def line(self, at: int) -> int:
        return self.source.problem(at, "").line

    def atoms(self) -> Iterator[tuple[Atom, int]]:
        """Every atom of a head or a body, and where it is."""
        for rule in self.rules:
            yield rule.head, head_at(rule)
        for use in self.uses:
            yield use.atom, use.at

    def recurs(self, use: Use) -> bool:
        """Whether the atom depends on the head of its own rule."""
        head, atom = edge(use)
        return self.cycle[head] == self.cycle[atom]

    def ways_to(self, goal: Relation) -> dict[Relation, Relation]:
        """All relations that depend on `goal`, each with the next one on a shortest way there; `goal` with itself."""
        ways = {goal: goal}
        todo = deque([goal])
        while todo:
            here = todo.popleft()
            for caller in self.callers.get(here, ()):
                if caller not in ways:
                    ways[caller] = here
                    todo.append(caller)
        return ways

    def with_constants(self) -> Callable[[Atom], Hashable]:
        """Tells relations apart by the arguments that are ground everywhere: `(goal ?r 0)` is not `(goal ?r 100)`."""
        ground: dict[Relation, list[bool]] = {}
        for atom, _ in self.atoms():
            flags = ground.setdefault(relation(atom), [True] * len(atom.args))
            for index, arg in enumerate(atom.args):
                flags[index] = flags[index] and is_ground(arg)
        return lambda atom: (*relation(atom), *compress(atom.args, ground[relation(atom)]))


def edge(use: Use) -> tuple[Relation, Relation]:
    return relation(use.rule.head), relation(use.atom)


def head_at(rule: Rule) -> int:
    return rule.at[1] if len(rule.at) > 1 else rule.at[0]


def body(rule: Rule) -> Iterator[tuple[Term, int]]:
    """Each literal and where it is; rules that were not parsed have one place for all."""
    places = rule.at[2:] if len(rule.at) == len(rule.body) + 2 else rule.at[:1] * len(rule.body)
    return zip(rule.body, places, strict=True)


def parts(literal: Term) -> Iterator[tuple[Term, bool]]:
    """What is inside the connectives, with False where it is negated; connectives that are misused stay.

    >>> from ggp.parser import parse_term
    >>> [(str(part), positive) for part, positive in parts(parse_term("(or p (not (and q ?x)) (not))"))]
    [('p', True), ('q', False), ('?x', False), ('(not)', True)]
    """
    todo = [(literal, True)]
    while todo:
        item, positive = todo.pop()
        if item.name in ("and", "or") and item.args:
            todo.extend((arg, positive) for arg in reversed(item.args))
        elif item.name == "not" and len(item.args) == 1:
            todo.append((item.args[0], False))
        else:
            yield item, positive


def graph(edges: Iterable[tuple[Node, Node]]) -> dict[Node, dict[Node, None]]:
    """The nodes that each node leads to, once each and in order."""
    found: dict[Node, dict[Node, None]] = defaultdict(dict)
    for start, end in edges:
        found[start][end] = None
    return found


def cycles(edges: Mapping[Node, Collection[Node]]) -> dict[Node, int]:
    """A number for each node, equal for those that lead to each other.

    >>> cycles({"a": "b", "b": "ac"})
    {'c': 0, 'b': 1, 'a': 1}
    """
    return {node: number for number, group in enumerate(components(edges)) for node in group}


class Bindings:
    """The variables that the body of a rule gives a value, and the literals that need more than those.

    Values come from the positive atoms that `binds`; from an `or` only where every branch gives one.
    """

    def __init__(
        self, rule: Rule, needs: Callable[[Term], list[Variable]], binds: Callable[[Atom], bool] = lambda atom: True
    ) -> None:
        self.bound: set[Variable] = set()
        self.gaps: list[Gap] = []
        self._needs, self._binds = needs, binds
        self._branches: dict[int, set[Variable]] = {}  # what each branch of an `or` gives, by identity
        for literal in rule.body:
            self._collect(literal, self.bound)
        for literal, at in body(rule):
            self._visit(literal, at)

    def _collect(self, literal: Term, into: set[Variable]) -> None:
        if literal.name == "or" and len(literal.args) > 1:
            for arg in literal.args:
                self._collect(arg, self._branches.setdefault(id(arg), set()))
            into |= set.intersection(*(self._branches[id(arg)] for arg in literal.args))
        elif literal.name in ("and", "or"):
            for arg in literal.args:
                self._collect(arg, into)
        elif not isinstance(literal, Variable) and literal.name not in ("not", "distinct") and self._binds(literal):
            into.update(variables(literal))

    def _visit(self, literal: Term, at: int) -> None:
        if literal.name in ("and", "or"):
            for arg in literal.args:
                inside = self._branches.get(id(arg), set()) - self.bound
                self.bound |= inside
                self._visit(arg, at)
                self.bound -= inside
        elif missing := [variable for variable in self._needs(literal) if variable not in self.bound]:
            self.gaps.append(Gap(literal, at, missing))
