"""GDL rules to Prolog clauses.

Every symbol of the rules becomes a quoted atom, and every relation a predicate whose name no Prolog predicate has: it
contains a space. So nothing in a rulesheet can reach a built-in. What decides the speed:

- A relation is compiled once for each *adornment* it is called with (`bf`: first argument bound, second free), as for
  magic sets, because then it is known which literals of a body are mere tests.
- Tests (`not`, `distinct`, ground atoms) move forward to where their variables are bound, never further.
- Where the rest of a body binds nothing that anybody needs, its first solution is enough.
- Only recursive relations are tabled. Those that do not depend on the state keep their tables, and small relations that
  do not depend on it are replaced by their facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ggp.dependencies import components
from ggp.terms import CONNECTIVES, Compound, Relation, Rule, Symbol, Term, Variable, relation, substitute, variables

ROOTS: tuple[tuple[Relation, str], ...] = (
    (("legal", 2), "bf"),
    (("next", 1), "f"),
    (("terminal", 0), ""),
    (("goal", 2), "bf"),
    (("sees", 2), "bf"),
    (("init", 1), "f"),
)
STATE_RELATIONS = {("true", 1), ("does", 2)}
MAX_ADORNMENTS = 8  # of one relation; beyond that the version with all arguments free serves


def quoted(name: str) -> str:
    """`name` as a Prolog atom, whatever is in it.

    >>> quoted("it's"), quoted("X"), quoted("back\\\\slash")
    ("'it\\\\'s'", "'X'", "'back\\\\\\\\slash'")
    """
    if name.isascii() and name.isprintable():
        return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + "".join(c if c.isalnum() else f"\\x{ord(c):x}\\" for c in name) + "'"


def data(term: Term) -> str:
    """A GDL term as a Prolog term; variables must have been named for Prolog before."""
    if isinstance(term, Variable):
        return term.name
    if isinstance(term, Symbol):
        return quoted(term.name)
    return f"{quoted(term.name)}({','.join(map(data, term.args))})"


def atoms(literal: Term, *, negated: bool = False) -> Iterator[tuple[Term, bool]]:
    """The atoms of a literal, and whether they stand under `not`. `distinct` is no atom."""
    if literal.name in CONNECTIVES and isinstance(literal, Compound):
        for arg in literal.args:
            yield from atoms(arg, negated=negated or literal.name == "not")
    elif literal.name != "distinct":
        yield literal, negated


@dataclass
class Program:
    """The relations of a game, what depends on what, and how facts of the state are called in Prolog."""

    rules: Sequence[Rule]
    materialised: set[Relation] = field(default_factory=set)  # static relations that are Prolog facts by now

    def __post_init__(self) -> None:
        self.definitions: dict[Relation, list[Rule]] = defaultdict(list)
        for rule in self.rules:
            self.definitions[relation(rule.head)].append(rule)
        uses = {
            rel: {relation(atom) for rule in rules for literal in rule.body for atom, _ in atoms(literal)}
            for rel, rules in self.definitions.items()
        }
        self.component: dict[Relation, int] = {}
        self.recursive: set[Relation] = set()
        self.dynamic: set[Relation] = set(STATE_RELATIONS)
        self.order: list[Relation] = []  # used before users
        for number, members in enumerate(components(uses)):
            group = set(members)
            self.order += members
            self.component.update(dict.fromkeys(members, number))
            if len(members) > 1 or members[0] in uses.get(members[0], ()):
                self.recursive |= group
            if any(used in self.dynamic for member in members for used in uses.get(member, ())):
                self.dynamic |= group
        # `(true ?f)` may mean any fact: then all facts go through one predicate, else each name has one of its own.
        facts: list[Term] = [r.head for rel in (("next", 1), ("init", 1)) for r in self.definitions.get(rel, ())]
        facts += [a for r in self.rules for literal in r.body for a, _ in atoms(literal) if relation(a) == ("true", 1)]
        self.flat = not any(isinstance(fact.args[0], Variable) for fact in facts)

    def fact(self, term: Term) -> str:
        """A fact of the state as the goal that asks for it."""
        if not self.flat:
            return f"'t '({data(term)})"
        return applied(quoted(f"t {term.name}"), map(data, term.args))

    def fact_predicates(self) -> set[str]:
        """Name/arity of the predicates that hold the state."""
        if not self.flat:
            return {"'t '/1"}
        places = {("next", 1), ("init", 1), ("true", 1)}
        used: list[Term] = [rule.head for rule in self.rules]
        used += [atom for rule in self.rules for literal in rule.body for atom, _ in atoms(literal)]
        inner = [atom.args[0] for atom in used if relation(atom) in places]
        return {f"{quoted('t ' + fact.name)}/{len(fact.args)}" for fact in inner}

    def is_plain(self, rel: Relation) -> bool:
        """Whether the relation is a list of Prolog facts, called the same whatever is bound."""
        return rel in self.materialised or all(not rule.body for rule in self.definitions.get(rel, ()))


def plain_facts(program: Program) -> Module:
    """The relations that the rules give as plain facts."""
    facts = [
        applied(predicate(rel, None), map(data, renamed(rule.head)[0].args))
        for rel, rules in program.definitions.items()
        if program.is_plain(rel) and rel[0] not in ("init", "next")
        for rule in rules
    ]
    return Module("static", facts)


def candidates(program: Program) -> list[Relation]:
    """Relations with rules that do not depend on the state, used before users: worth replacing by their facts."""
    return [
        rel
        for rel in program.order
        if rel in program.definitions and rel not in program.dynamic and not program.is_plain(rel) and rel[0] != "init"
    ]


@dataclass(frozen=True)
class Module:
    """Clauses for one module of `engine.pl`, and which of its predicates are tabled."""

    name: str  # `game` where they depend on the state: its tables last until the state changes; else `static`
    clauses: list[str] = field(default_factory=list)
    tabled: list[str] = field(default_factory=list)


def compile_program(program: Program, roots: Iterable[tuple[Relation, str]] = ROOTS) -> tuple[Module, Module]:
    """Everything that the roots need, each relation in the adornments it is called with."""
    static, dynamic = Module("static"), Module("game")
    todo = list(roots)
    done: dict[Relation, set[str]] = defaultdict(set)
    for rel, adornment in todo:
        done[rel].add(adornment)

    def call(rel: Relation, adornment: str) -> str:
        """The version to be called: this adornment's, unless there are too many of them."""
        versions = done[rel]
        if len(versions) >= MAX_ADORNMENTS and adornment not in versions:
            adornment = "f" * rel[1]
        if adornment not in versions:
            versions.add(adornment)
            todo.append((rel, adornment))
        return adornment

    while todo:
        rel, adornment = todo.pop()
        module = dynamic if rel in program.dynamic else static
        name = predicate(rel, adornment)
        rules = program.definitions.get(rel, [])
        module.clauses.extend(_Clause(program, call).clause(rule, adornment) for rule in rules)
        if not rules:
            module.clauses.append(f"{applied(name, '_' * rel[1])} :- fail")
        if rel in program.recursive:
            module.tabled.append(f"{name}/{rel[1]}")
    return static, dynamic


