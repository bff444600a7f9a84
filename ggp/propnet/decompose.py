"""Rule decomposition: variables that the head does not need are projected out, one after the other.

A rule with k variables over a domain of n values has up to nᵏ ground instances. Where only a few literals share a
variable, they can have a relation of their own without it, and the rule calls that: bucket elimination. Equal buckets
of different rules are one relation. Of all the forms that a rule takes meanwhile, the one with the fewest expected
ground literals stays. Bichler, Morak and Woltran, "lpopt: A Rule Optimization Tool for Answer Set Programming", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from ggp.propnet.demand import is_demand
from ggp.propnet.estimate import Estimate
from ggp.propnet.flatten import Auxiliaries, atom_of, bound_by, guards, scope
from ggp.terms import Relation, Rule, Term, Variable, relation, substitute

STATIC_COST = 0.1  # of an instance without literals that depend on the state: it takes time, but no room

Order = Callable[[Sequence[Term], Sequence[Term]], float]  # a bucket, all literals: the least goes first


def decompose(rules: Sequence[Rule], static: Iterable[Relation]) -> list[Rule]:
    """Rules that mean the same, with fewer variables each. The relations in `static` do not depend on the state.

    >>> from ggp.parser import parse
    >>> facts = " ".join(f"(init (p {i} {j})) (init (q {i} {j}))" for i in range(9) for j in range(9))
    >>> text = "(<= (h ?x) (true (p ?x ?y)) (true (q ?y ?z)) (true (p ?z ?u)))"
    >>> for rule in decompose(parse(text + facts).rules, ()):
    ...     if rule.body:
    ...         print(rule)
    (<= (h ?x) (true (p ?x ?y)) (part 1 ?y))
    (<= (part 0 ?0) (true (p ?0 ?1)))
    (<= (part 1 ?1) (part 0 ?0) (true (q ?1 ?0)))
    """
    work = _Decomposition(rules, set(static))
    return [Rule(rule.head, work.split(rule)) if rule.body else rule for rule in rules] + work.rules()


class _Decomposition:
    def __init__(self, rules: Sequence[Rule], static: set[Relation]) -> None:
        self.static = static
        self.sizes = Estimate(rules)
        self.new = Auxiliaries("part")
        self.chosen: set[str] = set()  # of the new relations
        self.costs: dict[tuple[Term, ...], float] = {}

    def rules(self) -> list[Rule]:
        return [rule for rule in self.new.rules if rule.head.name in self.chosen]

    def split(self, rule: Rule) -> tuple[Term, ...]:
        """The cheapest body that means the same, some of its literals replaced by new relations."""
        forms = [form for order in (self.by_cost, self.by_scope) for form in self.forms(rule, order)]
        _, body, needed = min(forms, key=lambda form: form[0])
        self.chosen.update(needed)
        return body

    def forms(self, rule: Rule, order: Order) -> Iterator[tuple[float, tuple[Term, ...], tuple[str, ...]]]:
        """What a rule becomes as its variables go one after the other: the cost, the body, the new relations in it."""
        head = scope(rule.head)
        left = rule.body
        spent = 0.0
        made: tuple[str, ...] = ()
        yield self.cost(left), left, made
        while buckets := self.buckets(left, head):
            bucket = min(buckets, key=lambda bucket: order(bucket, left))
            body = self.filtered(bucket, left)
            rest = [literal for literal in left if literal not in bucket]
            atom = self.relation(body, bound_by(body) & head.union(*map(scope, rest)))
            if atom.name not in self.chosen and atom.name not in made:
                spent += self.cost(body)
            made = (*made, atom.name)
            left = (*rest, atom)
            yield spent + self.cost(left), left, made

    def buckets(self, left: Sequence[Term], head: frozenset[Variable]) -> list[list[Term]]:
        """For each variable that can go: the literals that have it."""
        free = frozenset[Variable]().union(*map(scope, left)) - head
        buckets = [[literal for literal in left if v in scope(literal)] for v in sorted(free, key=str)]
        return [bucket for bucket in buckets if len(bucket) < len(left)]

    def by_cost(self, bucket: Sequence[Term], left: Sequence[Term]) -> float:
        return self.cost(self.filtered(bucket, left))

    def by_scope(self, bucket: Sequence[Term], left: Sequence[Term]) -> float:
        return len(frozenset[Variable]().union(*map(scope, bucket)))

    def cost(self, body: Iterable[Term]) -> float:
        """How many literals the instances of a body are expected to have."""
        literals = tuple(body)
        known = self.costs.get(literals)
        if known is None:
            changing = sum(not self.is_static(literal) for literal in literals)
            known = self.costs[literals] = self.sizes.join(literals).size * max(changing, STATIC_COST)
        return known

    def filtered(self, bucket: Sequence[Term], left: Sequence[Term]) -> list[Term]:
        """The bucket, with copies of other literals: those that the grounder settles, and what binds variables."""
        mine = frozenset[Variable]().union(*map(scope, bucket))
        rest = [literal for literal in left if literal not in bucket]
        settled = [literal for literal in rest if self.is_static(literal)]
        inside = [literal for literal in settled if scope(literal) <= mine]
        missing = mine - bound_by(bucket) - bound_by(inside)
        copied = guards(missing, settled)
        copied += guards(missing - bound_by(copied), rest)
        copied += [literal for literal in settled if is_demand(literal) and scope(literal) & mine]
        copied = [literal for literal in dict.fromkeys(copied) if literal not in inside]
        away = {v: Variable(f"{v.name} copy") for literal in copied for v in scope(literal) - mine}
        return [*bucket, *(substitute(literal, away) for literal in copied), *inside]

    def relation(self, body: Sequence[Term], kept: Collection[Variable]) -> Term:
        """An atom of a new relation that this body defines."""
        before = len(self.new.rules)
        atom = self.new.atom([body], kept)
        for rule in self.new.rules[before:]:
            self.sizes.add(rule)
            if all(map(self.is_static, rule.body)):
                self.static.add(relation(rule.head))
        return atom

    def is_static(self, literal: Term) -> bool:
        atom = atom_of(literal)
        return atom.name == "distinct" or is_demand(atom) or relation(atom) in self.static
