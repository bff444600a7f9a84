"""A sample of the reference traces; scripts/conformance replays all of them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from ggp.conformance import Verdict, check, conform, random_differences
from ggp.game import Game

SHARED = Path(__file__).parents[2].parent / "shared"
ENGINES = ("prolog", "propnet")
STRIDE = 8

needs_shared = pytest.mark.skipif(
    not (SHARED / "traces").is_dir(), reason="the public games and their traces are not beside this repository"
)


@needs_shared
@pytest.mark.parametrize("engine", ENGINES)
def test_every_eighth_public_game_agrees_with_the_reference(engine: str) -> None:
    sample = {path.stem for path in sorted((SHARED / "games").glob("*.kif"))[::STRIDE]}
    verdicts = list(
        conform(
            SHARED / "games", SHARED / "traces", engine=engine, seconds_per_game=20, jobs=2, only=sample.__contains__
        )
    )
    assert len(verdicts) == len(sample)
    assert not [v for v in verdicts if v.outcome in ("disagree", "failed")]
    assert sum(v.outcome == "agree" for v in verdicts) >= 0.9 * len(sample)


RULES = """(role a) (init (n 0)) (<= (legal a (Add ?x)) (d ?x)) (d 1) (d 2) (<= (next (n ?x)) (does a (Add ?x)))
           (<= terminal (true (n 2))) (<= (goal a 100) (true (n 2))) (<= (goal a 0) (true (n 1)))"""
START = {"playout": 0, "step": 0, "state": ["(n 0)"], "legals": {"a": ["(add 1)", "(add 2)"]}, "terminal": False,
         "goals": {"a": None}, "move": {"a": "(add 2)"}}  # fmt: skip
END = {"playout": 0, "step": 1, "state": ["(n 2)"], "legals": {"a": ["(add 1)", "(add 2)"]}, "terminal": True,
       "goals": {"a": 100}, "move": None}  # fmt: skip


def verdict(folder: Path, *lines: object, rules: str = RULES) -> Verdict:
    (folder / "adding.kif").write_text(rules)
    with gzip.open(folder / "adding.jsonl.gz", "wt") as file:
        file.write("\n".join(json.dumps(line) for line in ({"game": "adding"}, *lines)))
    return check(folder / "adding.kif", folder / "adding.jsonl.gz", "prolog", 10)


def test_a_right_trace_agrees_whatever_its_case(tmp_path: Path) -> None:
    assert verdict(tmp_path, START, END) == Verdict("adding", "agree", 2)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"state": ["(n 1)", "(n 2)"]}, "facts: −1 ((n 1))"),
        ({"legals": {"a": ["(add 1)"]}}, "legal moves of a: +1 ((add 2))"),
        ({"legals": {"a": ["(add 1)", "(add 2)"], "b": []}}, "roles: −1 (b)"),
        ({"terminal": False}, "terminal: True, expected False"),
        ({"goals": {"a": 50}}, "goals of a: [100], expected [50]"),
        ({"goals": {"a": None}, "goals_raw": {"a": ["0", "100"]}}, "goals of a: [100], expected [0, 100]"),
    ],
)
def test_the_first_difference_is_shown(tmp_path: Path, changed: dict[str, object], what: str) -> None:
    assert verdict(tmp_path, START, END | changed) == Verdict("adding", "disagree", 2, 0, 1, what)


def test_percepts_are_compared_where_a_trace_has_them(tmp_path: Path) -> None:
    rules = RULES + "(<= (sees a (Got ?x)) (does a (Add ?x)))"
    assert verdict(tmp_path, START | {"sees": {"a": ["(got 2)"]}}, END, rules=rules).outcome == "agree"
    found = verdict(tmp_path, START | {"sees": {"a": ["(got 1)"]}}, END, rules=rules)
    assert found.what == "percepts of a: +1 ((got 2)) −1 ((got 1))"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ([1], r"not a trace: '\[1\]', expected an object with goals, legals, move, "),
        ({"step": 0}, r"not a trace: '{\"step\": 0}', expected an object with "),
        (END, "the trace starts with step 1, expected 0"),
        (START | {"move": {"b": "(add 2)"}}, "the trace plays None, which is not legal"),
    ],
)
def test_a_trace_of_another_kind_fails(tmp_path: Path, line: object, what: str) -> None:
    found = verdict(tmp_path, line)
    assert found.outcome == "failed"
    assert re.search(what, found.what)


def test_a_trace_that_plays_illegal_moves_or_is_damaged_fails(tmp_path: Path) -> None:
    assert verdict(tmp_path, START | {"move": {"a": "(add 9)"}}).what == "the trace plays (add 9), which is not legal"
    (tmp_path / "adding.jsonl.gz").write_bytes(b"junk")
    found = check(tmp_path / "adding.kif", tmp_path / "adding.jsonl.gz", "prolog", 10)
    assert found.outcome == "failed"


def test_two_engines_are_compared_on_random_states(tmp_path: Path) -> None:
    (tmp_path / "adding.kif").write_text(RULES)
    found = check(tmp_path / "adding.kif", tmp_path / "none", "propnet", 20, random_states=30)
    assert found == Verdict("adding", "agree", 30)


def test_a_difference_between_engines_is_shown() -> None:
    ours = Game.parse(RULES.replace("(goal a 100)", "(goal a 99)")).reasoner("propnet")
    theirs = Game.parse(RULES).reasoner("prolog")
    told = {what for _, what in random_differences(ours, theirs, 20) if what}
    assert told == {"goals of a: (99,), expected (100,)"}