def predicate(rel: Relation, adornment: str | None) -> str:
    """The Prolog name of a relation; None: it is a list of facts."""
    return quoted(f"r {rel[0]}" if adornment is None else f"r {rel[0]} {adornment}")


def renamed(*terms: Term) -> list[Term]:
    """The terms of one rule with their variables named V0, V1, … for Prolog."""
    found = dict.fromkeys(v for term in terms for v in variables(term))
    names = {variable: Variable(f"V{i}") for i, variable in enumerate(found)}
    return [substitute(term, names) for term in terms]


def applied(name: str, args: Iterable[str]) -> str:
    """`name(args)`, or `name` where there are none."""
    shown = ",".join(args)
    return f"{name}({shown})" if shown else name


class _Clause:
    """One rule on its way to one clause: its variables, and the order of its body."""

    def __init__(self, program: Program, call: Callable[[Relation, str], str]) -> None:
        self.program = program
        self.call = call

    def clause(self, rule: Rule, adornment: str) -> str:
        head, *body = renamed(rule.head, *rule.body)
        self.own = self.program.component[relation(head)]
        bound = {v for arg, mode in zip(head.args, adornment, strict=True) if mode == "b" for v in variables(arg)}
        wanted = {v for arg in head.args for v in variables(arg)}
        goals = self.conjunction(body, bound, wanted)
        name = predicate(relation(head), adornment)
        if head.name in ("init", "next") and len(head.args) == 1:
            args = [self.program.fact(head.args[0])]
        else:
            args = [data(arg) for arg in head.args]
        shown = applied(name, args)
        return f"{shown} :- {goals}" if goals != "true" else shown

    def conjunction(self, literals: Sequence[Term], bound: set[Variable], wanted: Collection[Variable]) -> str:
        """Goals for all literals in a good order. `bound` grows; `wanted` are the variables needed outside."""
        left = list(literals)
        wanted = set(wanted)
        goals: list[str] = []
        settled: int | None = 0 if wanted <= bound else None  # from here on nothing wanted gets bound
        recursive_at = -1
        while left:
            literal = self.pick(left, bound)
            left.remove(literal)
            later = wanted.union(*map(variables, left)) if left else wanted
            if any(self.same_component(atom) for atom, _ in atoms(literal)):
                recursive_at = len(goals)
            goals.append(self.goal(literal, bound, later))
            if settled is None and wanted <= bound:
                settled = len(goals)
        # A cut over a call that takes part in the same recursion would lose answers: such bodies stay as they are.
        if settled is not None and len(goals) - settled > 1 and recursive_at < settled:
            goals[settled:] = [f"({','.join(goals[settled:])}->true)"]
        return ",".join(goals) or "true"

    def pick(self, left: list[Term], bound: set[Variable]) -> Term:
        """What to do next: a test whose variables are bound, a cheap ground atom, else the first that is ready."""
        ready = [literal for literal in left if needs(literal) <= bound]
        for literal in ready:
            if is_test(literal) and bound.issuperset(variables(literal)):
                return literal
        for literal in ready:
            if self.is_cheap(literal) and bound.issuperset(variables(literal)):
                return literal
        if ready:
            return ready[0]
        positive = [literal for literal in left if not is_test(literal)]
        return (positive or left)[0]  # an unsafe rule: negation as failure with what is bound

    def is_cheap(self, literal: Term) -> bool:
        rel = relation(literal)
        return rel in STATE_RELATIONS or (literal.name not in CONNECTIVES and self.program.is_plain(rel))

    def same_component(self, atom: Term) -> bool:
        return self.program.component.get(relation(atom)) == self.own and relation(atom) in self.program.recursive

    def goal(self, literal: Term, bound: set[Variable], later: set[Variable]) -> str:
        """One literal as a Prolog goal; `bound` grows by what it binds."""
        mine = set(variables(literal))
        if literal.name == "not" and isinstance(literal, Compound):
            return f"\\+({self.conjunction(literal.args, set(bound), ())})"
        if literal.name == "distinct":
            return f"{data(literal.args[0])}\\={data(literal.args[1])}"
        once = mine & later <= bound and not any(self.same_component(atom) for atom, _ in atoms(literal))
        if literal.name == "and" and isinstance(literal, Compound):
            goal = self.conjunction(literal.args, bound, later)
        elif literal.name == "or" and isinstance(literal, Compound):
            branches, after = [], []
            for arg in literal.args:
                branch = set(bound)
                branches.append(self.conjunction([arg], branch, later))
                after.append(branch)
            bound |= set.intersection(*after)
            goal = f"({';'.join(branches)})"
        else:
            goal, plain = self.atom(literal, bound)
            bound |= mine
            once = once and not plain
        return f"({goal}->true)" if once else goal

    def atom(self, atom: Term, bound: set[Variable]) -> tuple[str, bool]:
        """An atom as a goal, and whether it is a mere look-up that has no second answer where it is ground."""
        rel = relation(atom)
        ground = bound.issuperset(variables(atom))
        if rel == ("true", 1):
            return self.program.fact(atom.args[0]), ground
        args = list(map(data, atom.args))
        if rel == ("does", 2):
            return applied("does", args), ground
        if rel not in self.program.definitions:
            return "fail", True
        if self.program.is_plain(rel):
            return applied(predicate(rel, None), args), ground
        adornment = "".join("b" if bound.issuperset(variables(arg)) else "f" for arg in atom.args)
        return applied(predicate(rel, self.call(rel, adornment)), args), False


def is_test(literal: Term) -> bool:
    """Whether a literal binds nothing: `not`, `distinct`, and alternatives of only those."""
    if literal.name in ("or", "and") and isinstance(literal, Compound):
        return all(map(is_test, literal.args))
    return literal.name in ("not", "distinct") and isinstance(literal, Compound)


def needs(literal: Term) -> set[Variable]:
    """Variables that must be bound before: those of tests which nothing beside them binds."""
    if is_test(literal):
        return set(variables(literal))
    if literal.name == "or" and isinstance(literal, Compound):
        return set().union(*map(needs, literal.args))
    if literal.name == "and" and isinstance(literal, Compound):
        given = {v for arg in literal.args if not is_test(arg) for v in variables(arg)}
        return set().union(*map(needs, literal.args)) - given
    return set()
