"""Is it GDL? The rules of the language (Love et al. 2006; GDL-II: Thielscher 2010) checked on the text of a game.

An error leaves the game unplayable or without a meaning; a warning is what a game can live with.

| errors                                                    | warnings                                               |
|-----------------------------------------------------------|--------------------------------------------------------|
| a keyword with the wrong number of arguments, in a head   | a keyword as a constant                                |
| or body where it cannot be, or as a function              | a name with several numbers of arguments               |
| a variable where a literal belongs                        | a relation that is used but has no rules               |
| no roles; a role by a rule or with a variable             | a constant that is no role where a role belongs        |
| no `terminal`; a role without a `legal` rule              | a role without `goal`, or in GDL-II without `sees`     |
| a goal that is no integer from 0 to 100                   | no `init`, no `next`; the same rule twice              |
| a variable that no positive literal binds                 | recursion that is not restricted: it may never end     |
| negation in a cycle                                       | … if constants break the cycle, as for `goal` in 13    |
|                                                           | public games                                           |
| `init`, `base`, `input` that depend on `true` or `does`;  | `init`, `base`, `input` that depend on `legal`, `goal` |
| `legal`, `goal`, `terminal` on `does`                     | or `terminal`                                          |

The role `random` needs no goal and perceives nothing. Negations and choices may be nested at will.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ggp.analysis import Analysis, Atom, Bindings, Gap, Use, cycles, graph, head_at
from ggp.errors import Problem
from ggp.parser import Rulesheet, Source
from ggp.terms import (
    CONNECTIVES,
    KEYWORDS,
    Compound,
    Relation,
    Rule,
    Symbol,
    Term,
    Variable,
    collector_paused,
    is_ground,
    relation,
    subterms,
    variables,
)

ARITY = {
    "role": 1, "init": 1, "true": 1, "does": 2, "next": 1, "legal": 2, "goal": 2, "terminal": 0, "distinct": 2,
    "base": 1, "input": 2, "sees": 2, "not": 1,
}  # fmt: skip
ONLY_IN_BODIES = CONNECTIVES | {"true", "does", "distinct"}
ONLY_IN_HEADS = frozenset({"init", "next", "sees"})
OF_ROLES = frozenset({"legal", "goal", "does", "sees", "input"})  # their first argument is a role
MAX_FINDINGS = 1000  # errors, and warnings, of one check
GOALS = frozenset(Symbol(str(value)) for value in range(101))


@dataclass(frozen=True)
class Report:
    """What was found, in the order of the text."""

    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()  # worth a look, often meant so; only play shows any


@collector_paused()
def validate(sheet: Rulesheet) -> Report:
    """All in `sheet` that is not GDL, or probably not what was meant. Time is about linear in the text.

    >>> from ggp.parser import parse
    >>> report = validate(parse("(role robot) (legal robot wait) (goal robot 100) (init (at ?x))", name="robot.kif"))
    >>> print(*report.errors, sep="\\n")
    robot.kif:1:1: terminal has no rules, the game would never end
    robot.kif:1:50: ?x in the head occurs in no positive literal of the body
    """
    game = Analysis(sheet)
    return report(sheet.source, (finding for check in CHECKS for finding in _first(check(game))))


def malformed(sheet: Rulesheet) -> tuple[Problem, ...]:
    """The errors that no engine can make sense of: keywords with too few arguments, or where they cannot be."""
    return report(sheet.source, _first(_keywords(Analysis(sheet)))).errors


class Finding(NamedTuple):
    """What a check found, at an offset in the text."""

    kind: str  # error, warning or note
    at: int
    message: str


def error(at: int, message: str) -> Finding:
    return Finding("error", at, message)


def warning(at: int, message: str) -> Finding:
    return Finding("warning", at, message)


def note(at: int, message: str) -> Finding:
    return Finding("note", at, message)


def _first(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first errors and the first warnings of one check."""
    told: Counter[str] = Counter()
    for finding in findings:
        told[finding.kind] += 1
        if told[finding.kind] <= MAX_FINDINGS:
            yield finding
        elif told[finding.kind] == MAX_FINDINGS + 1:
            yield finding._replace(message="too many findings of this kind, the rest is left out")


def report(source: Source, findings: Iterable[Finding]) -> Report:
    """The findings, each told once, with their lines and columns."""
    found: dict[str, set[Problem]] = {"error": set(), "warning": set(), "note": set()}
    for finding in findings:
        found[finding.kind].add(source.problem(finding.at, finding.message))
    return Report(*(tuple(sorted(some)) for some in found.values()))


def shown(text: object, most: int = 60) -> str:
    """The beginning of a text that may be long."""
    whole = str(text)
    return whole if len(whole) <= most else whole[:most] + "…"


