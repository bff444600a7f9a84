"""Is it GDL? The rules of the language (Love et al. 2006; GDL-II: Thielscher 2010) checked on the text of a game.

An error leaves the game unplayable or without a meaning; a warning is what published games get away with.

| errors                                                    | warnings                                               |
|-----------------------------------------------------------|--------------------------------------------------------|
| a keyword with the wrong number of arguments, in a head   | a keyword as a constant                                |
| or body where it cannot be, or as a function              | a name with several numbers of arguments               |
| no roles; a role by a rule or with a variable             | a constant that is no role where a role belongs        |
| no `terminal`; a role without a `legal` rule              | a role without `goal`, or in GDL-II without `sees`     |
| a goal that is no integer from 0 to 100                   | no `init`, no `next`                                   |
| a variable that no positive literal binds                 | a relation that is used but has no rules               |
| negation in a cycle                                       | unrestricted recursion, which may never end            |
| `init`, `base`, `input` that depend on `true` or `does`;  | `init`, `base`, `input` that depend on `legal`, `goal` |
| `legal`, `goal`, `terminal` on `does`                     | or `terminal`; the same rule twice                     |

The role `random` needs no goal and perceives nothing. Time is linear in the text.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

from ggp.dependencies import Node, components
from ggp.errors import Problem
from ggp.parser import Rulesheet, Source
from ggp.terms import CONNECTIVES, KEYWORDS, Compound, Rule, Symbol, Term, Variable, is_ground, subterms, variables

ARITY = {
    "role": 1, "init": 1, "true": 1, "does": 2, "next": 1, "legal": 2, "goal": 2, "terminal": 0, "distinct": 2,
    "base": 1, "input": 2, "sees": 2, "not": 1,
}  # fmt: skip
ONLY_IN_BODIES = CONNECTIVES | {"true", "does", "distinct"}
ONLY_IN_HEADS = frozenset({"init", "next", "sees"})
OF_ROLES = frozenset({"legal", "goal", "does", "sees", "input"})  # their first argument is a role

Atom = Symbol | Compound
Relation = tuple[str, int]  # name and number of arguments


@dataclass(frozen=True)
class Report:
    """What was found, each list in the order of the text."""

    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def validate(sheet: Rulesheet) -> Report:
    """Everything in `sheet` that is not GDL, or probably not what was meant.

    >>> from ggp.parser import parse
    >>> report = validate(parse("(role robot) (legal robot wait) (goal robot 100) (init (at ?x))", name="robot.kif"))
    >>> print(*report.errors, sep="\\n")
    robot.kif:1:1: terminal has no rules, the game would never end
    robot.kif:1:50: ?x in the head occurs in no positive literal of the body
    """
    game = _Analysis(sheet)
    return report(sheet.source, (finding for check in CHECKS for finding in check(game)))


class Finding(NamedTuple):
    """What a check found, at an offset in the text."""

    is_error: bool
    at: int
    message: str


def error(at: int, message: str) -> Finding:
    return Finding(True, at, message)


def warning(at: int, message: str) -> Finding:
    return Finding(False, at, message)


def report(source: Source, findings: Iterable[Finding]) -> Report:
    """The findings, each told once, in the order of the text."""
    found: dict[bool, set[Problem]] = {True: set(), False: set()}
    for finding in findings:
        found[finding.is_error].add(source.problem(finding.at, finding.message))
    return Report(tuple(sorted(found[True])), tuple(sorted(found[False])))


class _Use(NamedTuple):
    """An atom in the body of a rule, with the connectives around it taken off; `distinct` is one too."""

    rule: Rule
    atom: Atom
    at: int
    positive: bool


class _Analysis:
    """The rules seen from all the sides that the checks ask for."""

    def __init__(self, sheet: Rulesheet) -> None:
        self.source = sheet.source
        self.rules = sheet.rules
        self.heads: dict[Relation, list[Rule]] = defaultdict(list)
        self.uses: list[_Use] = []
        for rule in sheet.rules:
            self.heads[_relation(rule.head)].append(rule)
            for literal, at in _body(rule):
                for atom, positive in _atoms(literal):
                    if not isinstance(atom, Variable) and atom.name not in CONNECTIVES:
                        self.uses.append(_Use(rule, atom, at, positive))
        facts = [rule.head for rule in self.heads.get(("role", 1), ()) if not rule.body]
        self.roles = dict.fromkeys(fact.args[0] for fact in facts if is_ground(fact))
        edges = [(_relation(use.rule.head), _relation(use.atom)) for use in self.uses]
        self.cycle = _cycles(edges)
        self.callers: dict[Relation, dict[Relation, None]] = defaultdict(dict)
        for head, atom in edges:
            self.callers[atom][head] = None

    def line(self, at: int) -> int:
        return self.source.problem(at, "").line

    def atoms(self) -> Iterator[tuple[Atom, int]]:
        """Every atom of a head or a body, and where it is."""
        for rule in self.rules:
            yield rule.head, _head_at(rule)
        for use in self.uses:
            yield use.atom, use.at

    def recurs(self, use: _Use) -> bool:
        return self.cycle[_relation(use.rule.head)] == self.cycle[_relation(use.atom)]


def _relation(atom: Atom) -> Relation:
    return atom.name, len(atom.args)


def _head_at(rule: Rule) -> int:
    return rule.at[min(1, len(rule.at) - 1)]


def _body(rule: Rule) -> Iterator[tuple[Term, int]]:
    """Each literal and where it is; rules that were not parsed have no places."""
    where = rule.at[2:] if len(rule.at) == len(rule.body) + 2 else rule.at[:1] * len(rule.body)
    return zip(rule.body, where, strict=True)


def _atoms(literal: Term) -> Iterator[tuple[Term, bool]]:
    """What is inside the connectives of `literal`, with False where that is negated; misused connectives stay."""
    todo = [(literal, True)]
    while todo:
        item, positive = todo.pop()
        if item.name in ("and", "or") and item.args:
            todo.extend((arg, positive) for arg in reversed(item.args))
        elif item.name == "not" and len(item.args) == 1:
            todo.append((item.args[0], False))
        else:
            yield item, positive


def _shown(term: Term, most: int = 60) -> str:
    text = str(term)
    return text if len(text) <= most else text[:most] + "…"


# ---- keywords and names ----------------------------------------------------------------------------------------------


def _keywords(game: _Analysis) -> Iterator[Finding]:
    for rule in game.rules:
        name, at = rule.head.name, _head_at(rule)
        if name in ONLY_IN_BODIES:
            yield error(at, f"{name} in a head, expected it only in bodies")
        else:
            yield from _arity(rule.head, at)
        for literal, at in _body(rule):
            for atom, _ in _atoms(literal):
                if isinstance(atom, Variable):
                    yield error(at, f"variable {atom} as a literal, expected a relation")
                elif atom.name in ONLY_IN_HEADS:
                    yield error(at, f"{atom.name} in a body, expected it only in heads")
                else:
                    yield from _arity(atom, at)
    for atom, at in game.atoms():
        inside = (term for arg in atom.args for term in subterms(arg))
        for name, applied in dict.fromkeys((t.name, bool(t.args)) for t in inside if t.name.lower() in KEYWORDS):
            if applied:
                yield error(at, f"keyword {name} as a function in {_shown(atom)}, expected another name")
            else:
                yield warning(at, f"keyword {name} as a constant in {_shown(atom)}")


def _arity(atom: Atom, at: int) -> Iterator[Finding]:
    count, wanted = len(atom.args), ARITY.get(atom.name)
    if wanted is not None and count != wanted:
        yield error(at, f"{atom.name} with {_arguments(count)}, expected {wanted}")
    elif atom.name in ("or", "and"):  # those with arguments were taken apart
        yield error(at, f"{atom.name} with no arguments, expected at least 1")


def _arguments(count: int) -> str:
    return f"{count or 'no'} argument{'s' * (count != 1)}"


def _arities(game: _Analysis) -> Iterator[Finding]:
    relations = ((_relation(atom), at) for atom, at in game.atoms() if atom.name not in KEYWORDS)
    yield from _same_arity(game, relations, "relation")
    functions = (
        ((term.name, len(term.args)), at)
        for atom, at in game.atoms()
        for arg in atom.args
        for term in subterms(arg)
        if isinstance(term, Compound)
    )
    yield from _same_arity(game, functions, "function")


def _same_arity(game: _Analysis, names: Iterable[tuple[Relation, int]], kind: str) -> Iterator[Finding]:
    first: dict[str, tuple[int, int]] = {}
    seen: dict[Relation, None] = {}
    for (name, count), at in names:
        if (name, count) not in seen:
            seen[name, count] = None
            before, where = first.setdefault(name, (count, at))
            if before != count:
                yield warning(
                    at, f"{kind} {name} with {_arguments(count)}, but with {before} in line {game.line(where)}"
                )


# ---- what a game has to have -----------------------------------------------------------------------------------------


def _roles(game: _Analysis) -> Iterator[Finding]:
    if not game.roles:
        yield error(0, "no (role …) facts, expected at least one")
    for rule in game.heads.get(("role", 1), ()):
        if rule.body or not is_ground(rule.head):
            yield error(rule.at[0], f"{_shown(rule.head)} is not a ground fact, expected every role to be one")
    if game.roles:
        for atom, at in game.atoms():
            if atom.name in OF_ROLES and len(atom.args) == ARITY[atom.name]:
                role = atom.args[0]
                if role not in game.roles and is_ground(role):
                    yield warning(at, f"{_shown(role)} in {_shown(atom)} is not a role")


def _parts(game: _Analysis) -> Iterator[Finding]:
    if ("terminal", 0) not in game.heads:
        yield error(0, "terminal has no rules, the game would never end")
    if ("init", 1) not in game.heads:
        yield warning(0, "init has no rules, the game starts with an empty state")
    if ("next", 1) not in game.heads:
        yield warning(0, "next has no rules, every state after the first is empty")
    for role, at in _without(game, "legal"):
        yield error(at, f"role {role} has no rule for legal, expected a move in every state")
    players = {role for role in game.roles if str(role).lower() != "random"}
    for keyword in ("goal", "sees"):
        if keyword == "goal" or ("sees", 2) in game.heads:
            for role, at in _without(game, keyword):
                if role in players:
                    yield warning(at, f"role {role} has no rule for {keyword}")
    for rule in game.heads.get(("goal", 2), ()):
        value = rule.head.args[1]
        if not isinstance(value, Variable) and value not in GOALS:
            yield error(_head_at(rule), f"goal {_shown(value)}, expected an integer from 0 to 100")


GOALS = frozenset(Symbol(str(value)) for value in range(101))


def _without(game: _Analysis, keyword: str) -> Iterator[tuple[Term, int]]:
    """The roles for which no head with `keyword` can hold, and where they are declared."""
    served = {rule.head.args[0] for rule in game.heads.get((keyword, 2), ())}
    if all(map(is_ground, served)):
        for rule in game.heads.get(("role", 1), ()):
            role = rule.head.args[0]
            if role in game.roles and role not in served:
                yield role, rule.at[0]


def _undefined(game: _Analysis) -> Iterator[Finding]:
    told = {("distinct", 2), *((name, count) for name, count in ARITY.items() if name not in ("base", "input"))}
    for use in game.uses:
        relation = _relation(use.atom)
        if relation not in game.heads and relation not in told:
            told.add(relation)
            yield warning(
                use.at, f"relation {use.atom.name} with {_arguments(relation[1])} has no rules, it never holds"
            )


def _duplicates(game: _Analysis) -> Iterator[Finding]:
    first: dict[Rule, Rule] = {}
    for rule in game.rules:
        if (same := first.setdefault(rule, rule)) is not rule:
            yield warning(rule.at[0], f"the same rule as in line {game.line(same.at[0])}")


# ---- variables -------------------------------------------------------------------------------------------------------


def _safety(game: _Analysis) -> Iterator[Finding]:
    def needs(literal: Term) -> list[Variable]:
        return variables(literal) if literal.name in ("not", "distinct") else []

    for rule in game.rules:
        bound, literals = _unbound(rule, needs, lambda atom: True)
        if missing := [v for v in variables(rule.head) if v not in bound]:
            yield error(_head_at(rule), f"{_some(missing)} in the head occurs in no positive literal of the body")
        for literal, at, missing in literals:
            yield error(at, f"{_some(missing)} in {_shown(literal)} occurs in no positive literal of the body")


def _recursion(game: _Analysis) -> Iterator[Finding]:
    """Definition 15 of the specification, but the parts of an argument may be bound one by one."""
    for rule in {id(use.rule): use.rule for use in game.uses if use.positive and game.recurs(use)}.values():
        cycle, given = game.cycle[_relation(rule.head)], set(rule.head.args)

        def recurs(literal: Term, cycle: int = cycle) -> bool:
            return not isinstance(literal, Variable) and game.cycle.get(_relation(literal)) == cycle

        def needs(literal: Term, given: set[Term] = given, recurs: Callable[[Term], bool] = recurs) -> list[Variable]:
            return [v for arg in literal.args if arg not in given for v in variables(arg)] if recurs(literal) else []

        for literal, at, missing in _unbound(rule, needs, lambda atom, recurs=recurs: not recurs(atom))[1]:
            yield warning(
                at,
                f"{_some(missing)} in the recursive {_shown(literal)} is neither an argument of the head nor bound "
                "outside the recursion, which may never end",
            )


def _some(names: Sequence[Variable], most: int = 5) -> str:
    return ", ".join(map(str, names[:most])) + ", …" * (len(names) > most)


def _unbound(
    rule: Rule, needs: Callable[[Term], list[Variable]], binds: Callable[[Atom], bool]
) -> tuple[set[Variable], list[tuple[Term, int, list[Variable]]]]:
    """The variables that the body gives a value, and each literal that `needs` others, with those.

    Values come from the positive atoms that `binds`; from an `or` only those that every branch gives.
    """
    bound: set[Variable] = set()
    branches: dict[int, set[Variable]] = {}  # what a branch of an `or` gives, by identity
    missing: list[tuple[Term, int, list[Variable]]] = []

    def collect(literal: Term, into: set[Variable]) -> None:
        if _is_choice(literal):
            for arg in literal.args:
                collect(arg, branches.setdefault(id(arg), set()))
            into |= set.intersection(*(branches[id(arg)] for arg in literal.args))
        elif literal.name in ("and", "or"):
            for arg in literal.args:
                collect(arg, into)
        elif not isinstance(literal, Variable) and literal.name not in ("not", "distinct") and binds(literal):
            into.update(variables(literal))

    def visit(literal: Term, at: int) -> None:
        if _is_choice(literal):
            for arg in literal.args:
                inside = branches[id(arg)] - bound
                bound.update(inside)
                visit(arg, at)
                bound.difference_update(inside)
        elif literal.name in ("and", "or"):
            for arg in literal.args:
                visit(arg, at)
        elif lacking := [v for v in needs(literal) if v not in bound]:
            missing.append((literal, at, lacking))

    for literal in rule.body:
        collect(literal, bound)
    for literal, at in _body(rule):
        visit(literal, at)
    return bound, missing


def _is_choice(literal: Term) -> bool:
    return literal.name == "or" and len(literal.args) > 1


# ---- dependencies ----------------------------------------------------------------------------------------------------


def _negation(game: _Analysis) -> Iterator[Finding]:
    suspects = [use for use in game.uses if not use.positive and game.recurs(use)]
    if not suspects:
        return
    refined = _with_constants(game)
    cycle = _cycles((refined(use.rule.head), refined(use.atom)) for use in game.uses)
    for use in suspects:
        head, atom = use.rule.head, use.atom
        message = f"negation in a cycle: {head.name} depends on (not {atom.name}), and {atom.name} on {head.name}"
        if cycle[refined(head)] == cycle[refined(atom)]:
            yield error(use.at, message)
        else:
            yield warning(use.at, f"{message}; here with other constants, so that it has a meaning")


def _with_constants(game: _Analysis) -> Callable[[Atom], Hashable]:
    """Relations told apart by those arguments that are ground everywhere: `(goal ?r 0)` is not `(goal ?r 100)`."""
    ground: dict[Relation, list[bool]] = {}
    for atom, _ in game.atoms():
        flags = ground.setdefault(_relation(atom), [True] * len(atom.args))
        for index, arg in enumerate(atom.args):
            flags[index] = flags[index] and is_ground(arg)
    return lambda atom: (*_relation(atom), *compress(atom.args, ground[_relation(atom)]))


def _cycles(edges: Iterable[tuple[Node, Node]]) -> dict[Node, int]:
    """A number for each node, equal for those that depend on each other."""
    graph: dict[Node, dict[Node, None]] = {}
    for head, atom in edges:
        graph.setdefault(head, {})[atom] = None
        graph.setdefault(atom, {})
    return {node: number for number, group in enumerate(components(graph)) for node in group}


def _dependence(game: _Analysis) -> Iterator[Finding]:
    static = ("init", "base", "input")
    yield from _independent(game, static, ("true", 1), error)
    yield from _independent(game, (*static, "legal", "goal", "terminal"), ("does", 2), error)
    for relation in (("legal", 2), ("goal", 2), ("terminal", 0)):
        yield from _independent(game, static, relation, warning)


def _independent(
    game: _Analysis, heads: Iterable[str], on: Relation, finding: Callable[[int, str], Finding]
) -> Iterator[Finding]:
    """The literals through which one of `heads` depends on the relation `on`."""
    towards = {on: on}  # relation → the next one on a shortest way to `on`
    todo = deque([on])
    while todo:
        for relation in game.callers.get(here := todo.popleft(), ()):
            if relation not in towards:
                towards[relation] = here
                todo.append(relation)
    for use in game.uses:
        head, here = use.rule.head.name, _relation(use.atom)
        if head in heads and here in towards:
            way: list[str] = []
            while here != on and len(way) <= 5:
                way.append(here[0] if len(way) < 5 else "…")
                here = towards[here]
            yield finding(use.at, f"{head} depends on {on[0]}{' through ' * bool(way)}{', '.join(way)}")


CHECKS = (
    _keywords, _arities, _roles, _parts, _undefined, _duplicates, _safety, _recursion, _negation, _dependence,
)  # fmt: skip
