"""The parser: what is printed is read back, layout and comments change nothing, and each message has its place."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ggp.errors import GdlSyntaxError
from ggp.parser import MAX_NESTING, MAX_PROBLEMS, load, parse, parse_ground, parse_lists, parse_term
from ggp.terms import KEYWORDS, Compound, Rule, Symbol, Term, Variable

GAMES = Path(__file__).parents[2].parent / "shared" / "games"

# Every character but controls, surrogates, ASCII white space, parentheses and `;`; U+FEFF could be a byte order mark.
characters = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=" ();\ufeff")
names = st.one_of(st.text("ab1|\"'.,-+<=", min_size=1, max_size=4), st.text(characters, min_size=1, max_size=8)).filter(
    lambda name: name[0] != "?" and name != "<=" and name.lower() not in KEYWORDS
)
symbols = st.builds(Symbol, names, parens=st.booleans())
variables = st.builds(Variable, st.text(characters, min_size=1, max_size=4).map("?".__add__))
leaves: st.SearchStrategy[Term] = st.one_of(symbols, variables)


def compounds(of: st.SearchStrategy[str], inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Compound]:
    return st.builds(Compound, of, st.lists(inner, min_size=1, max_size=3).map(tuple))


terms: st.SearchStrategy[Term] = st.recursive(leaves, lambda inner: compounds(names, inner), max_leaves=6)
keywords = st.sampled_from(sorted(KEYWORDS))
literals: st.SearchStrategy[Term] = st.recursive(
    st.one_of(terms, compounds(keywords, terms)),
    lambda inner: compounds(st.sampled_from(["not", "or", "and"]), inner),
    max_leaves=3,
)
rules = st.builds(
    Rule, st.one_of(symbols, compounds(st.one_of(names, keywords), terms)), st.lists(literals, max_size=3).map(tuple)
)
rulesheets = st.lists(rules, max_size=3)

fewer = settings(max_examples=50)  # of those that are slow to make up


def problems(text: str) -> list[str]:
    with pytest.raises(GdlSyntaxError) as error:
        parse(text, name="t.kif")
    assert str(error.value) == "\n".join(map(str, error.value.problems))
    return list(map(str, error.value.problems))


def printed(sheet: list[Rule]) -> str:
    return "\n".join(map(str, sheet))


@given(terms)
def test_a_printed_term_is_read_back_as_it_was_written(term: Term) -> None:
    assert parse_term(str(term)) == term
    assert str(parse_term(str(term))) == str(term)


@fewer
@given(rulesheets)
def test_printed_rules_are_read_back_as_they_were_written(sheet: list[Rule]) -> None:
    found = parse(printed(sheet))
    assert list(found.rules) == sheet
    assert str(found) == printed(sheet) + "\n"


@fewer
@given(rulesheets, st.randoms(use_true_random=False))
def test_layout_and_comments_change_nothing(sheet: list[Rule], random: Random) -> None:
    tokens = re.findall(r"[()]|[^\s()]+", printed(sheet), re.ASCII)
    spaces = [" ", "\n", "\t", "\r\n", "\r", "\f\v", ";\n", "; (role x) ) ( \x00 ?\r", " ;;(<=\r\n\t"]
    text = random.choice(spaces) + "".join(token + random.choice(spaces) for token in tokens)
    assert list(parse(text).rules) == sheet


@fewer
@given(rulesheets)
def test_spaces_around_parentheses_may_be_left_out(sheet: list[Rule]) -> None:
    assert list(parse(re.sub(r" ?([()]) ?", r"\1", printed(sheet).replace("\n", " "))).rules) == sheet


@fewer
@given(rulesheets)
def test_the_list_of_a_start_message_is_the_same_as_its_rules(sheet: list[Rule]) -> None:
    assert parse(f"( (role x) {printed(sheet)} )") == parse(f"(role x) {printed(sheet)}")


@fewer
@given(rulesheets)
def test_offsets_point_at_the_rule_its_head_and_its_literals(sheet: list[Rule]) -> None:
    for text in (printed(sheet), f"((role x) {printed(sheet)})"):
        for rule in parse(text).rules:
            parts: list[object] = [rule, rule.head, *rule.body]
            assert all(text.startswith(str(part), offset) for part, offset in zip(parts, rule.at, strict=True))


@given(st.data())
def test_keywords_may_be_written_in_any_case(data: st.DataObject) -> None:
    def in_any_case(word: str) -> str:
        return "".join(data.draw(st.sampled_from([c, c.upper()])) for c in word)

    words = [in_any_case(word) for word in ("next", "not", "or", "true", "does", "and", "terminal", "distinct")]
    text = "(<= ({} (TRUE Not)) ({} ({} ({} (Cell a)) ({} ?R (TRUE x)))) ({} {} ({} ?R Legal)))".format(*words)
    assert str(parse(text).rules[0]) == (
        "(<= (next (TRUE Not)) (not (or (true (Cell a)) (does ?R (TRUE x)))) (and terminal (distinct ?R Legal)))"
    )


def test_keywords_in_parentheses_are_lowered_too() -> None:
    assert list(map(str, parse("(<= (TERMINAL) (Terminal)) (Role A)").rules)) == [
        "(<= (terminal) (terminal))",
        "(role A)",
    ]


def test_symbols_and_variables_keep_their_case() -> None:
    assert str(parse("(Cell A a ?X ?x)").rules[0]) == "(Cell A a ?X ?x)"
    assert len(set(parse_term("(f A a ?X ?x)").args)) == 4


def test_tokens_end_only_at_white_space_parentheses_and_semicolons() -> None:
    assert parse_lists("|a|b\"c'd(e.f)g,h;i\n<=x\u00a0y") == ["|a|b\"c'd", ["e.f"], "g,h", "<=x\u00a0y"]


@pytest.mark.parametrize("text", ["", " \n", "; nothing", "\ufeff"])
def test_nothing_is_no_rules(text: str) -> None:
    assert parse(text).rules == ()
    assert str(parse(text)) == "\n"


def test_a_byte_order_mark_is_no_part_of_the_first_rule() -> None:
    assert str(parse("\ufeff(role x)").rules[0]) == "(role x)"
    assert problems("\ufeff(?x)") == ["t.kif:1:2: a variable after '(', expected a name"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(role x", "1:1: end of text, expected ')' to close '(role'"),
        ("(role x)\n (", "2:2: end of text, expected ')' to close '('"),
        ("(p ((a) b", "1:1: end of text, expected ')' to close '(p'"),
        ("((role x)", "1:1: end of text, expected ')' to close '('"),
        ("((role x) (p", "1:11: end of text, expected ')' to close '(p'"),
        ("(role x))\n", "1:9: ')' without '('"),
        ("\r\n(<= p (q\n\r(<= r s)", "2:1: '(<=' in line 4, expected ')' to close '(<='"),
        ("((role x) (<= p (q) (<= r s))", "1:11: '(<=' in line 1, expected ')' to close '(<='"),
        ("(role x)\r()", "2:1: '()', expected a name after '('"),
        ("(role ?x) (?p a)", "1:12: a variable after '(', expected a name"),
        ("(role x) ((p) a)", "1:11: a list after '(', expected a name"),
        ("(p ; (\n ((q r) a))", "2:3: a list after '(', expected a name"),
        ("(role x) ?y", "1:10: variable ?y, expected a rule or a fact"),
        ("(role x) (<=)", "1:10: '<=' without a head"),
        ("<= p", "1:1: '<=' without a head"),
        ("(<= ?x p)", "1:5: variable ?x, expected the head of a rule"),
        ("(<= <= p)", "1:5: '<=', expected the head of a rule"),
        ("(p ?)", "1:4: '?' without a name, expected a variable such as ?x"),
        ("(p ab\x00)", "1:6: character '\\x00', expected text"),
        ("(p \x1b[31m)", "1:4: character '\\x1b', expected text"),
        ("(p a\udcff)", "1:5: character '\\udcff', expected text"),
    ],
)
def test_each_mistake_has_its_message_and_place(text: str, problem: str) -> None:
    assert problems(text) == [f"t.kif:{problem}"]


def test_several_mistakes_are_reported_in_one_run_in_order() -> None:
    assert problems("(role x)\n(<= (p ?)\n(<= ?x q)\n() ?y\n(r") == [
        "t.kif:2:1: '(<=' in line 3, expected ')' to close '(<='",
        "t.kif:2:8: '?' without a name, expected a variable such as ?x",
        "t.kif:3:5: variable ?x, expected the head of a rule",
        "t.kif:4:1: '()', expected a name after '('",
        "t.kif:4:4: variable ?y, expected a rule or a fact",
        "t.kif:5:1: end of text, expected ')' to close '(r'",
    ]


def test_after_many_mistakes_it_stops_and_says_so_last() -> None:
    found = problems("() " * 1000)
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "t.kif:1:58: too many errors, stopped here"
    assert problems("?x " * 1000)[-1] == "t.kif:1:58: too many errors, stopped here"


def test_messages_are_short_and_safe_to_print() -> None:
    junk, unclosed = sorted(problems("(\udcff\x1b a"), key=len)
    assert unclosed == "t.kif:1:1: end of text, expected ')' to close '(\\udcff\\x1b'"
    assert junk == "t.kif:1:2: character '\\udcff', expected text"
    assert problems("?" + "x" * 10_000) == [f"t.kif:1:1: variable ?{'x' * 59}…, expected a rule or a fact"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "<term>:1:1: 0 terms, expected one"),
        ("a b", "<term>:1:1: 2 terms, expected one"),
        ("(f a", "<term>:1:1: end of text, expected ')' to close '(f'"),
        ("((f) a)", "<term>:1:2: a list after '(', expected a name"),
        ("(f ?x)", "<term>:1:1: (f ?x) has a variable, expected a ground term"),
        ("?x", "<term>:1:1: ?x has a variable, expected a ground term"),
    ],
)
def test_a_ground_term_has_its_own_messages(text: str, problem: str) -> None:
    with pytest.raises(GdlSyntaxError) as error:
        parse_ground(text)
    assert str(error.value) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\n(b", "m:2:1: end of text, expected ')' to close '('"),
        ("(a) )", "m:1:5: ')' without '('"),
        ("(" * 251, "m:1:251: nested deeper than 250 levels"),
    ],
)
def test_lists_of_tokens_have_their_own_messages(text: str, problem: str) -> None:
    with pytest.raises(GdlSyntaxError) as error:
        parse_lists(text, name="m")
    assert str(error.value) == problem


@pytest.mark.parametrize("opening", ["(", "(f ", "( ; comment\n"])
@pytest.mark.parametrize("read", [parse, parse_term, parse_lists])
def test_a_hundred_thousand_parentheses_are_an_error_and_no_crash(read: object, opening: str) -> None:
    assert callable(read)
    for text in (opening * 100_000, opening * 100_000 + ")" * 100_000):
        with pytest.raises(GdlSyntaxError, match=f"nested deeper than {MAX_NESTING} levels"):
            read(text)
    with pytest.raises(GdlSyntaxError, match=r"'\)' without '\('"):
        read(")" * 100_000)


def test_nesting_is_allowed_up_to_its_limit() -> None:
    deep = "(f " * (MAX_NESTING - 1) + "a" + ")" * (MAX_NESTING - 1)
    assert str(parse(f"(p {deep})").rules[0]) == f"(p {deep})"
    assert problems(f"(q (p {deep}))") == [f"t.kif:1:{1 + 3 * MAX_NESTING}: nested deeper than 250 levels"]
    negated = "(not " * (MAX_NESTING - 2) + "(p a)" + ")" * (MAX_NESTING - 2)
    assert str(parse(f"(<= p {negated})".replace("not", "NOT")).rules[0]) == f"(<= p {negated})"


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(), st.text("()?;<= \nap\x00"), st.lists(st.sampled_from(["(", ")", "<=", "a", "?x"])).map(" ".join)
    )
)
@example("((a) b")
@example("(<= <=)")
@example("(a (<= b (<= c))")
def test_any_text_is_rules_or_a_syntax_error(text: str) -> None:
    assume("\ufeff" not in text)
    try:
        sheet = parse(text)
    except GdlSyntaxError as error:
        found = error.problems
    else:
        assert parse(str(sheet)) == sheet
        return
    lines = re.split("\r\n|\n|\r", text)
    assert found
    assert all(1 <= problem.column <= len(lines[problem.line - 1]) for problem in found)


@given(st.one_of(st.binary(), st.binary().map(lambda junk: b"(role x) ; " + junk)))
def test_any_bytes_in_a_file_are_rules_or_a_syntax_error(junk: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "junk.kif")
        path.write_bytes(junk)
        with suppress(GdlSyntaxError):
            load(path)


def test_bytes_that_are_no_utf8_are_tolerated_in_comments_only(tmp_path: Path) -> None:
    path = tmp_path / "latin1.kif"
    path.write_bytes("(role weiß) ; groß\n".encode() + "; groß\n(init a)".encode("latin-1"))
    assert list(map(str, load(path).rules)) == ["(role weiß)", "(init a)"]
    path.write_bytes("(role a)\n(role weiß)".encode("latin-1"))
    with pytest.raises(GdlSyntaxError) as error:
        load(path)
    assert str(error.value) == f"{path}:2:10: character '\\udcdf', expected text"


@pytest.mark.parametrize("wrap", ["{}", "({})"])
def test_a_large_rulesheet_is_read(wrap: str) -> None:
    rule = "(<= (next (cell {0} ?y c{0})) (true (cell {0} ?y b)) (not (does ?r (mark {0} ?y))))\n"
    text = wrap.format("".join(map(rule.format, range(12_000))))
    sheet = parse(text)
    assert len(text) > 1_000_000
    assert len(sheet.rules) == 12_000
    assert text[sheet.rules[-1].at[0] :].startswith(str(sheet.rules[-1]))


@pytest.mark.skipif(not GAMES.is_dir(), reason=f"the public games are not in {GAMES}")
def test_the_public_games_are_read_and_printed_back() -> None:
    for path in sorted(GAMES.glob("*.kif")):
        sheet = load(path)
        assert parse(str(sheet)) == sheet, path.name


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(GdlSyntaxError, match=r"^/dev/zero:1:1: more than 64 MB, expected a rulesheet$"):
        load("/dev/zero")
