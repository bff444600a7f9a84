"""`ggp search`: JSON as the design has it, for games in the box and for GDL written by somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.player.test_cli import failure, figures, output
from tests.player.test_rules import scaled
from tests.player.trees import MAX_PROB_1, PROB_MAXN_1, Leaf, Node, gdl


@pytest.fixture
def example(tmp_path: Path) -> str:
    path = tmp_path / "example.kif"
    path.write_text(gdl(PROB_MAXN_1))
    return str(path)


def test_maxn_has_goals_and_the_first_of_the_best(example: str) -> None:
    found = figures("search", example)
    assert found["move"] == "a"
    assert found["value"] == {"p1": 6, "p2": 4, "p3": 0}
    assert [move["probability"] for move in found["moves"]] == [1, 0, 0]
    assert found["moves"][1] == {"move": "b", "value": {"p1": 3, "p2": 4, "p3": 3}, "probability": 0}
    assert found["nodes"] > 6
    assert found["complete"]
    assert found["seconds"] < 60


def test_paranoid_has_the_searchers_goal(example: str) -> None:
    assert figures("search", example, "--algorithm", "paranoid")["value"] == {"p1": 4}
    assert figures("search", example, "--algorithm", "paranoid", "--role", "p3")["value"] == {"p3": 0}


def test_prob_maxn_has_a_matrix_and_the_truth(example: str) -> None:
    options = ("--algorithm", "prob-maxn", "--models", "own,lead", "--epsilon", "0", "--belief", ".5,.5")
    found = figures("search", example, *options, "--belief", "p2=1,0", "--true", "lead")
    assert set(found["value"]) == {"matrix", "true"}
    assert set(found["value"]["matrix"]["p2"]) == {"own", "lead"}
    assert sum(move["probability"] for move in found["moves"]) == pytest.approx(1)
    assert found["value"]["matrix"]["p2"]["own"] == 4


def test_max_prob_has_win_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    path.write_text(gdl(scaled(MAX_PROB_1, 100)))
    found = figures("search", str(path), "--algorithm", "max-prob")
    assert found["move"] == "b"
    assert [move["value"]["p1"] for move in found["moves"]] == pytest.approx([1 / 2, 2 / 3])


def test_soft_maxn_has_outcomes(example: str) -> None:
    found = figures("search", example, "--algorithm", "soft-maxn", "--by", "best")
    assert found["move"] == "a"
    assert found["moves"][0]["outcomes"] == [{"p1": 1, "p2": 4, "p3": 5}, {"p1": 6, "p2": 4, "p3": 0}]


def test_depth_counts_real_choices(tmp_path: Path) -> None:
    forced = Node(2, (Node(1, (Leaf((10, 10, 10)), Leaf((20, 20, 20)))),))
    path = tmp_path / "game.kif"
    path.write_text(gdl(Node(0, (forced, Leaf((15, 0, 0))))))
    found = figures("search", str(path), "--depth", "2")
    assert (found["depth"], found["complete"], found["value"]["p1"]) == (2, True, 20)


def test_after_moves_and_for_who_has_no_choice() -> None:
    found = figures("search", "tic_tac_toe", "--moves", "((mark 1 1) noop)", "--role", "xplayer")
    assert found["move"] == "noop"
    assert found["moves"] == [{"move": "noop", "value": {"xplayer": 50, "oplayer": 50}, "probability": 1}]
    assert {move["move"]: move["probability"] for move in found["predictions"]["oplayer"]}["(mark 2 2)"] == 1


@pytest.mark.parametrize("pruning", ["none", "shallow", "speculative", "deep"])
def test_pruning_counts_nodes(example: str, pruning: str) -> None:
    found = figures("search", example, "--pruning", pruning)
    assert found["value"]["p1"] == 6
    assert found["nodes"] <= 10


@pytest.mark.parametrize("algorithm", ["maxn", "mp-mix", "uct"])
def test_seconds_are_kept(algorithm: str) -> None:
    found = figures("search", "connect_four", "--algorithm", algorithm, "--seconds", "0.5", "--seed", "1")
    assert found["move"].startswith("(drop")
    assert found["seconds"] < 5


def test_a_person_reads_a_table() -> None:
    text = output("search", "nim", "--algorithm", "max-prob")
    assert "first plays (take" in text
    assert "solved" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nim", "--algorithm", "magic"], "--algorithm 'magic': expected one of maxn, paranoid, soft-maxn, prob-maxn"),
        (["nim", "--role", "third"], "--role 'third': expected one of first, second"),
        (["nim", "--algorithm", "prob-maxn", "--models", "own,greed"], "utility model 'greed': expected one of own"),
        (["nim", "--algorithm", "prob-maxn", "--belief", ".5,.5"], "belief 0.5, 0.5: expected a probability for each"),
        (["nim", "--algorithm", "prob-maxn", "--belief", "x=1"], "belief of 'x': expected one of first, second"),
        (["nim", "--heuristic", "given"], "--heuristic given: none is known for nim"),
        (["connect_four", "--max-nodes", "1000"], "the end of the game is not reached within 60 s, 1000 nodes"),
        (["nim", "--algorithm", "max-prob", "--pruning", "shallow"], "--pruning: for maxn and paranoid"),
        (["rock_paper_scissors", "--pruning", "shallow"], "pruning needs turns"),
        (["nim", "--pruning", "alpha-beta"], "--pruning alpha-beta: for paranoid"),
        (["nim", "--belief", ".5", "--belief", ".5"], "--belief: given twice for every role"),
        (["mummy_maze", "--algorithm", "max-prob", "--depth", "1", "--heuristic", "given"], "does not tell winners"),
        (["eight_puzzle", "--algorithm", "soft-maxn", "--models", "given"], "soft-maxn compares outcomes, not states"),
        (["nim", "--pruning", "hedge"], "pruning 'hedge': expected one of"),
    ],
)
def test_what_is_wrong_is_said(args: list[str], message: str) -> None:
    assert message in failure("search", *args)


def test_names_are_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    path.write_text(
        "(role [bold]) (init s) (legal [bold] [/x]) (legal [bold] b) (<= (next t) (does [bold] b)) "
        "(<= terminal (not (true s))) (goal [bold] 100)"
    )
    assert "[/x]" in output("search", str(path), "--depth", "1")


def test_nobody_to_search_for(tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    path.write_text("(role random) (init s) (legal random a) (legal random b) (<= terminal (true t)) (goal random 0)")
    assert "has no role for a player" in failure("search", str(path))


def test_the_game_s_own_function_is_a_utility_in_both_engines() -> None:
    for engine in ("propnet", "prolog"):
        options = ("--algorithm", "prob-maxn", "--models", "own,given", "--depth", "1", "--engine", engine)
        assert "given" in figures("search", "goofspiel", *options)["value"]["matrix"]["left"]


def test_pruning_keeps_to_the_seconds() -> None:
    found = figures("search", "connect_four", "--pruning", "speculative", "--seconds", "0.5", "--playouts", "4")
    assert found["seconds"] < 20
    assert not found["complete"]
