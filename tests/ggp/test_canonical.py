"""Games are recognised whatever was done to their text, and the renaming between two of them is always a true one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp import canonical as module
from ggp.canonical import Structure, canonical, goal_numerals, renamed_rule, renaming, rule_hash, structure
from ggp.parser import load, parse
from ggp.terms import KEYWORDS, Rule, subterms

GAMES = Path(__file__).parents[2].parent / "shared" / "games"
public = pytest.mark.skipif(not GAMES.is_dir(), reason=f"the public games are not in {GAMES}")

NIM = """
(role white) (role black)
(init (heap a 3)) (init (control white))
(succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal ?p (take ?h)) (true (control ?p)) (true (heap ?h ?n)) (distinct ?n 0))
(<= (next (heap ?h ?m)) (does ?p (take ?h)) (true (heap ?h ?n)) (succ ?m ?n))
(<= terminal (true (heap a 0)))
(<= (goal ?p 100) (true (control ?p)))
(<= (goal ?p 0) (role ?p) (not (true (control ?p))))
"""


def rules(text: str) -> tuple[Rule, ...]:
    return parse(text).rules


def names(sheet: Iterable[Rule]) -> list[str]:
    """Every name in the rules, variables with their question mark."""
    return sorted({term.name for rule in sheet for part in (rule.head, *rule.body) for term in subterms(part)})


def shuffled(sheet: Sequence[Rule], random: Random) -> list[Rule]:
    """The rules in another order, but for the role facts among themselves."""
    seats = iter([rule for rule in sheet if rule.head.name == "role" and not rule.body])
    others = random.sample(sheet, len(sheet))
    return [next(seats) if rule.head.name == "role" and not rule.body else rule for rule in others]


def scrambled(sheet: Sequence[Rule], random: Random, fixed: Iterable[str] = ()) -> list[Rule]:
    """The rules in another order, their variables and symbols renamed, all but keywords and `fixed`."""
    kept = {*KEYWORDS, *fixed, "random"}
    old = [name for name in names(sheet) if name not in kept and name[0] != "?"]
    new = dict(zip(old, random.sample([f"w{n}" for n in range(len(old))], len(old)), strict=True))
    result = []
    for rule in shuffled(sheet, random):
        variables = [name for name in names([rule]) if name[0] == "?"]
        result.append(
            renamed_rule(rule, new | dict(zip(variables, random.sample(variables, len(variables)), strict=True)))
        )
    return result


def check_renaming(a: Sequence[Rule], b: Sequence[Rule]) -> None:
    """It is found, and turns the one game into the other."""
    found = renaming(structure(a), structure(b))
    assert found is not None
    assert len(set(found.values())) == len(found)
    assert canonical(renamed_rule(rule, found) for rule in a) == canonical(b)


def board(*edges: tuple[int, int]) -> tuple[Rule, ...]:
    """A game whose board is this graph."""
    return rules("(role x)" + "".join(f"(edge v{a} v{b}) (edge v{b} v{a})" for a, b in edges))


def cycles(*lengths: int) -> tuple[Rule, ...]:
    """A game whose board is several rings."""
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return board(*((s + i, s + (i + 1) % n) for s, n in zip(starts, lengths, strict=True) for i in range(n)))


# --- the rule hash


@pytest.mark.parametrize(
    "text",
    [
        "(role x) (role o) (q a) (<= (p ?x ?y) (q ?x) (not (r ?y ?x)))",
        "; comment\n(ROLE x)\n\t(role o)(q a)\n(<= (p ?x ?y) ; comment\n (q ?x) (NOT (r ?y ?x)))",
        "((role x) (role o) (q a) (<= (p ?x ?y) (q ?x) (not (r ?y ?x))))",
        "(<= (p ?y ?x) (q ?y) (not (r ?x ?y))) (role x) (q a) (role o)",
        "(role (x)) (role o) (q (a)) (q a) (<= (q a)) (<= (p ?b ?a) (q ?b) (not (r ?a ?b)))",
    ],
)
def test_the_rule_hash_ignores_layout_comments_variable_names_order_and_repetition(text: str) -> None:
    same = "(role x)\n(role o)\n(<= (p ?1 ?2) (q ?1) (not (r ?2 ?1)))\n(q a)"
    assert rule_hash(rules(text)) == sha256(same.encode()).hexdigest()


@pytest.mark.parametrize(
    "text",
    [
        "(role o) (role x) (q a) (<= (p ?x ?y) (q ?x) (not (r ?y ?x)))",
        "(role x) (role o) (q b) (<= (p ?x ?y) (q ?x) (not (r ?y ?x)))",
        "(role x) (role o) (q A) (<= (p ?x ?y) (q ?x) (not (r ?y ?x)))",
        "(role x) (role o) (q a) (<= (p ?x ?y) (q ?x) (not (r ?x ?y)))",
        "(role x) (role o) (q a) (<= (p ?x ?y) (q ?x) (r ?y ?x))",
        "(role x) (role o) (q a) (<= (p ?x ?y) (not (r ?y ?x)) (q ?x))",
        "(role x) (role o) (<= (p ?x ?y) (q ?x) (not (r ?y ?x)))",
    ],
)
def test_the_rule_hash_tells_other_rules_apart(text: str) -> None:
    assert rule_hash(rules(text)) != rule_hash(rules("(role x) (role o) (q a) (<= (p ?x ?y) (q ?x) (not (r ?y ?x)))"))


@given(st.randoms(use_true_random=False))
def test_canonical_rules_are_the_same_for_every_order(random: Random) -> None:
    assert canonical(shuffled(rules(NIM), random)) == canonical(rules(NIM))
    assert canonical(canonical(rules(NIM))) == canonical(rules(NIM))


def test_role_facts_keep_their_order_but_role_rules_are_sorted() -> None:
    assert list(map(str, canonical(rules("(role x) (a) (<= (role ?x) (p ?x)) (role b) (role x)")))) == [
        "(role x)",
        "(role b)",
        "(<= (role ?1) (p ?1))",
        "a",
    ]


# --- the structure


def test_the_structure_hash_is_stable() -> None:
    assert structure(rules(NIM)).hash[:16] == "47c09de59e7150ca"


def test_a_structure_names_its_symbols_in_canonical_order() -> None:
    found = structure(rules(NIM))
    assert sorted(found.symbols) == sorted({"white", "black", "heap", "a", "control", "succ", "1", "2", "3", "take"})
    assert found.rules == canonical(renamed_rule(rule, found.names) for rule in rules(NIM))
    assert structure(found.rules).hash == found.hash


@given(st.randoms(use_true_random=False))
def test_a_scrambled_game_is_recognised(random: Random) -> None:
    check_renaming(rules(NIM), scrambled(rules(NIM), random, fixed=["0", "100"]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("100)", "90)"),  # another goal
        ("(role white) (role black)", "(role black) (role white)"),  # the other player begins
        ("(heap a 0)", "(heap a 1)"),
        ("(succ 1 2)", "(succ 2 1)"),
        ("black", "random"),
        ("take", "heap"),
    ],
)
def test_another_game_has_another_structure(old: str, new: str) -> None:
    a, b = structure(rules(NIM)), structure(rules(NIM.replace(old, new)))
    assert a.hash != b.hash
    assert renaming(a, b) is None


def test_swapping_the_roles_everywhere_is_only_a_renaming() -> None:
    swapped = re.sub("white|black", lambda role: "black" if role[0] == "white" else "white", NIM)
    assert renaming(structure(rules(NIM)), structure(rules(swapped))) == {
        symbol: {"white": "black", "black": "white"}.get(symbol, symbol) for symbol in structure(rules(NIM)).symbols
    }


@pytest.mark.parametrize(
    ("text", "numerals"),
    [
        ("(<= (goal x 100) (p 1)) (goal o 0)", "0 100"),
        ("(goal x win)", ""),
        ("(<= (goal ?r ?v) (score ?r ?v)) (score x 5) (size 6)", "5"),
        (
            "(<= (goal ?r ?v) (true (score ?r ?v))) (init (score x 0)) (<= (next (score ?r 7)) (p ?r)) (init (n 8))",
            "0 7",
        ),
        ("(<= (goal ?r ?v) (or (a ?v) (not (b ?v)))) (a 1) (b 2) (c 3)", "1 2"),
        ("(<= (goal ?r ?v) (does ?r (bid ?v))) (<= (legal ?r (bid ?v)) (coins ?v)) (coins -4) (cell 5)", "-4"),
        ("(<= (goal ?r ?v) (does ?r ?v)) (legal x 3) (<= (goal o ?f) (true ?f)) (init 1) (next 2)", "1 2 3"),
    ],
)
def test_goal_numerals_are_those_that_can_become_the_value_of_a_goal(text: str, numerals: str) -> None:
    assert sorted(goal_numerals(rules(text))) == numerals.split()


def test_a_board_may_be_renumbered_but_a_score_may_not() -> None:
    text = "(role x) (init (at 1)) (init (score 5)) (<= (goal x ?v) (true (score ?v)))"
    assert renaming(structure(rules(text)), structure(rules(text.replace("1", "a")))) is not None
    assert renaming(structure(rules(text)), structure(rules(text.replace("5", "6")))) is None


def test_interchangeable_symbols_are_no_obstacle() -> None:
    for sheet in (rules("(role x)" + "".join(f"(colour c{n})" for n in range(300))), cycles(50), cycles(3, 3, 3, 3)):
        check_renaming(sheet, scrambled(sheet, Random(1)))


def test_ties_that_are_no_symmetries_are_searched() -> None:
    sheet = cycles(3, 3, 6, 4, 5, 3)
    structures = [structure(scrambled(sheet, Random(seed))) for seed in range(10)]
    assert len({s.rules for s in structures}) > 1  # the canonical order alone does not do
    for seed in range(10):
        check_renaming(sheet, scrambled(sheet, Random(seed)))


def test_what_colour_refinement_cannot_tell_apart_the_renaming_can() -> None:
    rook = [(a, b) for a in range(16) for b in range(a) if (a // 4 == b // 4) != (a % 4 == b % 4)]
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    shrikhande = [(a, b) for a in range(16) for b in range(a) if ((a // 4 - b // 4) % 4, (a - b) % 4) in steps]
    for a, b in ((cycles(6), cycles(3, 3)), (board(*rook), board(*shrikhande))):
        assert structure(a).hash == structure(b).hash
        assert renaming(structure(a), structure(b)) is None


def test_the_search_gives_up_when_its_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (structure(scrambled(cycles(3, 3, 6), Random(seed))) for seed in (0, 3))
    assert a.rules != b.rules
    assert renaming(a, b) is not None
    monkeypatch.setattr(module, "SEARCH_BUDGET", 10)
    assert renaming(a, b) is None


# The game's own symbols are a, b, c and d: few enough to try all renamings.
facts = ["(role {})", "(init {})", "(legal {} {})", "(legal {} {})", "(goal {} 0)", "(<= (next {}) (does ?x {}))"]
small_games = st.lists(
    st.builds(str.format, st.sampled_from(facts), st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=6
).map(lambda texts: rules(" ".join(texts)))


@settings(max_examples=200, deadline=None)
@given(small_games, small_games)
def test_a_renaming_is_found_exactly_where_there_is_one(a: tuple[Rule, ...], b: tuple[Rule, ...]) -> None:
    s, t = structure(a), structure(b)
    goal = canonical(b)
    possible = len(s.symbols) == len(t.symbols) and any(
        canonical(renamed_rule(rule, dict(zip(s.symbols, order, strict=True))) for rule in a) == goal
        for order in permutations(t.symbols)
    )
    assert (renaming(s, t) is not None) == possible
    if possible:
        assert s.hash == t.hash
        check_renaming(a, b)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"(succ n{i} n{i + 1})" for i in range(10_000)),
        "".join(f"(colour c{i})" for i in range(10_000)),
        f"(<= (p ?x) {' '.join(f'(q c{i} ?x{i})' for i in range(10_000))})",
        f"(p {' '.join(f'c{i % 7}' for i in range(20_000))})",
        "(p " + "(f " * 248 + "a" + ")" * 249,
        "",
    ],
)
def test_hostile_rules_take_no_more_than_near_linear_time(text: str) -> None:
    sheet = rules(text)
    assert len(structure(sheet).symbols) == len([name for name in names(sheet) if name[0] != "?"])


# --- the public games


@pytest.fixture(scope="module")
def games() -> dict[str, tuple[Rule, ...]]:
    return {path.stem: load(path).rules for path in sorted(GAMES.glob("*.kif"))}


@pytest.fixture(scope="module")
def structures(games: dict[str, tuple[Rule, ...]]) -> dict[str, Structure]:
    return {name: structure(sheet) for name, sheet in games.items()}


@public
def test_public_games_are_recognised_when_scrambled(
    games: dict[str, tuple[Rule, ...]], structures: dict[str, Structure]
) -> None:
    for seed, (name, sheet) in enumerate(games.items()):
        if seed % 3:
            continue  # a third of them is enough
        # Servers leave all numerals alone; another might leave only those that matter.
        numerals = goal_numerals(sheet) if seed % 2 else filter(str.isdecimal, names(sheet))
        other = scrambled(sheet, Random(seed), fixed=numerals)
        found = structure(other)
        assert found.hash == structures[name].hash, name
        new = renaming(structures[name], found)
        assert new is not None, name
        assert canonical(renamed_rule(rule, new) for rule in sheet) == canonical(other), name


@public
def test_different_public_games_have_different_structures(structures: dict[str, Structure]) -> None:
    by_hash: dict[str, list[str]] = {}
    for name, found in structures.items():
        by_hash.setdefault(found.hash, []).append(name)
    same = [tuple(names) for names in by_hash.values() if len(names) > 1]
    assert all(renaming(structures[first], structures[other]) for first, *others in same for other in others)
    assert {pair for pair in same if ".v" not in pair[-1]} == {("disabled.queens", "queens"), ("ttcc4", "tttcc4")}
