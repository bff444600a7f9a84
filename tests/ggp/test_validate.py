"""Each message of `validate` on the smallest rules that deserve it, with its place; and the public games."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.errors import GdlSyntaxError, Problem
from ggp.parser import Rulesheet, Source, load, parse
from ggp.terms import KEYWORDS, Compound, Rule, Symbol, Variable
from ggp.validate import MAX_FINDINGS, Report, validate

GAMES = Path(__file__).parents[2].parent / "shared" / "games"

SOUND = """
(role white) (role black)
(init (step 1)) (succ 1 2) (succ 2 3)
(<= (legal ?r wait) (role ?r))
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= terminal (true (step 3)))
(<= (goal ?r 50) (role ?r))
"""


def report(text: str) -> Report:
    return validate(parse(text, name="t.kif"))


def errors(extra: str) -> list[str]:
    """Of a sound game with `extra` before it; there must be no warnings."""
    found = report(extra + SOUND)
    assert not found.warnings
    return list(map(str, found.errors))


def warnings(extra: str) -> list[str]:
    """Of a sound game with `extra` before it; there must be no errors."""
    found = report(extra + SOUND)
    assert not found.errors
    return list(map(str, found.warnings))


def test_a_sound_game_has_no_findings() -> None:
    assert report(SOUND) == Report((), ())


def test_findings_are_problems_in_the_order_of_the_text() -> None:
    assert report("(<= p ?x)\n(<= q (next 1))" + SOUND).errors == (
        Problem("t.kif", 1, 7, "variable ?x as a literal, expected a relation"),
        Problem("t.kif", 2, 7, "next in a body, expected it only in heads"),
    )


def test_rules_without_places_are_found_at_the_beginning() -> None:
    rule = Rule(Compound("p", (Variable("?x"),)), (Symbol("q"), Compound("not", (Variable("?y"),))))
    found = validate(Rulesheet((*parse(SOUND).rules, Rule(Symbol("q")), rule), Source("t.kif", "")))
    assert [(p.line, p.column) for p in found.errors] == [(1, 1)] * 3


# Keywords


@pytest.mark.parametrize(
    "head", ["(true p)", "(does white wait)", "(distinct a b)", "(not p)", "(or p q)", "(and p q)"]
)
def test_what_belongs_in_bodies_is_an_error_in_a_head(head: str) -> None:
    keyword = head[1:].split()[0]
    assert errors(f"(<= {head} (role white))") == [f"t.kif:1:5: {keyword} in a head, expected it only in bodies"]


@pytest.mark.parametrize("literal", ["(init a)", "(next a)", "(sees white a)"])
def test_what_belongs_in_heads_is_an_error_in_a_body(literal: str) -> None:
    keyword = literal[1:].split()[0]
    assert errors(f"(<= p (not {literal}))") == [f"t.kif:1:7: {keyword} in a body, expected it only in heads"]


def test_all_other_keywords_may_stand_in_bodies() -> None:
    body = "(role ?r) (legal ?r ?m) (goal ?r 50) (not terminal) (base (step 1)) (input ?r ?m) (does ?r ?m) (true ?f)"
    assert warnings(f"(base (step 1)) (<= (input ?r wait) (role ?r)) (<= (p ?r) {body})") == []


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("(true)", "true with no arguments, expected 1"),
        ("(true a b)", "true with 2 arguments, expected 1"),
        ("(does white)", "does with 1 argument, expected 2"),
        ("(distinct a)", "distinct with 1 argument, expected 2"),
        ("(role white a)", "role with 2 arguments, expected 1"),
        ("(legal white)", "legal with 1 argument, expected 2"),
        ("(goal white)", "goal with 1 argument, expected 2"),
        ("(base a b)", "base with 2 arguments, expected 1"),
        ("(input white)", "input with 1 argument, expected 2"),
        ("(terminal 1)", "terminal with 1 argument, expected 0"),
        ("(not)", "not with no arguments, expected 1"),
        ("(not p q)", "not with 2 arguments, expected 1"),
        ("(or)", "or with no arguments, expected at least 1"),
        ("and", "and with no arguments, expected at least 1"),
    ],
)
def test_keywords_have_a_fixed_number_of_arguments_in_bodies(literal: str, message: str) -> None:
    assert f"t.kif:1:7: {message}" in map(str, report(f"(<= p (and (role ?r) {literal}))" + SOUND).errors)


@pytest.mark.parametrize(
    "head", ["(role)", "(init)", "(next a b)", "(legal a)", "(goal 1)", "(terminal x)", "(sees a)"]
)
def test_keywords_have_a_fixed_number_of_arguments_in_heads(head: str) -> None:
    (found,) = errors(f"(<= {head} (role white))")
    assert found.startswith(f"t.kif:1:5: {head[1:-1].split()[0]} with ")


def test_keywords_are_known_in_any_case() -> None:
    assert errors("(<= (LEGAL white) (ROLE white))") == ["t.kif:1:5: legal with 1 argument, expected 2"]


@pytest.mark.parametrize(
    ("rule", "keyword", "atom"),
    [
        ("(<= p (true (next x)))", "next", "(true (next x))"),
        ("(<= p (not (succ (True x) 1)))", "true", "(succ (True x) 1)"),
        ("(<= p (true (f (not x))))", "not", "(true (f (not x)))"),
    ],
)
def test_a_keyword_is_an_error_as_a_function(rule: str, keyword: str, atom: str) -> None:
    assert errors(rule) == [f"t.kif:1:7: keyword {keyword} as a function in {atom}, expected another name"]


def test_a_keyword_is_a_warning_as_a_constant() -> None:
    assert warnings("(<= p (true terminal))") == ["t.kif:1:7: keyword terminal as a constant in (true terminal)"]


@pytest.mark.parametrize("literal", ["?x", "(not ?x)", "(or (role white) (and ?x))"])
def test_a_variable_is_no_literal(literal: str) -> None:
    assert "t.kif:1:7: variable ?x as a literal, expected a relation" in map(str, report(f"(<= p {literal})").errors)


def test_names_should_keep_their_number_of_arguments() -> None:
    assert warnings("(p 1) (p 1 2)\n(p (f 1))\n(p (f 1 2))") == [
        "t.kif:1:7: relation p with 2 arguments, but with 1 in line 1",
        "t.kif:3:1: function f with 2 arguments, but with 1 in line 2",
    ]
    assert warnings("p (p 1)") == ["t.kif:1:3: relation p with 1 argument, but with 0 in line 1"]


def test_a_relation_and_a_function_and_a_constant_may_share_a_name() -> None:
    assert warnings("(step 1 2 3) (p step)") == []


def test_parentheses_around_a_lone_name_make_no_difference() -> None:
    assert warnings("(p) (<= q p) (<= r (q))") == []


# What a game must have


def test_a_game_needs_roles_and_an_end() -> None:
    found = report("(<= (role ?r) (player ?r)) (player white)")
    assert list(map(str, found.errors)) == [
        "t.kif:1:1: (role ?r) by a rule or with a variable, expected ground facts for roles",
        "t.kif:1:1: no (role …) facts, expected at least one",
        "t.kif:1:1: terminal has no rules, the game would never end",
    ]
    assert list(map(str, found.warnings)) == [
        "t.kif:1:1: init has no rules, the game begins with an empty state",
        "t.kif:1:1: next has no rules, every state but the first is empty",
    ]


def test_a_role_is_a_ground_fact() -> None:
    message = "by a rule or with a variable, expected ground facts for roles"
    assert errors("p (<= (role red) p)") == [f"t.kif:1:3: (role red) {message}"]


def test_every_role_can_move_and_should_have_a_goal() -> None:
    found = report("(role white) (role black) (legal white wait) (goal white 1) (init a) (next a) terminal")
    assert list(map(str, found.errors)) == ["t.kif:1:14: no rule for legal serves role black, it could never move"]
    assert list(map(str, found.warnings)) == ["t.kif:1:14: no rule for goal serves role black"]


def test_random_needs_neither_goals_nor_percepts() -> None:
    game = "(role random) (role white) (<= (legal ?r wait) (role ?r)) (init a) (next a) terminal"
    assert list(map(str, report(f"{game} (goal white 1) (sees white a)").warnings)) == []
    assert list(map(str, report(f"{game} (goal white 1) (sees random a)").warnings)) == [
        "t.kif:1:15: no rule for sees serves role white"
    ]


def test_a_constant_in_the_place_of_a_role_should_be_one() -> None:
    assert warnings("(goal red 1) (<= p (does red wait))") == [
        "t.kif:1:1: red in (goal red 1) is not a role",
        "t.kif:1:20: red in (does red wait) is not a role",
    ]


@pytest.mark.parametrize("value", ["101", "-1", "fifty", "5.0", "(plus 1 2)"])
def test_a_goal_is_an_integer_from_0_to_100(value: str) -> None:
    goal = f"(goal white {value})"
    assert errors(f"(<= {goal} (role white))") == [f"t.kif:1:5: goal {value}, expected an integer from 0 to 100"]


def test_a_goal_may_be_a_variable() -> None:
    assert warnings("(<= (goal white ?n) (succ ?n ?m))") == []


def test_a_relation_without_rules_is_one_warning() -> None:
    assert warnings("(<= p (not (q 1)))\n(<= p (q 2))") == [
        "t.kif:1:7: relation q with 1 argument has no rules, it never holds"
    ]
    assert warnings("(<= p (base 1))") == ["t.kif:1:7: relation base with 1 argument has no rules, it never holds"]


def test_the_same_rule_twice_is_a_warning() -> None:
    assert warnings("(p 1)\n(p 1)") == ["t.kif:2:1: the same rule as in line 1"]


# Variables


@pytest.mark.parametrize("rule", ["(p ?x)", "(<= (p ?x))", "(<= (p (f ?x)) (not (succ ?x 1)))"])
def test_the_variables_of_a_head_must_occur_in_a_positive_literal(rule: str) -> None:
    found = [p.message for p in report(rule + SOUND).errors]
    assert "?x in the head occurs in no positive literal of the body" in found


@pytest.mark.parametrize("literal", ["(not (succ ?x 1))", "(distinct ?x 1)", "(not (or (succ ?x 1) (succ 1 2)))"])
def test_the_variables_of_a_negation_must_occur_in_a_positive_literal(literal: str) -> None:
    assert errors(f"(<= p {literal})") == [f"t.kif:1:7: ?x in {literal} occurs in no positive literal of the body"]
    assert errors(f"(<= p {literal} (succ ?x ?y))") == []


def test_many_unbound_variables_are_shortened() -> None:
    assert errors("(p ?a ?b ?c ?d ?e ?f)") == [
        "t.kif:1:1: ?a, ?b, ?c, ?d, ?e, … in the head occurs in no positive literal of the body"
    ]


def test_an_or_binds_what_all_its_branches_bind() -> None:
    assert errors("(<= (p ?x) (or (succ ?x 1) (and (succ ?y 1) (succ 1 ?x))))") == []
    assert errors("(<= (p ?x) (or (succ ?x 1) (succ ?y 1)))") == [
        "t.kif:1:5: ?x in the head occurs in no positive literal of the body"
    ]
    assert errors("(<= (p ?x) (or (and (succ ?x 1))))") == []


def test_a_branch_binds_only_for_itself() -> None:
    assert errors("(<= p (or (and (succ ?x 1) (distinct ?x 2)) (succ 1 2)))") == []
    assert errors("(<= p (or (succ ?x 1) (distinct ?x 2)))") == [
        "t.kif:1:7: ?x in (distinct ?x 2) occurs in no positive literal of the body"
    ]
    assert errors("(<= p (or (succ ?x 1) (succ 1 2)) (distinct ?x 2))") == [
        "t.kif:1:35: ?x in (distinct ?x 2) occurs in no positive literal of the body"
    ]


def test_a_branch_sees_what_is_bound_around_it() -> None:
    assert errors("(<= p (succ ?x ?y) (or (distinct ?x 2) (and (succ 1 2) (or (not (succ ?y 1)) (succ ?z 2)))))") == []


@pytest.mark.parametrize(
    "rule",
    [
        "(<= (path ?x ?y) (succ ?x ?z) (path ?z ?y))",
        "(<= (path ?x ?y) (path ?x ?z) (succ ?z ?y))",
        "(<= (path ?x (f ?y)) (succ ?x ?y) (path 1 (f ?y)))",
        "(<= (path ?x ?y) (succ ?x ?y) (or (path ?x 1) (and (succ ?z 1) (path ?z ?z))))",
    ],
)
def test_restricted_recursion_is_fine(rule: str) -> None:
    assert warnings(f"(path 1 2) {rule}") == []


@pytest.mark.parametrize(
    ("rule", "literal"),
    [
        ("(<= (n (s ?x)) (n ?x))", "(n ?x)"),
        ("(<= (n ?x) (succ ?y ?x) (n (s ?z)) (n ?z))", "(n ?z)"),
        ("(<= (n ?x) (succ ?y ?x) (m ?z)) (<= (m ?x) (n ?x))", "(m ?z)"),
    ],
)
def test_unrestricted_recursion_is_a_warning(rule: str, literal: str) -> None:
    variable = literal[3:-1]
    message = "is bound neither by the head nor outside the recursion, it may never end"
    found = [problem.message for problem in report(f"(n 1) {rule}" + SOUND).warnings]
    assert f"{variable} in the recursive {literal} {message}" in found


# Dependencies


def test_negation_in_a_cycle_is_an_error() -> None:
    assert errors("(<= p (not q)) (<= q (role white) p)") == [
        "t.kif:1:7: negation in a cycle: p depends on (not q), and q on p"
    ]
    assert errors("(<= p (or (role white) (not p)))") == [
        "t.kif:1:7: negation in a cycle: p depends on (not p), and p on p"
    ]


def test_negation_of_other_constants_is_a_warning() -> None:
    assert warnings("(<= (goal white 100) terminal) (<= (goal white 0) (not (goal white 100)))") == [
        "t.kif:1:51: negation in a cycle: goal depends on (not goal), and goal on goal, though with other constants"
    ]
    assert len(errors("(<= (p ?x 0) (succ ?x ?y) (not (p ?y 0)))")) == 1
    assert len(errors("(<= (p 0) (not (p 1))) (<= (p ?x) (succ ?x 1))")) == 1


@pytest.mark.parametrize("head", ["(legal white go)", "(goal white 1)", "terminal"])
def test_moves_ends_and_goals_depend_on_no_move(head: str) -> None:
    keyword = head.strip("(").split()[0]
    place = f"t.kif:1:{6 + len(head)}"
    assert errors(f"(<= {head} (does black wait))") == [f"{place}: {keyword} depends on does"]
    assert errors(f"(<= {head} p) (<= p (or (role white) (not q))) (<= q (does black wait))") == [
        f"{place}: {keyword} depends on does through p, q"
    ]


def test_long_ways_are_shortened() -> None:
    chain = "".join(f"(<= p{i} p{i + 1})" for i in range(8))
    assert errors(f"(<= terminal p0) (<= p8 (does white wait)) {chain}") == [
        "t.kif:1:14: terminal depends on does through p0, p1, p2, p3, p4, …"
    ]


@pytest.mark.parametrize("head", ["(init a)", "(base a)", "(input white a)"])
def test_what_is_fixed_depends_on_no_state(head: str) -> None:
    keyword, place = head[1:].split()[0], f"t.kif:1:{6 + len(head)}"
    assert errors(f"(<= {head} (true a))") == [f"{place}: {keyword} depends on true"]
    assert errors(f"(<= {head} (does white a))") == [f"{place}: {keyword} depends on does"]
    assert warnings(f"(<= {head} (legal white a))") == [f"{place}: {keyword} depends on legal"]
    assert warnings(f"(<= {head} (goal white 50))") == [f"{place}: {keyword} depends on goal"]
    assert f"{place}: {keyword} depends on terminal" in map(str, report(f"(<= {head} terminal)" + SOUND).warnings)


def test_the_next_state_and_percepts_may_depend_on_everything() -> None:
    body = "(does ?r ?m) (true ?f) (legal ?r ?m) (not terminal)"
    assert warnings(f"(<= (next ?f) {body}) (<= (sees ?r ?m) {body})") == []


# Rules from strangers


def test_too_many_findings_are_cut_short() -> None:
    found = report("(true)" * (MAX_FINDINGS + 5) + SOUND)
    assert len(found.errors) == MAX_FINDINGS + 1
    assert found.errors[-1].message == "too many findings of this kind, the rest is left out"


def test_long_terms_are_shortened() -> None:
    (found,) = errors(f"(<= p (not (succ ?x {'a' * 1000})))")
    assert found.endswith(f"{'a' * 44}… occurs in no positive literal of the body")


@pytest.mark.parametrize(
    "rules",
    [
        "".join(f"(<= (p{i} ?x) (p{i + 1} ?x) (not (p{i + 2} ?x)))" for i in range(20_000)),
        "(<= p" + "".join(f"(succ ?x{i} 1)(not (succ ?y{i} 1))" for i in range(20_000)) + ")",
        "(<= p" + "(or (role white) (and " * 100 + "(succ ?x 1)" * 20_000 + "))" * 100 + ")",
        f"(p {'(true terminal) ' * 20_000})",
    ],
    ids=["chain", "variables", "nested", "keywords"],
)
def test_large_rules_take_no_more_than_their_time(rules: str) -> None:
    found = report(rules + SOUND)  # a check that were quadratic would take hours
    assert len(found.errors) + len(found.warnings) <= MAX_FINDINGS + 3


TERMS = st.recursive(
    st.sampled_from([*sorted(KEYWORDS), "p", "?x", "?y", "1", "(p)"]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda args: f"(p {' '.join(args)})")
        | st.tuples(st.sampled_from(sorted(KEYWORDS)), st.lists(inner, max_size=3)).map(
            lambda t: f"({t[0]} {' '.join(t[1])})"
        )
    ),
    max_leaves=8,
)


@given(st.lists(st.lists(TERMS, min_size=1, max_size=4).map(lambda terms: f"(<= {' '.join(terms)})"), max_size=4))
def test_whatever_can_be_parsed_can_be_validated(rules: list[str]) -> None:
    try:
        sheet = parse("".join(rules))
    except GdlSyntaxError:
        return
    found = validate(sheet)
    assert list(found.errors) == sorted(set(found.errors))
    assert list(found.warnings) == sorted(set(found.warnings))


@pytest.mark.skipif(not GAMES.is_dir(), reason=f"the public games are not at {GAMES}")
def test_the_public_games_have_no_errors() -> None:
    found = [problem for path in sorted(GAMES.glob("*.kif")) for problem in validate(load(path)).errors]
    assert found == []
