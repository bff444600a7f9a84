"""When are two rulesheets the same game? Hashes to look games up by, and the renaming between two of them.

`rule_hash` sees through layout, comments, variable names and the order of rules. `structure` also sees through a
consistent renaming of symbols, as match servers do it. The order of the role facts counts in both: roles are seats. So
does the order of literals in a body.

What a scrambler must leave alone, else it were another game: keywords, `random`, and the numerals that can become the
value of a goal, directly or through variables. Other numerals are names: a board of 1…8 may become one of a…h.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ggp.terms import KEYWORDS, Compound, Rule, Symbol, Term, Variable, collector_paused, is_ground, variables

NAME = re.compile(r"[^\s()]+", re.ASCII)
NUMERAL = re.compile(r"[+-]?\d+", re.ASCII)
SEARCH_BUDGET = 5_000_000  # occurrences of symbols looked at by `renaming` before it gives up: some seconds

# What is read on the left was derived on the right.
FLOWS = {"true": ("init", "next"), "does": ("legal",)}


@collector_paused()
def canonical(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The same rules without duplicates: the role facts in their order, then the others sorted; variables are ?1, ?2, …

    >>> from ggp.parser import parse
    >>> for rule in canonical(parse("(<= (p ?b ?a) (q ?a ?b)) (role x) (q 2 1) (role (o))").rules):
    ...     print(rule)
    (role x)
    (role o)
    (<= (p ?1 ?2) (q ?2 ?1))
    (q 2 1)
    """
    tidy = dict.fromkeys(map(_tidy, rules))
    return (*filter(_is_seat, tidy), *sorted((rule for rule in tidy if not _is_seat(rule)), key=str))


def rule_hash(rules: Iterable[Rule]) -> str:
    """Equal for the same rules, whatever their layout, comments, variable names and order; hexadecimal.

    >>> from ggp.parser import parse
    >>> rule_hash(parse("(role x) (<= (p ?a) (q ?a)) (q 1)").rules)[:16]
    '6fbd482104fc9603'
    """
    return _sha256(map(str, canonical(rules)))


@dataclass(frozen=True)
class Structure:
    """A game with its names taken out.

    `hash` is equal for games that differ only in names. The converse is not quite true, as it is made by colour
    refinement, which some very regular boards fool: that two games are the same is what `renaming` proves.
    `symbols` are the game's own symbols in canonical order; `rules` calls the first of them `s1`, the next `s2`, …
    Where two games have the same `rules`, the same place in `symbols` means the same thing.
    """

    hash: str
    symbols: tuple[str, ...]
    rules: tuple[Rule, ...] = field(repr=False)

    @property
    def names(self) -> dict[str, str]:
        """The game's own symbols → their names in `rules`."""
        return {symbol: f"s{number}" for number, symbol in enumerate(self.symbols, 1)}


@collector_paused()
def structure(rules: Iterable[Rule]) -> Structure:
    """What is left of the rules when their names are taken out. Time is near linear in their length.

    >>> from ggp.parser import parse
    >>> a = structure(parse("(role white) (init (on white))").rules)
    >>> b = structure(parse("(init (auf weiß)) (role weiß)").rules)
    >>> a.hash == b.hash, renaming(a, b) == {"white": "weiß", "on": "auf"}
    (True, True)
    """
    rules = canonical(rules)
    partition = _Partition(_Graph(rules))
    digest = _sha256(partition.summary())
    while tie := partition.tie():
        partition.individualise(partition.order[tie[-1]])
    found = Structure(digest, tuple(partition.symbols()), rules=())
    names = found.names
    return replace(found, rules=canonical(renamed_rule(rule, names) for rule in rules))


def renaming(a: Structure, b: Structure) -> dict[str, str] | None:
    """The symbols of game `a` → those of game `b`, such that renaming the rules of `a` gives the rules of `b`.

    None where there is no such bijection, or none was found within `SEARCH_BUDGET`. Where symbols are interchangeable
    any one that fits is right.
    """
    if a.hash != b.hash:
        return None
    if a.rules == b.rules:
        return dict(zip(a.symbols, b.symbols, strict=True))
    found = _isomorphism(a.rules, b.rules)
    if found is None:
        return None
    back = {name: symbol for symbol, name in b.names.items()}
    return {symbol: back[found[name]] for symbol, name in a.names.items()}


def renamed(term: Term, names: Mapping[str, str]) -> Term:
    """`term` with its variables and symbols called by other names; those not in `names` keep theirs. `(p)` becomes `p`.

    >>> from ggp.parser import parse_term
    >>> str(renamed(parse_term("(cell 1 ?y (b))"), {"cell": "field", "?y": "?1"}))
    '(field 1 ?1 b)'
    """
    name = names.get(term.name, term.name)
    if isinstance(term, Compound):
        return Compound(name, tuple([renamed(arg, names) for arg in term.args]))
    return Variable(name) if isinstance(term, Variable) else Symbol(name)


