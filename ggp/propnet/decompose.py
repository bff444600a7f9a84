"""Rule decomposition: variables that the head does not need are projected out, one after the other.

A rule with k variables over a domain of n values has up to nᵏ ground instances. Where only a few literals share a
variable, they can have a relation of their own without it, and the rule calls that: bucket elimination, in the order of
the fewest variables in a bucket. Equal buckets of different rules are one relation. Bichler, Morak and Woltran, "lpopt:
A Rule Optimization Tool for Answer Set Programming", LOPSTR 2016.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ggp.propnet.flatten import Auxiliaries, atom_of, bound_by, guards
from ggp.terms import Rule, Term, Variable, substitute, variables

Relation = tuple[str, int]


def decompose(rules: Iterable[Rule], static: Collection[Relation]) -> list[Rule]:
    """Rules that mean the same, with fewer variables each. The relations in `static` do not depend on the state.

    >>> from ggp.parser import parse
    >>> for rule in decompose(parse("(<= (h ?x) (p ?x ?y) (q ?y ?z) (r ?z ?u) (r ?u 1))").rules, ()):
    ...     print(rule)
    (<= (h ?x) (p ?x ?y) (part 1 ?y))
    (<= (part 0 ?1) (r ?0 1) (r ?1 ?0))
    (<= (part 1 ?1) (part 0 ?0) (q ?1 ?0))
    """
    new = Auxiliaries("part")
    found = [Rule(rule.head, _split(rule, static, new)) for rule in rules]
    return found + new.rules


def _split(rule: Rule, static: Collection[Relation], new: Auxiliaries) -> tuple[Term, ...]:
    """A body that means the same, its literals replaced by new relations wherever a variable can go."""
    head = set(variables(rule.head))
    left = list(rule.body)
    while True:
        scopes = {lit: set(variables(lit)) for lit in left}
        buckets = {v: [lit for lit in left if v in scopes[lit]] for v in set().union(*scopes.values()) - head}
        if not buckets:
            return tuple(left)
        sizes = {v: len(set().union(*(scopes[lit] for lit in bucket))) for v, bucket in buckets.items()}
        best = min(buckets, key=lambda v: (sizes[v], len(buckets[v]), v.name))
        bucket = buckets[best]
        rest = [lit for lit in left if lit not in bucket]
        if not rest:
            return tuple(left)
        scope = set().union(*(scopes[lit] for lit in bucket))
        kept = scope & head.union(*(scopes[lit] for lit in rest))
        body = [*bucket, *_filters(scope, bucket, rest, static)]
        left = [*rest, new.atom([body], kept)]


def _filters(
    scope: set[Variable], bucket: Sequence[Term], rest: Sequence[Term], static: Collection[Relation]
) -> list[Term]:
    """Copies of other literals: those that cost nothing since they are settled by the grounder, and those that bind."""
    free = [lit for lit in rest if scope.issuperset(variables(lit)) and is_static(lit, static)]
    missing = scope - bound_by(bucket) - bound_by(free)
    settled = [lit for lit in rest if is_static(lit, static)]
    chosen = guards(missing, settled)
    chosen += guards(missing - bound_by(chosen), rest)
    copies = [
        substitute(lit, {v: Variable(f"{v.name} copy") for v in variables(lit) if v not in scope}) for lit in chosen
    ]
    safe = bound_by([*bucket, *free, *copies])
    return [*copies, *(lit for lit in free if safe.issuperset(variables(lit)))]


def is_static(literal: Term, static: Collection[Relation]) -> bool:
    atom = atom_of(literal)
    return atom.name == "distinct" or (atom.name, len(atom.args)) in static
