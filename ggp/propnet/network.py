"""From ground rules to a network of one gate type: n-ary AND whose inputs may be complemented.

A node is an input (a fact of the state, a move) or a gate; a literal is `2 * node + complement`, so that `literal ^ 1`
negates it, 0 is true and 1 is false. Gates are hashed structurally and folded as they are made; what no output needs is
dropped. An OR is an AND between complements.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import inf

import numpy as np
import numpy.typing as npt

from ggp.dependencies import components
from ggp.errors import TimeLimit
from ggp.propnet.ground import Ground
from ggp.terms import Fact, Move, collector_paused

TRUE, FALSE = 0, 1
Literals = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Network:
    """Gates in an order in which each comes after its inputs, but for the loops; and where to read the answers.

    Nodes: 0 is true, then the facts, then the moves of each role, then the loop variables, then the gates.
    """

    roles: tuple[str, ...]
    facts: tuple[Fact, ...]
    moves: tuple[tuple[Move, ...], ...]  # per role
    init: npt.NDArray[np.bool_]  # (facts,)
    loops: tuple[Loop, ...]
    gates: tuple[tuple[int, ...], ...]  # literals of each gate
    next: Literals  # (facts,)
    legal: tuple[Literals, ...]  # per role: (moves,)
    terminal: int
    goals: tuple[tuple[tuple[int, int], ...], ...]  # per role: (value, literal)
    sees: tuple[tuple[tuple[Fact, int], ...], ...]  # per role: (percept, literal)

    @property
    def inputs(self) -> int:
        """Number of nodes that are no gates."""
        return 1 + len(self.facts) + sum(map(len, self.moves)) + sum(len(loop.variables) for loop in self.loops)


@dataclass(frozen=True)
class Loop:
    """Gates that depend on each other: the variables start false and become `values` until nothing changes."""

    variables: tuple[int, ...]  # nodes
    values: tuple[int, ...]  # literals
    start: int  # the gates between are in the loop
    end: int


class Builder:
    """Makes gates, each only once, folds what is constant, and knows that of a role's moves exactly one is chosen."""

    def __init__(self, inputs: int, choices: Sequence[range] = ()) -> None:
        self.inputs = inputs
        self.gates: list[tuple[int, ...]] = []
        self.known: dict[tuple[int, ...], int] = {}
        self.choices = choices  # nodes of each role's moves
        self.chosen = frozenset(literal for nodes in choices for node in nodes for literal in (2 * node, 2 * node + 1))

    def conjunction(self, literals: Iterable[int]) -> int:
        """The literal that is true where all of `literals` are."""
        wanted = set(literals)
        wanted.discard(TRUE)
        if not wanted.isdisjoint(self.chosen):
            wanted = self.one_chosen(wanted)
        if FALSE in wanted or not wanted.isdisjoint([literal ^ 1 for literal in wanted]):
            return FALSE
        if len(wanted) <= 1:
            return wanted.pop() if wanted else TRUE
        key = tuple(sorted(wanted))
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = 2 * (self.inputs + len(self.gates))
            self.gates.append(key)
        return known

    def disjunction(self, literals: Iterable[int]) -> int:
        return self.conjunction(literal ^ 1 for literal in literals) ^ 1

    def one_chosen(self, wanted: set[int]) -> set[int]:
        """The same condition with as few moves as will do, given that each role plays exactly one."""
        for nodes in self.choices:
            mine = {literal for literal in wanted if literal >> 1 in nodes}
            played = [literal for literal in mine if not literal & 1]
            if len(played) > 1:
                return {FALSE}
            if played:
                wanted = (wanted - mine) | ({FALSE} if played[0] ^ 1 in mine else {played[0]})
            elif len(mine) > len(nodes) // 2:  # none of these: then one of the others
                others = [2 * node + 1 for node in nodes if 2 * node + 1 not in mine]
                wanted = (wanted - mine) | {self.conjunction(others) ^ 1 if others else FALSE}
        return wanted

    def sum_of_products(self, products: Iterable[Iterable[int]]) -> int:
        """The literal that is true where all literals of some product are; literals they share are taken out.

        `ab + ac + d` becomes `a(b + c) + d`, the most frequent literal first.
        """
        left = {frozenset(product) - {TRUE} for product in products}
        left = {product for product in left if FALSE not in product}
        if len(left) == 1:
            return self.conjunction(left.pop())
        if frozenset() in left:
            return TRUE
        where: dict[int, set[frozenset[int]]] = {}
        for product in left:
            for literal in product:
                where.setdefault(literal, set()).add(product)
        heap = [(-len(some), literal) for literal, some in where.items() if len(some) > 1]
        heapify(heap)
        terms = []
        while heap:
            often, literal = heappop(heap)
            some = where[literal]
            if len(some) != -often:  # out of date
                if len(some) > 1:
                    heappush(heap, (-len(some), literal))
                continue
            terms.append(self.conjunction([literal, self.sum_of_products(p - {literal} for p in some)]))
            for product in list(some):
                left.discard(product)
                for other in product:
                    where[other].discard(product)
        terms += [self.conjunction(product) for product in sorted(left, key=sorted)]
        return self.disjunction(terms)