def renamed_rule(rule: Rule, names: Mapping[str, str]) -> Rule:
    """`rule` with the variables and symbols of all its terms called by other names."""
    head = renamed(rule.head, names)
    assert not isinstance(head, Variable)
    return Rule(head, tuple(renamed(literal, names) for literal in rule.body))


def _tidy(rule: Rule) -> Rule:
    names: dict[str, str] = {}
    for part in (rule.head, *rule.body):
        for variable in variables(part):
            names.setdefault(variable.name, f"?{len(names) + 1}")
    return renamed_rule(rule, names)


def _is_seat(rule: Rule) -> bool:
    return rule.head.name == "role" and not rule.body and is_ground(rule.head)


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def goal_numerals(rules: Iterable[Rule]) -> set[str]:
    """The numerals that can become the value of a goal: the variables are followed back from its second argument.

    >>> from ggp.parser import parse
    >>> sheet = parse("(<= (goal x ?v) (true (score ?v))) (init (score 0)) (init (cell 1 1)) (<= (goal o 50) (p 7))")
    >>> sorted(goal_numerals(sheet.rules))
    ['0', '50']
    """
    sources: dict[object, list[object]] = {}  # a place in a head, or a rule's variable → where it comes from
    for number, rule in enumerate(rules):
        for place, term in _places(rule.head):
            sources.setdefault(place, []).append(term.name if isinstance(term, Symbol) else (number, term.name))
        for literal in rule.body:
            for place, term in _places(literal):
                if isinstance(term, Variable):
                    sources.setdefault((number, term.name), []).append(place)
    for read, derived in FLOWS.items():
        for index in (0, 1):
            sources.setdefault((read, index), []).extend((name, index) for name in derived)
    seen: set[object] = set()
    todo: list[object] = [("goal", 1)]
    while todo:
        item = todo.pop()
        if item not in seen:
            seen.add(item)
            todo += sources.get(item, ())
    return {name for name in seen if isinstance(name, str) and NUMERAL.fullmatch(name)}


def _places(literal: Term) -> Iterator[tuple[tuple[str, int], Term]]:
    """Where the symbols and variables of a literal stand: the name around them, and which argument of it they are."""
    todo = [literal]
    while todo:
        term = todo.pop()
        for index, arg in enumerate(term.args):
            if isinstance(arg, Compound):
                todo.append(arg)
            else:
                yield (term.name, index), arg


