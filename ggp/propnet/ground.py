"""GDL rules to ground rules, by clingo's grounder.

`true` is a free choice over whatever `init` or `next` can derive, `does` over whatever `legal` can derive for a role:
what the grounder then finds is a superset of the facts and moves that can occur. Nothing is believed of `base` and
`input`. The grounder runs in a process of its own, which can be stopped; its answer is text in aspif, read in bulk.

On the way there the rules are made flat, facts that never change lose their state (so the answers hold for states that
can be reached, not for any set of facts), and rules are restricted to what is asked (`demand`) and cut into smaller
ones (`decompose`), both guided by how large things are expected to become (`estimate`).
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ggp.errors import GdlError, GGPError, MemoryLimit, ReasonerError, TimeLimit
from ggp.parser import parse_ground
from ggp.propnet.decompose import decompose
from ggp.propnet.demand import directed, is_demand
from ggp.propnet.flatten import applied, atom_of, bound_by, flatten, is_connective
from ggp.reasoner import shown_size
from ggp.terms import (
    Compound,
    Fact,
    Move,
    Relation,
    Rule,
    Symbol,
    Term,
    Variable,
    collector_paused,
    relation,
    variables,
    written_in_parentheses,
)

SHOWN = (("init", 1), ("true", 1), ("does", 2), ("legal", 2), ("next", 1), ("terminal", 0), ("goal", 2), ("sees", 2))
ROOTS = tuple(rel for rel in SHOWN if rel[0] not in ("true", "does"))
INPUTS = frozenset({("true", 1), ("does", 2)})
PLAYER = "player "  # the relation of the real roles; no name in a rulesheet has a space
CHILD = """
import contextlib, ctypes, resource, sys
memory, seconds = map(int, sys.argv.pop().split(","))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
from clingo.__main__ import PyClingoApplication, clingo_main
with contextlib.suppress(OSError, AttributeError):  # one system call a token otherwise: 20 times slower
    ctypes.CDLL("libstdc++.so.6")._ZNSt8ios_base15sync_with_stdioEb(ctypes.c_bool(False))