@collector_paused()
def build(ground: Ground, deadline: float = inf) -> Network:
    """The network of a game. Legal, terminal and goals see no moves, even where the rules ask for them.

    TimeLimit where it is not done by `deadline`, on the clock of `time.monotonic`.
    """
    facts = tuple(sorted(ground.true, key=str))
    moves: list[list[Move]] = [[] for _ in ground.roles]
    for role, move in sorted(ground.legal, key=lambda pair: (pair[0], str(pair[1]))):
        moves[role].append(move)
    state = {ground.true[fact]: 2 * node for node, fact in enumerate(facts, 1)}
    chosen = {}
    node = 1 + len(facts)
    choices = []
    for role, some in enumerate(moves):
        choices.append(range(node, node + len(some)))
        for move in some:
            if (role, move) in ground.does:
                chosen[ground.does[role, move]] = 2 * node
            node += 1

    rules = _Rules(ground, deadline)
    early = [*ground.legal.values(), *ground.goal.values(), ground.terminal or 0]
    apart = bool(rules.users(chosen).intersection(early))  # then what they need is built once more, without moves
    builder = Builder(node + rules.loop_atoms * (2 if apart else 1), choices)
    loops: list[Loop] = []
    literal = rules.literals(state | chosen, builder, node, loops)
    literal_early = rules.literals(state, builder, node + rules.loop_atoms, loops) if apart else literal

    def of(atom: int | None, literals: Mapping[int, int] = literal_early) -> int:
        return FALSE if atom is None else TRUE if atom == 0 else literals.get(atom, FALSE)

    network = Network(
        roles=ground.roles,
        facts=facts,
        moves=tuple(map(tuple, moves)),
        init=np.array([fact in ground.init for fact in facts], np.bool_),
        loops=tuple(loops),
        gates=tuple(builder.gates),
        next=np.array([of(ground.next.get(fact), literal) for fact in facts], np.int32),
        legal=tuple(
            np.array([of(ground.legal[role, move]) for move in some], np.int32) for role, some in enumerate(moves)
        ),
        terminal=of(ground.terminal),
        goals=tuple(
            tuple(sorted((v, of(atom)) for (r, v), atom in ground.goal.items() if r == role and of(atom) != FALSE))
            for role in range(len(ground.roles))
        ),
        sees=tuple(
            tuple(sorted(((p, of(a, literal)) for (r, p), a in ground.sees.items() if r == role), key=_by_text))
            for role in range(len(ground.roles))
        ),
    )
    return replace(network, gates=tuple(_merged(network)))


def _merged(network: Network) -> list[tuple[int, ...]]:
    """The gates, with an AND that only one other AND reads merged into that one; nobody reads it any more then."""
    outputs = [network.next.tolist(), [network.terminal], *(some.tolist() for some in network.legal)]
    outputs += [[literal for _, literal in some] for some in (*network.goals, *network.sees)]
    reads = Counter(literal >> 1 for some in (*outputs, *network.gates) for literal in some)
    kept = {literal >> 1 for loop in network.loops for literal in loop.values}
    loop_of = {gate: i for i, loop in enumerate(network.loops) for gate in range(loop.start, loop.end)}
    gates: list[tuple[int, ...]] = []
    for number, gate in enumerate(network.gates):
        literals: list[int] = []
        for literal in gate:
            node = literal >> 1
            inner = node - network.inputs
            mergeable = inner >= 0 and not literal & 1 and reads[node] == 1 and node not in kept
            if mergeable and loop_of.get(inner) == loop_of.get(number):
                literals += gates[inner]
            else:
                literals.append(literal)
        gates.append(tuple(sorted(set(literals))))
    return gates


def _by_text(pair: tuple[Fact, int]) -> str:
    return str(pair[0])


class _Rules:
    """Ground rules by their heads, in an order in which each comes after what it uses, but for the loops."""

    def __init__(self, ground: Ground, deadline: float) -> None:
        self.deadline = deadline
        self.bodies: dict[int, list[list[int]]] = {}
        literals, starts = ground.literals.tolist(), ground.starts.tolist()
        for i, head in enumerate(ground.heads.tolist()):
            self.bodies.setdefault(head, []).append(literals[starts[i] : starts[i + 1]])
        self.uses = {head: {abs(x) for body in bodies for x in body} for head, bodies in self.bodies.items()}
        self.groups = components(self.uses)
        self.loop_atoms = sum(len(group) for group in self.groups if self.is_loop(group))

    def is_loop(self, group: list[int]) -> bool:
        return len(group) > 1 or group[0] in self.uses.get(group[0], ())

    def users(self, atoms: Iterable[int]) -> set[int]:
        """The atoms that depend on these, and these."""
        found = set(atoms)
        for group in self.groups:
            if any(not found.isdisjoint(self.uses.get(atom, ())) for atom in group):
                found.update(group)
        return found

    def literals(self, inputs: Mapping[int, int], builder: Builder, variable: int, loops: list[Loop]) -> dict[int, int]:
        """The literal of every atom, given those of the inputs; loop variables are the nodes from `variable` on."""
        literal = dict(inputs)

        def value(atom: int) -> int:
            return builder.sum_of_products(
                [literal.get(x, FALSE) if x > 0 else literal.get(-x, FALSE) ^ 1 for x in body]
                for body in self.bodies.get(atom, ())
            )

        for number, group in enumerate(self.groups):
            if number % 1024 == 0 and time.monotonic() > self.deadline:
                raise TimeLimit(f"{len(self.groups):,} ground atoms did not become a network in time")
            if self.is_loop(group):
                nodes = range(variable, variable + len(group))
                variable += len(group)
                literal.update({atom: 2 * node for atom, node in zip(group, nodes, strict=True)})
                start = len(builder.gates)
                values = tuple(value(atom) for atom in group)
                loops.append(Loop(tuple(nodes), values, start, len(builder.gates)))
            elif group[0] not in inputs:
                literal[group[0]] = value(group[0])
        return literal
