"""Boards look like boards; what is no board is listed."""

from __future__ import annotations

import pytest

from ggp import bundle
from ggp.boards import Board, axis, picture
from ggp.domains import domains
from ggp.game import Game, load
from ggp.parser import parse, parse_ground
from ggp.render import draw, draw_facts, marks, short
from ggp.terms import Fact


def facts(text: str) -> frozenset[Fact]:
    return frozenset(parse_ground(str(rule)) for rule in parse(text).rules)


def drawn(text: str, rules: str = "") -> list[str]:
    game = Game.parse(f"(role white) (role black) {rules}") if rules else None
    return draw_facts(facts(text), game).split("\n")


def test_letters_go_across_and_numbers_up() -> None:
    assert drawn("(cell a 1 wr) (cell c 2 bk) (control white)") == [
        "     a  b  c",
        "  2  .  . bk",
        "  1 wr  .  .",
        "",
        "control: white",
    ]


def test_letters_go_across_also_when_they_come_second() -> None:
    assert drawn("(cell 1 a x) (cell 2 c o)")[0] == "    a b c"


def test_rows_before_columns_go_down_as_in_a_matrix() -> None:
    rules = "(<= (next (cell ?row ?col x)) (true (cell ?row ?col x)))"
    assert drawn("(cell 1 2 x) (cell 2 1 o)", rules)[:3] == ["    1 2", "  1 . x", "  2 o ."]


def test_columns_before_rows_go_up() -> None:
    rules = "(<= (next (cell ?col ?row x)) (true (cell ?col ?row x)))"
    assert drawn("(cell 1 2 x) (cell 2 1 o)", rules)[:3] == ["    1 2", "  2 x .", "  1 . o"]


def test_y_before_x_is_turned() -> None:
    assert drawn("(cell y1 x2 a1) (cell y2 x1 a2)")[:3] == ["     x1 x2", "  y2 a2  .", "  y1  . a1"]


@pytest.mark.parametrize("blank", ["b", "blank", "empty", "e", "none"])
def test_blank_cells_are_dots_and_missing_cells_are_not_there(blank: str) -> None:
    assert drawn(f"(cell 1 1 {blank}) (cell 2 2 x) (cell 2 1 o)") == ["    1 2", "  2   x", "  1 . o"]


def test_b_and_w_alone_are_colours() -> None:
    assert drawn("(cell 1 1 b) (cell 2 2 w)") == ["    1 2", "  2 . w", "  1 b ."]


def test_a_sparse_board_has_the_size_that_the_rules_give_it() -> None:
    state = load("connect_four").initial
    assert draw(state).split("\n")[:7] == ["    1 2 3 4 5 6 7", *(f"  {row} . . . . . . ." for row in "654321")]


def test_declared_facts_bound_a_board_whose_rules_count_further() -> None:
    assert draw(load("lights_out").initial).startswith("    1 2 3 4 5\n")


def test_long_contents_are_abbreviated_with_a_legend() -> None:
    assert drawn("(cell 1 1 white) (cell 2 2 black)")[-1] == "b black, w white"
    assert short({"whiteKing", "whiteKnight", "blackKing"}) == {
        "blackKing": "bk",
        "whiteKing": "wk",
        "whiteKnight": "wn",
    }
    assert short({"p1011", "piece12", "mov_left"}) == {"mov_left": "ml", "p1011": "p1011", "piece12": "p12"}


def test_marks_are_distinct_even_for_words_that_share_all_letters() -> None:
    words = {"aab", "aba", "aaab", "abab", "baba", "aabb"}
    assert len(set(short(words).values())) == len(words)


def test_contents_of_two_symbols_are_one_mark() -> None:
    assert drawn("(cell a 1 white rook) (cell b 2 black king)")[:3] == ["     a  b", "  2  . bk", "  1 wr  ."]


def test_content_may_come_first_and_share_a_cell() -> None:
    assert drawn("(location mummy 1 2) (location man 1 2) (location exit 2 1)")[:3] == [
        "     1  2",
        "  2 mu  .",
        "  1  .  e",
    ]


def test_numbers_are_contents_where_they_are_determined() -> None:
    assert drawn("(cell 1 1 8) (cell 1 2 7) (cell 2 1 6) (cell 2 2 5)") == ["    1 2", "  2 7 5", "  1 8 6"]


def test_a_third_coordinate_makes_layers_side_by_side() -> None:
    text = " ".join(f"(cell {x} {y} {z} b)" for x in (1, 2) for y in (1, 2) for z in (1, 2))
    assert drawn(f"{text} (cell 1 1 3 x)".replace("(cell 1 1 1 b)", "(cell 1 1 1 o)"))[:2] == [
        "    1        2        3",
        "    1 2      1 2      1 2",
    ]


def test_a_named_layer_is_found() -> None:
    lines = drawn("(cell wlane a 1 b) (cell wlane b 2 white) (cell blane a 1 black) (cell blane b 2 b)")
    assert lines[0].split() == ["blane", "wlane"]


def test_boards_of_boards_break_lines_where_the_outer_row_changes() -> None:
    text = " ".join(f"(mark {a} {b} {c} {d} b)" for a in (1, 2) for b in (1, 2) for c in (1, 2) for d in (1, 2))
    lines = drawn(text.replace("(mark 1 2 1 2 b)", "(mark 1 2 1 2 x)"))
    assert [line for line in lines if "1 1" in line or "2 1" in line] == ["    1 1      1 2", "    2 1      2 2"]
    assert lines[2] == "  1 . .    1 . x"