sys.exit(clingo_main(PyClingoApplication(), sys.argv[1:]))
"""
SMALL = 12 << 20  # bytes of an answer: a network may be made of it even if there is a shorter one
GRACE_SECONDS = 1.0  # for a second answer, at least
READING_RATE = 50e6  # bytes of the grounder's answer that become arrays in a second
TOKEN = re.compile(r"\w+\(?|\)")
INTEGER = re.compile("[0-9]+")
LONGEST = 1e6  # seconds: what the system can still wait for
OPTIONS = ("--mode=gringo", "--output=intermediate", "--warn=none", "-")


@dataclass(frozen=True)
class Ground:
    """Ground rules over numbered atoms. Rule i: `heads[i]` holds where all its literals do; a negative one is negated.

    Atoms are numbered from 1. One that is neither the head of a rule nor an input (`true`, `does`) is false. Where a
    dictionary has 0, the atom is always true.
    """

    roles: tuple[str, ...]
    init: frozenset[Fact]
    true: dict[Fact, int]
    does: dict[tuple[int, Move], int]  # (index of the role, move)
    legal: dict[tuple[int, Move], int]
    next: dict[Fact, int]
    terminal: int | None  # None: never
    goal: dict[tuple[int, int], int]  # (index of the role, value)
    sees: dict[tuple[int, Fact], int]
    heads: npt.NDArray[np.int32]  # (rules,)
    starts: npt.NDArray[np.int64]  # (rules + 1,): rule i has literals[starts[i] : starts[i + 1]]
    literals: npt.NDArray[np.int32]


def ground(rules: Sequence[Rule], roles: Sequence[str], *, time_limit: float, memory_limit: int) -> Ground:
    """The ground rules of a game, within `time_limit` seconds and `memory_limit` bytes.

    >>> from ggp.parser import parse
    >>> sheet = parse("(role a) (init (s 1)) (<= (legal a (go ?x)) (true (s ?x))) (<= (next (s 2)) (does a (go 1)))")
    >>> found = ground(sheet.rules, ["a"], time_limit=10, memory_limit=1 << 30)
    >>> [str(fact) for fact in found.true], [str(move) for _, move in found.legal], found.terminal
    (['(s 1)', '(s 2)'], ['(go 1)', '(go 2)'], None)
    """
    return next(grounds(rules, roles, time_limit=time_limit, memory_limit=memory_limit))


def grounds(rules: Sequence[Rule], roles: Sequence[str], *, time_limit: float, memory_limit: int) -> Iterator[Ground]:
    """The same with and without decomposition, the shorter first; which network is smaller is seen once they are built.

    The shorter one alone where the other is large, or takes far longer, or is no different.
    """
    time_limit = min(time_limit, LONGEST)
    deadline = time.monotonic() + time_limit
    names = _Names(written_in_parentheses(rules))
    with collector_paused():
        plain = prepared(rules, roles)
        programs = dict.fromkeys(names.program(version) for version in (decomposed(plain), plain))
    limits = _Limits(deadline, time_limit, memory_limit // len(programs), memory_limit)
    texts = _answers(list(programs), limits)
    while texts:  # each is forgotten before its network is built
        with collector_paused():
            found = _Answer(texts.pop(0)).ground(names, tuple(roles), limits)
        yield found


# From rules to the grounder's language


def prepared(rules: Sequence[Rule], roles: Sequence[str]) -> list[Rule]:
    """Flat rules for all that can be asked, and nothing else. `init` depends on no state."""
    flat = needed(flatten(rules), ROOTS)
    used = {relation(atom_of(literal)) for rule in flat for literal in rule.body}
    found = [Rule(Compound(PLAYER, (parse_ground(role),))) for role in roles]
    for rule in flat:
        if relation(rule.head) in (("legal", 2), ("goal", 2), ("sees", 2)):
            role = rule.head.args[0]
            if relation(rule.head) not in used or not bound_by(rule.body).issuperset(variables(role)):
                rule = Rule(rule.head, (Compound(PLAYER, (role,)), *rule.body))
        found.append(rule)
    found = with_constants(before_the_game(found))
    dynamic = dynamic_relations(found)
    kept = {relation(rule.head) for rule in needed(found, [("init", 1)])}
    return directed(found, {relation(rule.head) for rule in found} - dynamic, kept.union(SHOWN))


def with_constants(rules: list[Rule]) -> list[Rule]:
    """`rules`, where facts that are never added nor deleted are asked for in a relation that knows no state.

    >>> from ggp.parser import parse
    >>> text = "(init (wall 1)) (<= (next (wall ?x)) (true (wall ?x))) (<= (next (at ?x)) (true (wall ?x)))"
    >>> for rule in with_constants(list(parse(text).rules))[2:]:
    ...     print(rule)
    (<= (next (at ?x)) (always wall ?x))
    (<= (always wall ?0) (init (wall ?0)))
    """
    constant = {relation(rule.head.args[0]) for rule in rules if relation(rule.head) == ("init", 1)}
    kept = set()
    for rule in rules:
        if relation(rule.head) == ("next", 1):
            fact = rule.head.args[0]
            if rule.body != (Compound("true", (fact,)),):
                constant = set() if isinstance(fact, Variable) else constant - {relation(fact)}
            elif isinstance(fact, Variable):
                kept |= constant
            elif len(set(fact.args)) == len(fact.args) and all(isinstance(arg, Variable) for arg in fact.args):
                kept.add(relation(fact))
    constant &= kept

    def settled(literal: Term) -> Term:
        if is_connective(literal, "not"):
            return Compound("not", (settled(literal.args[0]),))
        if relation(literal) == ("true", 1) and relation(fact := literal.args[0]) in constant:
            return applied(f"always {fact.name}", fact.args)
        return literal

    found = []
    for rule in rules:
        frame = relation(rule.head) == ("next", 1) and relation(rule.head.args[0]) in constant
        found.append(rule if frame else Rule(rule.head, tuple(map(settled, rule.body))))
    for name, arity in sorted(constant):
        args = [Variable(f"?{i}") for i in range(arity)]
        found.append(Rule(applied(f"always {name}", args), (Compound("init", (applied(name, args),)),)))
    return found


def decomposed(rules: list[Rule]) -> list[Rule]:
    dynamic = dynamic_relations(rules)
    return decompose(rules, {relation(rule.head) for rule in rules} - dynamic)


def needed(rules: Iterable[Rule], roots: Iterable[Relation]) -> list[Rule]:
    """The rules of the relations that the roots depend on."""
    definitions: dict[Relation, list[Rule]] = defaultdict(list)
    for rule in rules:
        definitions[relation(rule.head)].append(rule)
    todo = list(roots)
    found = dict.fromkeys(todo)
    while todo:
        for rule in definitions.get(todo.pop(), ()):
            for literal in rule.body:
                used = relation(atom_of(literal))
                if used not in found:
                    found[used] = None
                    todo.append(used)
    return [rule for rel in found for rule in definitions.get(rel, ())]


def before_the_game(rules: list[Rule]) -> list[Rule]:
    """`rules`, where what `init` asks for is asked before there is any state: of relations of its own if need be."""
    dynamic = dynamic_relations(rules)
    if ("init", 1) not in dynamic:
        return rules

    def renamed(literal: Term) -> Term:
        if is_connective(literal, "not"):
            return Compound("not", (renamed(literal.args[0]),))
        if relation(literal) not in dynamic:
            return literal
        name = f"{literal.name} before"
        return Compound(name, literal.args) if isinstance(literal, Compound) else Symbol(name)

    copies = []
    for rule in needed(rules, [("init", 1)]):
        if relation(rule.head) in dynamic:
            head = rule.head if rule.head.name == "init" else renamed(rule.head)
            assert not isinstance(head, Variable)
            copies.append(Rule(head, tuple(map(renamed, rule.body))))
    rest = [rule for rule in rules if relation(rule.head) != ("init", 1)]
    return rest + needed(copies, [("init", 1)])


def dynamic_relations(rules: Iterable[Rule]) -> set[Relation]:
    """What depends on the state or the moves."""
    users: dict[Relation, set[Relation]] = defaultdict(set)
    for rule in rules:
        for literal in rule.body:
            users[relation(atom_of(literal))].add(relation(rule.head))
    found = set(INPUTS)
    todo = list(found)
    while todo:
        fresh = users[todo.pop()] - found
        found |= fresh
        todo += fresh
    return found


class _Names:
    """GDL's names as clingo's and back: constants c0, functions f0, relations p0; what is shown keeps its name."""

    def __init__(self, in_parentheses: frozenset[str]) -> None:
        self.in_parentheses = in_parentheses
        self.codes: dict[tuple[str, str, int], str] = {}
        self.constants: dict[str, Symbol] = {}
        self.functions: dict[str, str] = {}

    def program(self, rules: Sequence[Rule]) -> str:
        """The rules, and what may be true. A demand that depends on the state is as free as the state itself."""
        dynamic = dynamic_relations(rules)
        lines = [self.rule(rule, free=is_demand(rule.head) and relation(rule.head) in dynamic) for rule in rules]
        player = self.code("p", PLAYER, 1)
        lines += ["{true(F)} :- init(F).", "{true(F)} :- next(F).", f"{{does(R,M)}} :- legal(R,M), {player}(R)."]
        lines += [f"#show {name}/{arity}." for name, arity in SHOWN]
        return "\n".join(lines)

    def rule(self, rule: Rule, *, free: bool) -> str:
        found = dict.fromkeys(v for term in (rule.head, *rule.body) for v in variables(term))
        known = {v: f"V{number}" for number, v in enumerate(found)}
        head = f"{{{self.atom(rule.head, known)}}}" if free else self.atom(rule.head, known)
        return f"{head} :- {', '.join(self.literal(lit, known) for lit in rule.body)}." if rule.body else f"{head}."

    def literal(self, literal: Term, known: dict[Variable, str]) -> str:
        if is_connective(literal, "not", "distinct"):
            inner = literal.args[0]
            if is_connective(inner, "distinct") and literal.name == "not":
                return f"{self.term(inner.args[0], known)} = {self.term(inner.args[1], known)}"
            if literal.name == "not":
                return f"not {self.atom(inner, known)}"
            return f"{self.term(literal.args[0], known)} != {self.term(literal.args[1], known)}"
        return self.atom(literal, known)

    def atom(self, atom: Term, known: dict[Variable, str]) -> str:
        name = atom.name if relation(atom) in SHOWN else self.code("p", *relation(atom))
        return self.applied(name, atom, known)

    def term(self, term: Term, known: dict[Variable, str]) -> str:
        if isinstance(term, Variable):
            return known[term]
        return self.applied(self.code("f" if term.args else "c", *relation(term)), term, known)

    def applied(self, name: str, term: Term, known: dict[Variable, str]) -> str:
        return f"{name}({','.join(self.term(arg, known) for arg in term.args)})" if term.args else name

    def code(self, kind: str, name: str, arity: int) -> str:
        code = self.codes.setdefault((kind, name, arity), f"{kind}{len(self.codes)}")
        if kind == "c":
            self.constants[code] = Symbol(name, parens=name in self.in_parentheses)
        elif kind == "f":
            self.functions[code] = name
        return code

    def parsed(self, text: str) -> tuple[Fact, ...]:
        """The terms of a list such as `c1,f2(c3,c4)`."""
        stack: list[list[Fact]] = [[]]
        names: list[str] = []
        for token in TOKEN.findall(text):
            if token == ")":
                args = tuple(stack.pop())
                stack[-1].append(Compound(names.pop(), args))
            elif token[-1] == "(":
                names.append(self.functions[token[:-1]])
                stack.append([])
            else:
                stack[-1].append(self.constants[token])
        return tuple(stack[0])


# The grounder's process


@dataclass(frozen=True)
class _Limits:
    deadline: float  # on the monotonic clock
    seconds: float
    memory: int  # bytes for one process
    whole: int  # bytes for all

    def check(self) -> None:
        if time.monotonic() >= self.deadline:
            raise self.over_time()

    def over_time(self) -> TimeLimit:
        return TimeLimit(f"the rules were not ground within {self.seconds:g} s")

    def over_memory(self) -> MemoryLimit:
        return MemoryLimit(f"grounding the rules needs more than the memory limit of {shown_size(self.whole)}")


class _Process:
    """One run of the grounder."""

    def __init__(self, program: str, limits: _Limits) -> None:
        self.limits = limits
        self.text = bytearray()
        self.most = limits.memory // 4  # bytes of text: as numbers it needs about three times as much
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        with tempfile.TemporaryFile() as source:
            source.write(program.encode())
            source.seek(0)
            caps = f"{limits.memory},{int(limits.seconds) + 2}"
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", CHILD, *OPTIONS, caps],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=self.errors,
            )
        assert self.process.stdout is not None
        self.pipe = self.process.stdout

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.errors.close()
        self.pipe.close()

    def read(self) -> bool:
        """Takes what has been written; whether that was all of it. Raises what went wrong, if anything did."""
        piece = os.read(self.pipe.fileno(), 1 << 20)
        self.text += piece
        if len(self.text) > self.most:
            raise self.limits.over_memory()
        if time.monotonic() + len(self.text) / READING_RATE > self.limits.deadline:
            raise self.limits.over_time()
        if not piece and not self.text.endswith(b"\n0\n"):
            raise self.problem()
        return not piece

    def problem(self) -> GGPError:
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace")
        if "unsafe" in said:
            return GdlError("a rule is unsafe: a variable in its head is bound by nothing in its body")
        if code < 0 or "alloc" in said or "MemoryError" in said:
            return self.limits.over_memory()
        return ReasonerError(f"the grounder failed (exit code {code}): {said.strip()[-500:]}")


def _answers(programs: Sequence[str], limits: _Limits) -> list[bytearray]:
    """The answers to programs that mean the same: all that are small, else the shortest; the shortest first.

    They run side by side. Sizes decide, not the clock; only what writes little and takes long is stopped by time: after
    the first answer it gets as much again as that took.
    """
    running: list[_Process] = []
    answers: list[bytearray] = []
    problems: list[GGPError] = []
    began, until = time.monotonic(), limits.deadline
    with selectors.DefaultSelector() as selector:
        try:
            for program in programs:
                running.append(_Process(program, limits))
                selector.register(running[-1].pipe, selectors.EVENT_READ, running[-1])
            while selector.get_map() and (now := time.monotonic()) < until:
                for key, _ in selector.select(until - now):
                    process: _Process = key.data
                    try:
                        if not process.read():
                            continue
                        answers.append(process.text)
                        now = time.monotonic()
                        until = min(until, now + max(now - began, GRACE_SECONDS))
                        for other in running:
                            other.most = min(other.most, max(SMALL, len(process.text)))
                    except GGPError as error:
                        problems.append(error)
                    selector.unregister(process.pipe)
                    process.end()
        finally:
            for process in running:
                process.end()
    if not answers:
        limits.check()
        raise problems[0]
    answers.sort(key=lambda text: (len(text), text))
    return [text for text in answers if len(text) <= max(SMALL, len(answers[0]))]


# From aspif to arrays


@dataclass
class _Rules:
    """Ground rules as they come from the grounder, and the atoms that are free to choose."""

    heads: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    literals: npt.NDArray[np.int32]
    choices: npt.NDArray[np.int32]

    def select(self, rules: npt.NDArray[np.bool_], literals: npt.NDArray[np.bool_]) -> _Rules:
        """Only these rules, only with these literals."""
        owner = np.repeat(np.arange(len(self.heads)), self.sizes)
        literals = literals & rules[owner]
        sizes = np.bincount(owner[literals], minlength=len(self.heads))
        return _Rules(self.heads[rules], sizes[rules], self.literals[literals], self.choices)


def _aspif(text: bytes) -> _Rules:
    """The rules of lines such as `1 0 1 HEAD 0 COUNT LITERAL…`; those of choices begin with `1 1`."""
    numbers = np.fromstring(text, np.int32, sep=" ")
    raw = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(raw[raw <= 32] == ord("\n"))  # tokens are separated by one space or newline each
    lines = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
    lines = lines[numbers[lines + 2] == 1]
    choice = numbers[lines + 1] == 1
    choices = np.unique(numbers[lines[choice] + 3])
    lines = lines[~choice]
    sizes = numbers[lines + 5].astype(np.int64)
    places = np.repeat(lines + 6 - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    return _Rules(numbers[lines + 3], sizes, numbers[places], choices)


def _folded(rules: _Rules, inputs: Sequence[int], count: int, limits: _Limits) -> tuple[_Rules, npt.NDArray[np.bool_]]:
    """The rules without atoms that are always true, which are marked in the second answer, or never.

    What is free to choose but no input is a demand: it holds.
    """
    true = np.zeros(count, np.bool_)
    true[rules.choices] = True
    true[inputs] = False
    while True:
        limits.check()
        true[rules.heads[rules.sizes == 0]] = True
        possible = np.zeros(count, np.bool_)
        possible[rules.heads] = True
        possible[inputs] = True
        atoms = np.abs(rules.literals)
        positive = rules.literals > 0
        holds = np.where(positive, true[atoms], ~possible[atoms])
        fails = np.where(positive, ~(possible | true)[atoms], true[atoms])
        failed = np.zeros(len(rules.heads), np.bool_)
        failed[np.repeat(np.arange(len(rules.heads)), rules.sizes)[fails]] = True
        keep = ~failed & ~true[rules.heads]
        if keep.all() and not holds.any():
            return rules, true
        rules = rules.select(keep, ~holds)


class _Answer:
    """What one run of the grounder wrote."""

    def __init__(self, text: bytearray) -> None:
        begin = text.index(b"\n") + 1
        end = text.find(b"\n4 ", begin - 1) + 1 or len(text) - 2
        self.rules = _aspif(bytes(memoryview(text)[begin:end]))
        self.shown = text[end:-3].decode().split("\n") if end < len(text) - 3 else []

    def ground(self, names: _Names, roles: tuple[str, ...], limits: _Limits) -> Ground:
        shown: dict[str, dict[tuple[Fact, ...], int]] = {name: {} for name, _ in SHOWN}
        terms: dict[str, tuple[Fact, ...]] = {}  # those of `legal` come again with `does`
        for line in self.shown:
            _, _, symbol, size, *condition = line.split(" ")
            assert int(size) == len(condition) <= 1
            name, _, inner = symbol.partition("(")
            args = terms.get(inner)
            if args is None:
                args = terms[inner] = names.parsed(inner[:-1])
            shown[name][args] = int(condition[0]) if condition else 0
        inputs = [number for name in ("true", "does") for number in shown[name].values()]
        atoms = [number for group in shown.values() for number in group.values()]
        rules = self.rules
        arrays = (rules.heads, rules.literals, rules.choices)
        count = 1 + max(*(int(np.abs(array).max(initial=0)) for array in arrays), *atoms)
        rules, facts = _folded(rules, inputs, count, limits)

        used = np.zeros(count, np.bool_)
        used[rules.heads] = True
        used[inputs] = True
        used[0] = False
        number = np.cumsum(used, dtype=np.int32)
        number[~used] = -1  # never true
        number[facts] = 0
        number[0] = 0
        answers = {
            name: {args: int(number[atom]) for args, atom in group.items() if number[atom] >= 0}
            for name, group in shown.items()
        }
        index = {parse_ground(role): i for i, role in enumerate(roles)}

        def of_roles(name: str) -> dict[tuple[int, Fact], int]:
            return {(index[role], term): atom for (role, term), atom in answers[name].items() if role in index}

        return Ground(
            roles=roles,
            init=frozenset(fact for (fact,), atom in answers["init"].items() if atom == 0),
            true={fact: atom for (fact,), atom in answers["true"].items()},
            does=of_roles("does"),
            legal=of_roles("legal"),
            next={fact: atom for (fact,), atom in answers["next"].items()},
            terminal=answers["terminal"].get(()),
            goal={
                (role, int(value.name)): atom
                for (role, value), atom in of_roles("goal").items()
                if isinstance(value, Symbol) and INTEGER.fullmatch(value.name)
            },
            sees=of_roles("sees"),
            heads=number[rules.heads],
            starts=np.concatenate(([0], np.cumsum(rules.sizes))),
            literals=np.sign(rules.literals) * number[np.abs(rules.literals)],
        )
