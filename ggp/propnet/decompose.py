"""Rule decomposition: variables that the head does not need are projected out, one after the other.

A rule with k variables over a domain of n values has up to nᵏ ground instances. Where only a few literals share a
variable, they can have a relation of their own without it, and the rule calls that: bucket elimination. Equal buckets of
different rules are one relation. Of all the forms that a rule takes meanwhile, the one with the fewest expected ground
literals stays. Bichler, Morak and Woltran, "lpopt: A Rule Optimization Tool for Answer Set Programming", LOPSTR 2016.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ggp.propnet.estimate import Estimate, Relation, relation
from ggp.propnet.flatten import Auxiliaries, atom_of, bound_by, guards
from ggp.terms import Rule, Term, Variable, substitute, variables

STATIC_COST = 0.1  # of an instance without literals that depend on the state: it takes time, but no room


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

    def rules(self) -> list[Rule]:
        return [rule for rule in self.new.rules if rule.head.name in self.chosen]

    def split(self, rule: Rule) -> tuple[Term, ...]:
        """The cheapest body that means the same, some of its literals replaced by new relations."""
        head = set(variables(rule.head))
        left = rule.body
        best, least = left, self.cost(left)
        spent = 0.0
        made: list[str] = []
        needed: list[str] = []
        while bucket := self.cheapest(left, head):
            body = self.filtered(bucket, left)
            rest = [literal for literal in left if literal not in bucket]
            kept = bound_by(body) & head.union(*map(variables, rest))
            atom = self.relation(body, kept)
            if atom.name not in self.chosen and atom.name not in made:
                spent += self.cost(body)
            made.append(atom.name)
            left = (*rest, atom)
            if spent + self.cost(left) < least:
                best, least, needed = left, spent + self.cost(left), list(made)
        self.chosen.update(needed)
        return best

    def cost(self, body: Iterable[Term]) -> float:
        """How many literals the instances of a body are expected to have."""
        literals = list(body)
        changing = sum(not self.is_static(literal) for literal in literals)
        return self.sizes.join(literals).size * max(changing, STATIC_COST)

    def cheapest(self, left: Sequence[Term], head: set[Variable]) -> list[Term]:
        """The literals with a variable that can go, such that their instances are few; none if none can."""
        scopes = [(literal, set(variables(literal))) for literal in left]
        free = set().union(*(scope for _, scope in scopes)) - head
        buckets = [[literal for literal, scope in scopes if v in scope] for v in sorted(free, key=str)]
        buckets = [bucket for bucket in buckets if len(bucket) < len(left)]
        return min(buckets, key=lambda bucket: self.cost(self.filtered(bucket, left)), default=[])

    def filtered(self, bucket: Sequence[Term], left: Sequence[Term]) -> list[Term]:
        """The bucket, with copies of other literals: those that the grounder settles, and what binds variables."""
        scope = {v for literal in bucket for v in variables(literal)}
        rest = [literal for literal in left if literal not in bucket]
        settled = [literal for literal in rest if self.is_static(literal)]
        inside = [literal for literal in settled if scope.issuperset(variables(literal))]
        missing = scope - bound_by(bucket) - bound_by(inside)
        copied = guards(missing, settled)
        copied += guards(missing - bound_by(copied), rest)
        away = {v: Variable(f"{v.name} copy") for literal in copied for v in variables(literal) if v not in scope}
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
        return atom.name == "distinct" or relation(atom) in self.static