# ---- keywords and names ----------------------------------------------------------------------------------------------


def _keywords(game: Analysis) -> Iterator[Finding]:
    for rule in game.rules:
        if rule.head.name in ONLY_IN_BODIES:
            yield error(head_at(rule), f"{rule.head.name} in a head, expected it only in bodies")
        else:
            yield from _arity(rule.head, head_at(rule))
    for use in game.uses:
        if use.atom.name in ONLY_IN_HEADS:
            yield error(use.at, f"{use.atom.name} in a body, expected it only in heads")
        else:
            yield from _arity(use.atom, use.at)
    for term, at in game.misfits:
        if isinstance(term, Variable):
            yield error(at, f"variable {shown(term)} as a literal, expected a relation")
        else:
            yield from _arity(term, at)


def _keywords_as_names(game: Analysis) -> Iterator[Finding]:
    for atom, at in game.atoms():
        for name, applied in dict.fromkeys((t.name.lower(), bool(t.args)) for t in _inner(atom)):
            if name in KEYWORDS and applied:
                yield error(at, f"keyword {name} as a function in {shown(atom)}, expected another name")
            elif name in KEYWORDS:
                yield warning(at, f"keyword {name} as a constant in {shown(atom)}")


def _arity(atom: Atom, at: int) -> Iterator[Finding]:
    count, wanted = len(atom.args), ARITY.get(atom.name)
    if wanted is not None and count != wanted:
        yield error(at, f"{atom.name} with {_arguments(count)}, expected {wanted}")
    elif atom.name in ("or", "and"):  # those with arguments have been taken apart
        yield error(at, f"{atom.name} with no arguments, expected at least 1")


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count or 'no'} arguments"


def _inner(atom: Atom) -> Iterator[Term]:
    return (term for arg in atom.args for term in subterms(arg))


def _arities(game: Analysis) -> Iterator[Finding]:
    relations = ((atom, at) for atom, at in game.atoms() if atom.name not in KEYWORDS)
    yield from _same_arity(game, "relation", relations)
    functions = ((term, at) for atom, at in game.atoms() for term in _inner(atom) if isinstance(term, Compound))
    yield from _same_arity(game, "function", functions)


def _same_arity(game: Analysis, kind: str, terms: Iterable[tuple[Term, int]]) -> Iterator[Finding]:
    first: dict[str, tuple[int, int]] = {}
    seen: set[Relation] = set()
    for term, at in terms:
        name, count = this = relation(term)
        if this not in seen:
            seen.add(this)
            before, where = first.setdefault(name, (count, at))
            if before != count:
                message = f"{kind} {shown(name)} with {_arguments(count)}, but with {before} in line {game.line(where)}"
                yield warning(at, message)


# ---- what a game must have -------------------------------------------------------------------------------------------


def _roles(game: Analysis) -> Iterator[Finding]:
    if not game.roles:
        yield error(0, "no (role …) facts, expected at least one")
    for rule in game.heads.get(("role", 1), ()):
        if rule.body or not is_ground(rule.head):
            yield error(rule.at[0], f"{shown(rule.head)} by a rule or with a variable, expected ground facts for roles")
    for atom, at in game.atoms():
        if atom.name in OF_ROLES and len(atom.args) == ARITY[atom.name]:
            role = atom.args[0]
            if game.roles and role not in game.roles and is_ground(role):
                yield warning(at, f"{shown(role)} in {shown(atom)} is not a role")


def _parts(game: Analysis) -> Iterator[Finding]:
    if ("terminal", 0) not in game.heads:
        yield error(0, "terminal has no rules, the game would never end")
    if ("init", 1) not in game.heads:
        yield warning(0, "init has no rules, the game begins with an empty state")
    if ("next", 1) not in game.heads:
        yield warning(0, "next has no rules, every state but the first is empty")
    for rule in _roles_without("legal", game):
        yield error(rule.at[0], f"no rule for legal serves role {shown(rule.head.args[0])}, it could never move")
    for keyword in ("goal", "sees") if ("sees", 2) in game.heads else ("goal",):
        for rule in _roles_without(keyword, game):
            if (role := shown(rule.head.args[0])).lower() != "random":
                yield warning(rule.at[0], f"no rule for {keyword} serves role {role}")
    for rule in game.heads.get(("goal", 2), ()):
        value = rule.head.args[1]
        if not isinstance(value, Variable) and value not in GOALS:
            yield error(head_at(rule), f"goal {shown(value)}, expected an integer from 0 to 100")


def _roles_without(keyword: str, game: Analysis) -> Iterator[Rule]:
    served = {rule.head.args[0] for rule in game.heads.get((keyword, 2), ())}
    if all(map(is_ground, served)):
        for rule in game.heads.get(("role", 1), ()):
            if (role := rule.head.args[0]) in game.roles and role not in served:
                yield rule


