"""Schedules, tournaments that are stopped and go on, standings, and the command."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggp import records
from ggp.errors import ReasonerError, RecordError
from ggp.game import Game, load
from ggp.match import Deadline, Match
from ggp.terms import Move
from learner.simulate import Setting, Task, play_all
from player.cli import tournament as command
from player.players import PLAYERS, parse_players
from player.strategies.simple import Legal
from player.tournament import SCHEDULES, Results, Standings, Tournament, all_seatings, round_robin
from tests.player.test_cli import failure, figures, output

FAST = Game.parse(
    """(role a) (role b) (init (step 0)) (succ 0 1) (succ 1 2) (number 1) (number 2) (number 3)
    (<= (legal ?r (say ?n)) (role ?r) (number ?n)) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (<= (next (said ?r ?n)) (does ?r (say ?n))) (<= terminal (true (step 2)))
    (<= (goal ?r 100) (role ?r) (true (said ?r 3))) (<= (goal ?r 50) (role ?r) (true (said ?r 2)))
    (<= (goal ?r 0) (role ?r) (true (said ?r 1)))""",
    "fast",
)


def event(*games: Game | str, players: str = "random,legal", **options: Any) -> Tournament:
    found = [load(game) if isinstance(game, str) else game for game in games]
    return Tournament(found, parse_players(players), **options)


def courses(tournament: Tournament, **options: Any) -> list[Match]:
    return [match for _, match in tournament.play(**options)]


# Who plays whom


@pytest.mark.parametrize(
    ("schedule", "players", "seats", "matches"),
    [
        ("round-robin", 2, 2, 2),
        ("round-robin", 3, 2, 6),
        ("round-robin", 2, 3, 6),
        ("round-robin", 3, 3, 18),
        ("round-robin", 2, 4, 14),
        ("round-robin", 3, 1, 3),
        ("all-seatings", 2, 2, 2),
        ("all-seatings", 3, 2, 6),
        ("all-seatings", 2, 3, 6),
        ("all-seatings", 3, 3, 6),
        ("all-seatings", 4, 3, 24),
        ("all-seatings", 3, 4, 36),
        ("all-seatings", 3, 1, 3),
    ],
)
def test_everybody_is_on_every_seat_equally_often(schedule: str, players: int, seats: int, matches: int) -> None:
    seatings = SCHEDULES[schedule](range(players), seats)
    assert len(seatings) == len({*seatings}) == matches
    assert all(len({*seating}) > 1 for seating in seatings) or seats == 1
    for seat in zip(*seatings, strict=True):
        assert {*Counter(seat).values()} == {matches // players}


def test_the_seatings_of_the_papers() -> None:
    assert ["".join(seating) for seating in round_robin("AB", 3)] == ["AAB", "ABA", "ABB", "BAA", "BAB", "BBA"]
    assert ["".join(seating) for seating in all_seatings("AB", 2)] == ["AB", "BA"]


def test_every_match_has_a_seed_of_its_own_that_more_of_anything_does_not_change() -> None:
    few = {p.seed for p in event("nim", rounds=2).pairings()}
    assert len(few) == 4
    assert few < {p.seed for p in event("nim", rounds=3).pairings()}
    assert few < {p.seed for p in event("tic_tac_toe", "nim", rounds=2).pairings()}
    assert not few & {p.seed for p in event("nim", rounds=2, seed=2).pairings()}
    assert max(few) < 1 << 53


def test_the_length_is_the_number_of_matches() -> None:
    tournament = event("nim", "tic_tac_toe_3p", "monty_hall", rounds=3, players="random,legal")
    assert len(tournament) == len(list(tournament.pairings())) == 3 * (2 + 6 + 2)


@pytest.mark.parametrize(
    ("games", "players", "message"),
    [
        ([FAST], "random", "players: 1 given, expected two or more"),
        ([FAST], "random,legal,random", "players: random 2 times, expected players that differ, if only in an option"),
        ([FAST, FAST], "random,legal", "games: fast and fast have the same name or the same rules"),
        ([Game.parse("(role random)", "dice")], "random,legal", "games: dice has no role for a player"),
    ],
)
def test_tournaments_that_cannot_be(games: list[Game], players: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        event(*games, players=players)


# Playing


def test_dice_are_left_to_the_judge() -> None:
    matches = courses(event("pig_dice", max_steps=4))
    assert [sorted(match.players) for match in matches] == [["legal", "random", "random"]] * 2
    assert not any(match.errors for match in matches)


def test_two_processes_play_the_same_matches_as_one(tmp_path: Path) -> None:
    tournament = event(FAST, "tic_tac_toe", rounds=2)
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    assert courses(tournament, out=one) == courses(tournament, jobs=2, out=two) == courses(tournament)
    assert one.read_bytes() == two.read_bytes()
    assert [match.seed for match in records.load(one)] == [pairing.seed for pairing in tournament.pairings()]


def test_a_tournament_goes_on_where_it_was_and_the_file_is_the_same(tmp_path: Path) -> None:
    tournament = event(FAST, "nim", rounds=3)
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    expected = Results(tournament)
    for pairing, match in tournament.play(out=whole):
        expected.add(pairing, match)
    text = whole.read_bytes()
    ends = [i + 1 for i, byte in enumerate(text) if byte == ord("\n")]
    for kept, cut in ((0, 0), (4, ends[3]), (4, ends[3] + 3), (4, ends[4] - 1), (12, len(text))):
        broken.write_bytes(text[:cut])
        found = Results(tournament)
        played = 0
        for pairing, match in tournament.play(out=broken):
            found.add(pairing, match)
            played += bool(match.states)
        assert played == 12 - kept
        assert broken.read_bytes() == text
        assert found.summary() == expected.summary()


def test_more_rounds_and_players_are_added_to_what_is_there(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    courses(event(FAST), out=out)
    before = out.read_bytes()
    more = courses(event(FAST, "nim", rounds=2), out=out)
    assert (len(more), sum(bool(match.states) for match in more)) == (8, 6)
    assert out.read_bytes().startswith(before)


def test_a_match_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    courses(event(FAST), out=out)
    out.write_bytes(2 * out.read_bytes() + b"\n")
    assert len(courses(event(FAST), out=out)) == 2


@pytest.mark.parametrize(("stop", "jobs"), [(KeyboardInterrupt, 1), (GeneratorExit, 1), (KeyboardInterrupt, 2)])
def test_whatever_stops_it_leaves_whole_records(stop: type[BaseException], jobs: int, tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    tournament = event(FAST, rounds=20)
    playing = tournament.play(out=out, jobs=jobs)
    ahead = [next(playing)[1] for _ in range(3)]
    with pytest.raises(stop):
        playing.throw(stop)
    assert list(records.load(out)) == ahead
    assert out.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"play_clock": 1.5}, r":1: fast\.\d+: play clock 5 s, expected 1.5 s"),
        ({"start_clock": 1}, r":1: fast\.\d+: start clock 10 s, expected 1 s"),
        ({"max_steps": 1}, r":1: fast\.\d+: 2 steps, expected up to 1"),
        ({"seed": 2}, r":1: fast\.\d+ is not of this tournament: other games, players, schedule or seed, or fewer r"),
        ({"rounds": 1}, r":3: fast\.\d+ is not of this tournament"),
    ],
)
def test_records_with_other_settings_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    courses(event(FAST, rounds=2), out=out)
    before = out.read_bytes()
    with pytest.raises(RecordError, match=f"^{out}{message}"):
        courses(event(FAST, **{"rounds": 2} | change), out=out)
    assert out.read_bytes() == before


def test_a_match_that_was_cut_short_is_not_one_of_a_longer_tournament(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    assert not courses(event(FAST, max_steps=1), out=out)[0].completed
    assert len(courses(event(FAST, max_steps=1), out=out)) == 2
    with pytest.raises(RecordError, match=f"^{out}:1: fast.* 1 steps, expected up to 10000$"):
        courses(event(FAST), out=out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dear diary", ":1: not a match record"),
        ("dear diary\n", ":1: not JSON: "),
        ('{"id":"x"}\n', ":1: roles: missing"),
        ('{"roles":["a"],"players":[],"moves":[],"goals":{"a":1}}\n', ":1: goals: expected one, and one player, for"),
    ],
)
def test_a_file_of_something_else_is_left_alone(text: str, message: str, tmp_path: Path) -> None:
    out = tmp_path / "diary.txt"
    out.write_text(text)
    with pytest.raises(RecordError, match=f"^{out}{message}"):
        courses(event(FAST), out=out)
    assert out.read_text() == text


@dataclass(frozen=True)
class Dies:
    """Takes its process with it, so many times in all."""

    diary: Path
    times: int

    def __call__(self, rng: np.random.Generator) -> Legal:
        with self.diary.open("a") as file:
            file.write("x")
        if self.diary.stat().st_size <= self.times:
            os._exit(3)
        return Legal(rng)

    def __str__(self) -> str:
        return "mortal"


class Fails(Legal):
    def __init__(self, rng: np.random.Generator) -> None:
        raise ReasonerError("not today")


def tasks(*seats: Callable[[np.random.Generator], Any]) -> list[Task]:
    setting = Setting(FAST.rulesheet.source.text, "fast", seats, 10, 5)
    return [Task(setting, [seed]) for seed in range(6)]


def test_the_match_of_a_worker_that_died_is_played_again_once(tmp_path: Path) -> None:
    found = list(play_all(tasks(Dies(tmp_path / "once", 1), Legal), jobs=2))
    assert [match.seed for match in found] == [*range(6)]
    assert (tmp_path / "once").stat().st_size == 7
    message = r"^a worker died, perhaps for lack of memory: twice in fast, mortal,.*, exit code 3$"
    with pytest.raises(ReasonerError, match=message):
        list(play_all(tasks(Dies(tmp_path / "always", 99), Legal), jobs=2))
    assert 2 <= (tmp_path / "always").stat().st_size <= 4


def test_what_a_worker_raises_arrives_with_where_it_was() -> None:
    with pytest.raises(ReasonerError, match=r"^not today") as caught:
        list(play_all(tasks(Fails, Legal), jobs=2))
    assert "in __init__" in caught.value.__notes__[0]


# Standings


def test_a_shared_win_is_shared_evenly() -> None:
    standings = Standings("ABC")
    standings.add([0, 1], [100, 0])
    standings.add([0, 1], [50, 50])
    standings.add([0, 1, 2], [40, 40, 0])
    assert standings.scores.tolist() == [2.0, 1.0, 0.0]
    assert standings.matches.tolist() == [3, 3, 1]
    assert standings.wins[0].tolist() == [0, 2, 1]
    assert standings.wins[1].tolist() == [1, 0, 1]


def test_a_player_on_several_seats_has_what_they_have_together() -> None:
    standings = Standings("AB")
    standings.add([0, 0, 1], [100, 0, 0])  # that one A lost as B did says nothing
    standings.add([0, 0, 1], [0, 0, 100])
    standings.add([0, 1, 0], [100, 50, 0])
    assert standings.scores.tolist() == [2, 1]
    assert standings.seats.tolist() == [6, 3]
    assert standings.goals.tolist() == [200, 150]
    assert standings.met[0, 1] == 3
    assert standings.wins.tolist() == [[0, 1.5], [1.5, 0]]


def test_a_match_of_many_weighs_as_much_as_one_of_two() -> None:
    standings = Standings("ABCD")
    standings.add([0, 1, 2, 3], [100, 60, 30, 0])
    assert standings.weighted_wins.sum() == pytest.approx(1)
    standings.add([3, 2, 1, 0], [100, 0, 0, 0])
    assert standings.weighted_wins.sum() == pytest.approx(2)
    assert standings.met.sum() == 2 * (6 + 3)


def test_the_stronger_comes_first() -> None:
    standings = Standings(["weak", "strong"])
    for _ in range(12):
        standings.add([0, 1], [0, 100])
    standings.add([1, 0], [0, 100])
    found = standings.summary()
    assert [line["player"] for line in found["players"]] == ["strong", "weak"]
    assert found["pairs"] == [
        {
            "players": ["strong", "weak"],
            "matches": 13,
            "score": 12 / 13,
            "score_interval": pytest.approx([0.667, 0.986], abs=1e-3),
        }
    ]
    assert found["players"][0]["rating"] > 0 > found["players"][1]["rating"]


class Late(Legal):
    def choose(self, state: Any, deadline: Deadline) -> Move:
        raise TimeoutError


def test_faults_belong_to_the_players() -> None:
    tournament = Tournament([FAST, load("pig_dice")], [*parse_players("legal"), Late], max_steps=2)
    results = Results(tournament)
    for pairing, match in tournament.play():
        results.add(pairing, match)
    errors = {line["player"]: line["errors"] for line in results.summary()["players"]}
    assert errors["legal"] == {"illegal": 0, "late": 0, "error": 0, "start": 0, "stuck": 0}
    assert errors[str(Late)]["error"] == 2 * 2 * 2
    assert results.summary()["unfinished"] == 2


def test_goals_of_a_game_for_one_are_compared_round_by_round() -> None:
    button = Game.parse(
        "(role a) (init on) (legal a (press 0)) (legal a (press 1)) (<= (next (won ?n)) (does a (press ?n)))"
        "(<= terminal (true (won ?n))) (<= (goal a 0) (true (won 0))) (<= (goal a 100) (true (won 1)))",
        "button",
    )
    tournament = event(button, rounds=40)
    results = Results(tournament)
    lucky = 0
    for pairing, match in tournament.play():
        results.add(pairing, match)
        lucky += match.players == ("random",) and match.goals == (100,)
    found = results.summary()
    assert (found["matches"], found["pairs"][0]["matches"]) == (80, 40)
    assert [line["player"] for line in found["players"]] == ["random", "legal"]
    assert found["players"][0]["score"] == pytest.approx((lucky + (40 - lucky) / 2) / 40)
    assert found["players"][1]["goal"] == 0


# The command


def test_tournament_as_json(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    args = ("tournament", "nim", "tic_tac_toe_3p", "--players", "random,legal", "--rounds", "2", "--out", str(out))
    found = figures(*args)
    assert (found["matches"], found["seed"], found["rounds"], found["unfinished"]) == (16, 1, 2, 0)
    assert {*found["games"]} == {"nim", "tic_tac_toe_3p"}
    for part in (found, *found["games"].values()):
        for line in part["players"]:
            assert {*line} == {
                *("player", "matches", "score", "score_interval"),
                *("goal", "rating", "rating_interval", "errors"),
            }
            assert line["score_interval"][0] < line["score"] < line["score_interval"][1]
            assert line["rating_interval"][0] < line["rating"] < line["rating_interval"][1]
        assert sum(line["score"] for line in part["players"]) == pytest.approx(1)
        assert all(a["rating"] >= b["rating"] for a, b in pairwise(part["players"]))
    assert found["games"]["tic_tac_toe_3p"]["pairs"][0]["matches"] == 12
    assert len(list(records.load(out))) == 16
    again = figures(*args)
    assert found | {"seconds": 0} == again | {"seconds": 0}
    match = next(records.load(out))
    assert figures("match", "nim", "--players", "random,legal", "--seed", str(match.seed))["goals"] == match.scores


def test_tournament_prints_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLAYERS, "first", "player.strategies.simple:Legal")
    args = ("tournament", "tic_tac_toe", "monty_hall", "--players", "random,legal,first", "--rounds", "4")
    text = output(*args, "--schedule", "all-seatings")
    assert text.startswith("36 matches of tic_tac_toe, monty_hall, all-seatings, clocks 10 and 5 s, seed 1, in ")
    assert "\n   player  matches  score %   95 %  goal  rating " in text
    assert "\nScore of the one on the left against\n   player " in text
    assert "\nScore by game\n   player  tic_tac_toe  monty_hall\n" in text
    assert text.endswith("interval from the Fisher information.\n")


def test_tables_are_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    command._table("Score", ["", "player", "goal"], [["1", "uct:c=[1]", "50.0"]])
    said = capsys.readouterr().out
    assert "───" in said
    assert "uct:c=[1]" in said


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nim"], "Missing option '--players'."),
        (["--players", "random,legal"], "Missing argument 'GAME...'."),
        (["nim", "--players", "random"], "players: 1 given, expected two or more"),
        (
            ["nim", "--players", "legal,legal"],
            "players: legal 2 times, expected players that differ, if only in an option",
        ),
        (["nim", "nim", "--players", "legal,random"], "games: nim and nim have the same name or the same rules"),
        (["nim", "--players", "human,legal"], "--players: nobody has the time to play so many games"),
        (["no_game", "--players", "random,legal"], "no_game: neither a bundled game (see `ggp games`) nor a file"),
    ],
)
def test_tournaments_that_the_command_refuses(args: list[str], message: str) -> None:
    assert failure("tournament", *args) == f"ggp: {message}"


def test_tournament_refuses_records_of_another(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    output("simulate", "nim", "--games", "1", "--seed", "1", "--out", str(out))
    (match,) = records.load(out)
    assert failure("tournament", "nim", "--players", "random,legal", "--out", str(out)) == (
        f"ggp: {out}:1: {match.id} is not of this tournament: other games, players, schedule or seed, or fewer rounds"
    )
    assert json.loads(out.read_text())["id"] == match.id
    where = tmp_path / "no" / "folder"
    args = ("tournament", "nim", "--players", "random,legal", "--out", str(where))
    assert failure(*args) == f"ggp: {where}: No such file or directory"


def test_at_most_so_many_matches_are_drawn_fairly() -> None:
    games = [load("tic_tac_toe_3p")]
    players = parse_players("random,legal,human")
    some = Tournament(games, players, most=6)
    assert len(some) == len(list(some.pairings())) == 6
    groups = Counter(frozenset(map(str, pairing.players)) for pairing in some.pairings())
    assert sorted(groups.values()) == [2, 2, 2]
    more = {pairing.seed for pairing in Tournament(games, players, most=9).pairings()}
    assert {pairing.seed for pairing in some.pairings()} <= more