class _Graph:
    """Rules as a graph: symbols and rules are the nodes, every occurrence of a symbol in a rule is an edge.

    What names cannot change about a rule is its shape: its text with holes for the game's own symbols. An edge is
    labelled with the number of its hole.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        fixed = KEYWORDS | goal_numerals(rules) | {"<="}
        texts = list(map(str, rules))
        names = dict.fromkeys(name for text in texts for name in NAME.findall(text))
        self.symbols = [name for name in names if name[0] != "?" and name not in fixed and name.lower() != "random"]
        index = {name: node for node, name in enumerate(self.symbols)}
        self.shapes = [""] * len(self.symbols)
        self.edges: list[list[int]] = [[] for _ in self.symbols]
        self.labels: list[list[int]] = [[] for _ in self.symbols]
        for number, (rule, text) in enumerate(zip(rules, texts, strict=True)):
            shape = NAME.sub(lambda name: "()" if name[0] in index else name[0], text)
            self.shapes.append(f"{number} {shape}" if _is_seat(rule) else shape)
            holes = [index[name] for name in NAME.findall(text) if name in index]
            for label, symbol in enumerate(holes):
                self.edges[symbol].append(len(self.edges))
                self.labels[symbol].append(label)
            self.edges.append(holes)
            self.labels.append(list(range(len(holes))))


class _Partition:
    """The nodes of a graph in ordered cells, as fine as they can be told apart without names: colour refinement.

    All nodes of a cell have the same edges into every other cell. How the cells come about and in which order depends
    on the graph only, not on the numbering of its nodes; `trace` tells whether it went the same way in two graphs.
    As in McKay & Piperno, Practical graph isomorphism II, 2014; with Hopcroft's trick: n log n.
    """

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph
        self.order = sorted(range(len(graph.edges)), key=graph.shapes.__getitem__)  # cell by cell
        self.place = [0] * len(self.order)  # node → index in `order`
        self.cell = [0] * len(self.order)  # node → index in `order` where its cell starts
        self.end = [0] * len(self.order)  # start of a cell → index in `order` where it ends
        self.trace = 0
        self.work = 0  # edges followed
        self.front = 0  # all cells before this one have one node
        start = 0
        for index, node in enumerate(self.order):
            if graph.shapes[node] != graph.shapes[self.order[start]]:
                start = index
            self.place[node], self.cell[node], self.end[start] = index, start, index + 1
        self.refine(sorted(set(self.cell)))

    def copy(self) -> _Partition:
        new = copy.copy(self)
        new.order, new.place, new.cell, new.end = self.order[:], self.place[:], self.cell[:], self.end[:]
        new.work = len(self.order) // 16  # takes as long as that many edges
        return new

    def refine(self, splitters: list[int]) -> None:
        """Split cells until all nodes of a cell have the same edges into each of the splitters, old and new."""
        queue, queued = deque(splitters), set(splitters)
        while queue:
            splitter = queue.popleft()
            queued.remove(splitter)
            reached = defaultdict[int, list[int]](list)  # node → the labels of its edges into the splitter
            for node in self.order[splitter : self.end[splitter]]:
                self.work += len(self.graph.edges[node])
                for neighbour, label in zip(self.graph.edges[node], self.graph.labels[node], strict=True):
                    reached[neighbour].append(label)
            cells: dict[int, dict[tuple[int, ...], list[int]]] = {}  # cell → labels → nodes
            for node, labels in reached.items():
                cells.setdefault(self.cell[node], {}).setdefault(tuple(sorted(labels)), []).append(node)
            for cell in sorted(cells):
                keys = sorted(cells[cell])
                groups = [cells[cell][key] for key in keys]
                self.trace += hash((splitter, cell, *keys, *map(len, groups)))
                fragments = self.split(cell, groups)
                # The edges into one fragment follow from those into all the others and into the whole.
                known = cell if cell in queued else max(fragments, key=lambda start: self.end[start] - start)
                fragments.remove(known)
                queue += fragments
                queued.update(fragments)

    def split(self, cell: int, groups: list[list[int]]) -> list[int]:
        """Move groups of nodes out of their cell, to its end; returns the cells that it became, itself the first."""
        start = self.end[cell] - sum(map(len, groups))
        if start == cell and len(groups) == 1:
            return [cell]
        fragments = [cell] if start > cell else []
        self.end[cell] = start
        for group in groups:
            fragments.append(start)
            for index, node in enumerate(group, start):
                other, place = self.order[index], self.place[node]
                self.order[index], self.order[place] = node, other
                self.place[node], self.place[other] = index, place
                self.cell[node] = start
            self.end[start] = start + len(group)
            start = self.end[start]
        return fragments

    def tie(self) -> range | None:
        """The first cell with several nodes, None where every node is told apart."""
        while self.front < len(self.order) and self.end[self.front] == self.front + 1:
            self.front += 1
        return range(self.front, self.end[self.front]) if self.front < len(self.order) else None

    def individualise(self, node: int) -> None:
        """Tell this node apart from the others of its cell, and whatever else can be told apart then."""
        self.refine(self.split(self.cell[node], [[node]])[-1:])

    def branches(self) -> Iterator[_Partition]:
        """What becomes of this partition when one of the nodes of its tie is told apart: one after the other is."""
        for index in self.tie() or ():
            branch = self.copy()
            branch.individualise(self.order[index])
            yield branch

    def symbols(self) -> list[str]:
        return [self.graph.symbols[node] for node in self.order[: len(self.graph.symbols)]]

    def summary(self) -> Iterator[str]:
        """What is known of the graph without names: each cell of rules, their number, shape and cells of symbols."""
        start = len(self.graph.symbols)
        while start < len(self.order):
            node = self.order[start]
            symbols = " ".join(str(self.cell[symbol]) for symbol in self.graph.edges[node])
            yield f"{self.end[start] - start} {self.graph.shapes[node]} {symbols}"
            start = self.end[start]


def _isomorphism(a: tuple[Rule, ...], b: tuple[Rule, ...]) -> dict[str, str] | None:
    """A bijection of symbols that turns `a` into `b`, both canonical. Searched for: for ties that are no symmetries.

    One node after the other is told apart in the graph of `a`; in that of `b` every node of the same tie is tried, and
    the trace shows most of the wrong ones at once.
    """
    mine, theirs = _Partition(_Graph(a)), _Partition(_Graph(b))
    traces = [mine.trace]
    while tie := mine.tie():
        mine.individualise(mine.order[tie[-1]])
        traces.append(mine.trace)
    budget = SEARCH_BUDGET
    stack = [iter([theirs])]
    while stack:
        partition = next(stack[-1], None)
        if partition is None:
            stack.pop()
            continue
        budget -= partition.work
        if budget < 0:
            return None
        if len(stack) > len(traces) or partition.trace != traces[len(stack) - 1]:
            continue
        if partition.tie():
            stack.append(partition.branches())
            continue
        names = dict(zip(mine.symbols(), partition.symbols(), strict=True))
        if canonical(renamed_rule(rule, names) for rule in a) == b:
            return names
    return None
