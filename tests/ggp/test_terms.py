"""Laws of terms and rules: equality, hashing, pickling, printing, substitution; and terms deeper than the stack."""

from __future__ import annotations

import gc
import pickle
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from ggp.terms import (
    Compound,
    Rule,
    Symbol,
    Term,
    Variable,
    collector_paused,
    is_ground,
    substitute,
    subterms,
    variables,
)

X, Y = Variable("?x"), Variable("?y")
A, B = Symbol("a"), Symbol("b")

leaves: st.SearchStrategy[Term] = st.sampled_from([A, B, Symbol("a", parens=True), X, Y])
terms: st.SearchStrategy[Term] = st.recursive(
    leaves, lambda inner: st.builds(Compound, st.sampled_from("ab"), st.lists(inner, min_size=1, max_size=3).map(tuple))
)


def without_parens(text: str) -> str:
    return text.replace("(a)", "a")


@given(terms, terms)
def test_terms_are_equal_when_they_print_alike_but_for_the_parens_of_a_constant(s: Term, t: Term) -> None:
    assert (s == t) == (without_parens(str(s)) == without_parens(str(t)))
    assert s != t or hash(s) == hash(t)


@given(terms)
def test_pickling_keeps_a_term_and_how_it_was_written(term: Term) -> None:
    copy = pickle.loads(pickle.dumps(term))
    assert copy == term
    assert str(copy) == str(term)


@given(terms)
def test_subterms_come_in_the_order_of_the_text(term: Term) -> None:
    assert [t.name for t in subterms(term)] == str(term).replace("(", " ").replace(")", " ").split()


@given(terms)
def test_a_term_is_ground_when_it_has_no_variables(term: Term) -> None:
    assert is_ground(term) == ("?" not in str(term)) == (not variables(term))


@given(terms, terms)
def test_substituting_twice_is_substituting_what_was_substituted(term: Term, value: Term) -> None:
    both = substitute(substitute(term, {X: Y}), {Y: value})
    assert both == substitute(term, {X: value, Y: value})
    assert substitute(term, {}) == term


@given(terms)
def test_a_ground_substitution_leaves_no_variables(term: Term) -> None:
    assert is_ground(substitute(term, {X: A, Y: B}))


def test_a_symbol_is_no_variable_and_no_compound() -> None:
    assert len({Symbol("?x"), Variable("?x"), Compound("?x", (A,))}) == 3
    assert A != "a"
    assert X != "?x"
    assert Compound("a", (A,)) != "(a a)"


def test_variables_come_once_each_in_order_of_first_occurrence() -> None:
    assert variables(Compound("f", (Y, Compound("g", (X, Y)), X))) == [Y, X]


def test_parens_of_a_constant_are_printed_but_not_compared() -> None:
    written, plain = Compound("f", (Symbol("a", parens=True),)), Compound("f", (A,))
    assert written == plain
    assert (str(written), str(plain)) == ("(f (a))", "(f a)")


def test_reprs_are_short_and_tell_the_kinds_apart() -> None:
    assert [repr(t) for t in (X, A, Compound("f", (X,)))] == ["Variable('?x')", "Symbol('a')", "<(f ?x)>"]


def test_a_rule_prints_as_gdl_and_compares_without_its_place_in_the_source() -> None:
    rule = Rule(Compound("p", (X,)), (Compound("q", (X,)), A), at=(7, 8, 9, 10))
    assert str(rule) == "(<= (p ?x) (q ?x) a)"
    assert str(Rule(A)) == "a"
    assert rule == Rule(rule.head, rule.body)
    assert hash(rule) == hash(Rule(rule.head, rule.body))
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_terms_may_be_deeper_than_the_stack() -> None:
    def tower(top: Term) -> Term:
        for _ in range(20_000):
            top = Compound("f", (top,))
        return top

    assert tower(A) == tower(A)
    assert tower(A) != tower(B)
    assert hash(tower(A)) == hash(tower(A))
    assert len(str(tower(X))) == 20_000 * 4 + 2
    assert not is_ground(tower(X))
    assert sum(1 for _ in subterms(tower(A))) == 20_001


def test_the_collector_is_paused_and_comes_back_whatever_happens() -> None:
    with collector_paused():
        with suppress(KeyError), collector_paused():
            raise KeyError
        assert not gc.isenabled()
    assert gc.isenabled()
    with suppress(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()