def test_both_coordinates_in_one_symbol() -> None:
    assert drawn("(cell a1 red) (cell b2 blank) (cell b1 blank)")[:3] == ["    a b", "  2   .", "  1 r ."]


def test_several_relations_are_titled_boards() -> None:
    lines = drawn("(cell1 1 1 x) (cell1 2 2 o) (cell2 1 1 b) (cell2 2 2 x)")
    assert lines[0].split() == ["cell1", "cell2"]


def test_walls_of_the_state_and_of_the_rules_are_drawn_between_cells() -> None:
    lines = drawn("(at white 1 1) (at black 2 2) (blockedEast 1 1)", "(wall_north 2 1) (wall_east 2 2)")
    assert lines[:4] == ["    1 2", "  2 . b", "      -", "  1 w|."]
    assert not any("blocked" in line for line in lines)


def test_walls_with_the_side_as_an_argument_and_the_border() -> None:
    lines = drawn("(at white 1 1) (at black 2 2) (wall 2 1 west) (wall 0 1 east) (wall 1 2 south)")
    assert lines[:4] == ["    1 2", "  2 . b", "    -", "  1 w|."]


def test_a_wall_that_names_no_side_is_listed() -> None:
    assert "wall: 1 1" in drawn("(at white 1 1) (at black 2 2) (wall 1 1)")


def test_marked_cells_lie_beneath_the_pieces() -> None:
    lines = drawn("(at white 1 1) (at black 2 2) (trail 1 1) (trail 1 2)")
    assert lines == ["    1 2", "  2 t b", "  1 w .", "", "b black, w white, t trail"]


def test_marks_that_could_not_be_told_apart_are_listed() -> None:
    lines = drawn("(at white 1 1) (at black 2 2) (trail 1 2) (hole 2 1)")
    assert lines[-2:] == ["hole: 2 1", "trail: 1 2"]


def test_a_few_facts_beside_a_large_board_are_listed() -> None:
    board = " ".join(f"(cell {x} {y} b)" for x in "abc" for y in (1, 2, 3))
    assert drawn(f"{board} (moved king a 1)".replace("(cell a 1 b)", "(cell a 1 k)"))[-1] == "moved: king a 1"


def test_tables_of_numbers_are_no_boards() -> None:
    assert drawn("(heap a 3) (heap b 2) (heap c 1)") == ["heap: a 3, b 2, c 1"]
    assert drawn("(line 1 1 1 2) (line 1 2 2 2) (line 2 2 2 1)") == ["line: 1 1 1 2, 1 2 2 2, 2 2 2 1"]


def test_scattered_pairs_are_a_board() -> None:
    assert drawn("(lit 1 1) (lit 1 2) (lit 2 2) (lit 3 1) (lit 3 2)") == [
        "    1 2 3",
        "  2 l l l",
        "  1 l . l",
        "",
        "l lit",
    ]


def test_other_facts_are_listed_by_relation_with_numbers_in_their_order() -> None:
    assert drawn("(step 3) over (score b 10) (score b 2) (line 1 (beq 2))") == [
        "line: 1 (beq 2)",
        "over",
        "score: b 2, b 10",
        "step: 3",
    ]


def test_long_lists_are_wrapped_and_cut() -> None:
    lines = drawn(" ".join(f"(owns somebody thing{i}x)" for i in range(100)))
    assert len(lines) == 7
    assert lines[-1] == "  … (100 in all)"
    assert all(len(line) <= 100 for line in lines)


def test_many_blanks_in_a_list_are_counted() -> None:
    lines = drawn(" ".join(f"(wall a{i} none)" for i in range(9)) + " (wall a9 white)")
    assert lines == ["wall: a9 white, none (9 times)"]


def test_no_facts_no_text() -> None:
    assert draw_facts(frozenset()) == ""


def test_the_structure_is_there_for_other_renderers() -> None:
    (board,) = picture(facts("(cell a 1 x) (cell b 2 b) (cell a 2 b) (control white)")).boards
    assert (board.relation, board.columns, board.rows) == ("cell", ("a", "b"), ("2", "1"))
    assert board.cells == {("a", "1"): (("x",),), ("b", "2"): (), ("a", "2"): ()}
    assert marks(board) == {"x": "x"}
    assert isinstance(board, Board)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"1", "3"}, ("1", "2", "3")),
        ({"0", "2"}, ("0", "1", "2")),
        ({"r01", "r03"}, ("r01", "r02", "r03")),
        ({"b", "c"}, ("a", "b", "c")),
        ({"b", "e"}, ()),
        ({"1"}, ()),
        ({"1", "a"}, ()),
        ({"r1", "c1"}, ()),
        ({"1", "100"}, ()),
        ({"north", "south"}, ()),
    ],
)
def test_axis(values: set[str], expected: tuple[str, ...]) -> None:
    assert axis(values) == expected


def test_domains_follow_moves_alternatives_and_functions() -> None:
    text = """(role x) (n 1) (n 2) (m 3) (init (at 9 (f 7)))
        (<= (legal x (go ?a ?b)) (n ?a) (or (n ?b) (m ?b)) (not (m ?a)))
        (<= (next (at ?a (f ?b))) (does x (go ?a ?b)) (distinct ?a ?b))
        (<= (base (at ?a here)) (n ?a))"""
    found = domains(parse(text).rules)
    assert found["true", "at", 0] == {"1", "2", "9"}
    assert found["true", "at", 1, "f", 0] == {"1", "2", "3", "7"}
    assert found["base", "at", 0] == {"1", "2"}


@pytest.mark.parametrize("name", bundle.names())
def test_every_bundled_game_can_be_drawn(name: str) -> None:
    assert draw(load(name).initial)
