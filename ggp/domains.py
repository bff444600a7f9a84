"""Which symbols can stand where: the domain of every argument of every fact, move and relation, read off the rules.

A cheap over-approximation: a variable ranges over what all the positive literals that mention it allow, whatever else
the rule demands. That is enough to know how large a board is before the first piece stands on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ggp.terms import Rule, Symbol, Term, Variable

Place = tuple[str | int, ...]  # a relation's name and argument index, once per level of nesting: ("true", "cell", 0)
Domains = dict[Place, frozenset[str]]

# What is derived on the left is what is read on the right.
FLOWS = {"init": "true", "next": "true", "legal": "does", "input": "does"}
SKIPPED = frozenset({"not", "distinct"})


def domains(rules: Iterable[Rule]) -> Domains:
    """The symbols at each place; facts are found under `("true", relation, argument)`, declared ones under `"base"`.

    >>> from ggp.parser import parse
    >>> text = "(n 1) (n 2) (<= (legal x (mark ?n)) (n ?n)) (<= (next (cell ?m x)) (does x (mark ?m)))"
    >>> found = domains(parse(text).rules)
    >>> sorted(found["true", "cell", 0]), sorted(found["true", "cell", 1])
    (['1', '2'], ['x'])
    """
    found: dict[Place, set[str]] = {}
    waiting: list[tuple[list[Place], list[list[Place]]]] = []  # a variable's places in the head, in the body
    for rule in rules:
        bodies: dict[Variable, list[list[Place]]] = {}
        for literal in rule.body:
            for variable, places in _positive(literal).items():
                bodies.setdefault(variable, []).append(places)
        heads: dict[Variable, list[Place]] = {}
        for place, term in _leaves(rule.head):
            if isinstance(term, Variable):
                heads.setdefault(term, []).append(place)
            else:
                found.setdefault(place, set()).add(str(term))
        waiting += [(places, bodies[variable]) for variable, places in heads.items() if variable in bodies]
    changed = True
    while changed:
        changed = False
        for places, literals in waiting:
            options = [set().union(*(found.get(p, ()) for p in alternatives)) for alternatives in literals]
            values = set.intersection(*options)
            for place in places:
                known = found.setdefault(place, set())
                if not values <= known:
                    known |= values
                    changed = True
    return {place: frozenset(values) for place, values in found.items()}


def _positive(literal: Term) -> dict[Variable, list[Place]]:
    """The places that give each variable of a literal its values; those of an `or` are alternatives."""
    if literal.name in SKIPPED:
        return {}
    if literal.name in ("or", "and") and literal.args:
        branches = [_positive(part) for part in literal.args]
        everywhere = set.intersection(*(set(b) for b in branches)) if literal.name == "or" else set().union(*branches)
        return {v: [place for branch in branches for place in branch.get(v, [])] for v in everywhere}
    places: dict[Variable, list[Place]] = {}
    for place, term in _leaves(literal):
        if isinstance(term, Variable):
            places.setdefault(term, []).append(place)
    return places


def _leaves(atom: Term) -> Iterator[tuple[Place, Variable | Symbol]]:
    todo: list[tuple[Place, Term]] = [((), atom)]
    while todo:
        place, term = todo.pop()
        if isinstance(term, Variable | Symbol) and place:
            yield place, term
        name = FLOWS.get(term.name, term.name) if not place else term.name
        wrapped = not place and name in ("true", "base", "does")
        for index, arg in enumerate(term.args):
            # The one fact of `true` and `base` and the move of `does` need no index of their own.
            inner: Place = (*place, name) if wrapped and arg.args else (*place, name, index)
            todo.append((inner, arg))