def _undefined(game: Analysis) -> Iterator[Finding]:
    known = {*game.heads, *((name, count) for name, count in ARITY.items() if name not in ("base", "input"))}
    for use in game.uses:
        if (this := relation(use.atom)) not in known:
            known.add(this)
            yield warning(use.at, f"relation {shown(this[0])} with {_arguments(this[1])} has no rules, it never holds")


def _duplicates(game: Analysis) -> Iterator[Finding]:
    first: dict[Rule, Rule] = {}
    for rule in game.rules:
        if (same := first.setdefault(rule, rule)) is not rule:
            yield warning(rule.at[0], f"the same rule as in line {game.line(same.at[0])}")


# ---- variables -------------------------------------------------------------------------------------------------------


def _safety(game: Analysis) -> Iterator[Finding]:
    def needs(literal: Term) -> list[Variable]:
        return variables(literal) if literal.name in ("not", "distinct") else []

    for rule in game.rules:
        body = Bindings(rule, needs)
        if missing := [variable for variable in variables(rule.head) if variable not in body.bound]:
            yield error(head_at(rule), f"{_some(missing)} in the head occurs in no positive literal of the body")
        for gap in body.gaps:
            place = f"{_some(gap.missing)} in {shown(gap.literal)}"
            yield error(gap.at, f"{place} occurs in no positive literal of the body")


def _recursion(game: Analysis) -> Iterator[Finding]:
    recursive = {id(use.rule): use.rule for use in game.uses if use.positive and game.recurs(use)}
    for rule in recursive.values():
        for gap in _recursive_gaps(game, rule):
            place = f"{_some(gap.missing)} in the recursive {shown(gap.literal)}"
            yield warning(gap.at, f"{place} is bound neither by the head nor outside the recursion, it may never end")


def _recursive_gaps(game: Analysis, rule: Rule) -> list[Gap]:
    """Definition 15 of the specification; but the variables of an argument may be bound one by one."""
    cycle, given = game.cycle[relation(rule.head)], set(rule.head.args)

    def recurs(atom: Term) -> bool:
        return game.cycle.get(relation(atom)) == cycle

    def needs(atom: Term) -> list[Variable]:
        return [v for arg in atom.args if arg not in given for v in variables(arg)] if recurs(atom) else []

    return Bindings(rule, needs, lambda atom: not recurs(atom)).gaps


def _some(names: Sequence[Variable], most: int = 5) -> str:
    return ", ".join(shown(name) for name in names[:most]) + ", …" * (len(names) > most)


# ---- dependencies ----------------------------------------------------------------------------------------------------


def _negation(game: Analysis) -> Iterator[Finding]:
    suspects = [use for use in game.uses if not use.positive and game.recurs(use)]
    if not suspects:
        return
    refined = game.with_constants()
    cycle = cycles(graph((refined(use.rule.head), refined(use.atom)) for use in game.uses))
    for use in suspects:
        head, atom = shown(use.rule.head.name), shown(use.atom.name)
        message = f"negation in a cycle: {head} depends on (not {atom}), and {atom} on {head}"
        if cycle[refined(use.rule.head)] == cycle[refined(use.atom)]:
            yield error(use.at, message)
        else:
            yield warning(use.at, f"{message}, though with other constants")


def _dependence(game: Analysis) -> Iterator[Finding]:
    static = [use for use in game.uses if use.rule.head.name in ("init", "base", "input")]
    moveless = [use for use in game.uses if use.rule.head.name in ("legal", "goal", "terminal")]
    yield from _dependent(game, static, ("true", 1), error)
    yield from _dependent(game, static + moveless, ("does", 2), error)
    for keyword in ("legal", "goal", "terminal"):
        yield from _dependent(game, static, (keyword, ARITY[keyword]), warning)


def _dependent(
    game: Analysis, uses: Iterable[Use], on: Relation, finding: Callable[[int, str], Finding]
) -> Iterator[Finding]:
    ways = game.ways_to(on)
    for use in uses:
        if (here := relation(use.atom)) in ways:
            way: list[str] = []
            while here != on and len(way) < 6:
                way.append(shown(here[0]) if len(way) < 5 else "…")
                here = ways[here]
            yield finding(use.at, f"{use.rule.head.name} depends on {on[0]}{' through ' * bool(way)}{', '.join(way)}")


CHECKS = (
    _keywords,
    _keywords_as_names,
    _arities,
    _roles,
    _parts,
    _undefined,
    _duplicates,
    _safety,
    _recursion,
    _negation,
    _dependence,
)
