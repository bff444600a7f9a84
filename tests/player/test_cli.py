"""The command line, mostly in this process; what concerns processes in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from ggp import bundle, ggpbase, records
from ggp.game import load
from player.cli import COMMANDS, main, options

BROKEN = "(role robot)\n(<= (legal robot wait) (true off)\n(<= terminal (true off))\n(goal robot ?x ?y"


def ggp(*args: str, stdin: str = "") -> Result:
    result = CliRunner().invoke(main, args, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def output(*args: str, stdin: str = "") -> str:
    result = ggp(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def figures(*args: str) -> Any:
    return json.loads(output(*args, "--json"))


def failure(*args: str, code: int = 1) -> str:
    """The one line on stderr."""
    result = ggp(*args)
    assert result.exit_code == code, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.strip()


def process(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from player.cli import main; main()", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


# The command as such


def test_help_lists_every_command_with_examples() -> None:
    text = output("--help")
    assert text == output()
    for command in COMMANDS:
        assert f"\n  {command} " in text
        assert f"\n  ggp {command}" in output(command, "--help") or f"(ggp {command}" in output(command, "--help")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    begun = time.perf_counter()
    assert "Usage: ggp" in process("--help").stdout
    assert time.perf_counter() - begun < 3  # 0.05 s on an idle machine; what would make it slow is not imported:
    command = [sys.executable, "-X", "importtime", "-c", "from player.cli import main; main(['--help'])"]
    imported = subprocess.run(command, capture_output=True, text=True, timeout=60).stderr
    assert not [heavy for heavy in ("clingo", "numba", "numpy", "pyswip", "rich") if heavy in imported]


def test_version() -> None:
    assert output("--version").startswith("ggp, version ")


def test_bad_input_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    broken = tmp_path / "broken.kif"
    broken.write_text(BROKEN)
    assert failure("dance") == "ggp: No such command 'dance'."
    assert failure("show") == "ggp: Missing argument 'GAME'."
    assert failure("completion") == "ggp: Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"
    assert failure("show", "--sideways", "nim") == "ggp: No such option '--sideways'."
    assert failure("show", "chess960") == "ggp: chess960: neither a bundled game (see `ggp games`) nor a file"
    assert failure("show", str(broken)) == (
        f"ggp: {broken}:2:1: '(<=' in line 3, expected ')' to close '(<=' (and 1 more: ggp validate lists them)"
    )
    assert failure("show", str(tmp_path)) == f"ggp: {tmp_path}: neither a bundled game (see `ggp games`) nor a file"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--time-limit", "soon", "'soon', expected seconds"),
        ("--time-limit", "0", "'0', expected seconds"),
        ("--time-limit", "1e8", "'1e8', expected seconds, up to a million"),
        ("--memory-limit", "9999T", "'9999T', expected a size such as 500M or 4G"),
        ("--time-limit", "nan", "'nan', expected seconds"),
        ("--memory-limit", "much", "'much', expected a size such as 500M or 4G"),
        ("--memory-limit", "0G", "'0G', expected a size such as 500M or 4G"),
        ("--engine", "steam", "'steam', expected one of auto, propnet, prolog"),
    ],
)
def test_bad_options(option: str, value: str, message: str) -> None:
    assert failure("show", "nim", option, value).startswith(f"ggp: Invalid value for '{option}': {message}")


@pytest.mark.parametrize(("text", "size"), [("500M", 500 << 20), ("4G", 4 << 30), ("1.5k", 1536), ("2gib", 2 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert options.SizeType().convert(text, None, None) == size


def test_a_game_that_does_not_answer_in_time_is_one_line(tmp_path: Path) -> None:
    endless = tmp_path / "endless.kif"
    endless.write_text(
        "(role a) (init (p z)) (<= (q (s ?x)) (q ?x)) (q z) (<= (legal a ?x) (q ?x)) (<= terminal (q b))"
    )
    assert failure("show", str(endless), "--time-limit", "1").startswith("ggp: ")


def test_a_game_may_come_through_a_pipe() -> None:
    command = f"{sys.executable} -c 'from player.cli import main; main()' show /dev/stdin"
    done = subprocess.run(command, shell=True, input=bundle.text("nim"), capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("Nim (first, second)\n")


def test_what_does_not_fit_into_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(path: object) -> None:
        raise MemoryError

    monkeypatch.setattr("ggp.game.load", too_much)
    assert failure("show", "huge.kif") == "ggp: this is too large for the memory of the machine"


def test_nobody_reads_on() -> None:
    command = f"{sys.executable} -c 'from player.cli import main; main()' trace tic_tac_toe --playouts 200 | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    assert "_GGP_COMPLETE" in output("completion", shell)


def test_completion_knows_commands_games_players_and_engines() -> None:
    def completed(*args: str, last: str) -> list[str]:
        found = ShellComplete(main, {}, "ggp", "_GGP_COMPLETE").get_completions(list(args), last)
        return [item.value for item in found]

    assert completed(last="sh") == ["show"]
    assert "tic_tac_toe" in completed("show", last="tic")
    assert completed("show", last="./some") == ["./some"]
    assert completed("match", "nim", "--players", last="random,le") == ["random,legal"]
    assert completed("trace", "nim", "--engine", last="pro") == ["propnet", "prolog"]


def test_completion_answers_the_shell() -> None:
    environment = os.environ | {"_GGP_COMPLETE": "bash_complete", "COMP_WORDS": "ggp show mummy", "COMP_CWORD": "2"}
    assert process(env=environment).stdout == "plain,mummy_maze\n"


# Games


def test_games_lists_the_bundled_games() -> None:
    lines = output("games").splitlines()
    assert [line.split()[0] for line in lines] == list(bundle.names())
    assert any("Tic-Tac-Toe" in line and line.endswith("xplayer, oplayer") for line in lines)
    listed = {game["name"]: game for game in figures("games")}
    assert listed["tic_tac_toe"] == {"name": "tic_tac_toe", "roles": ["xplayer", "oplayer"], "title": "Tic-Tac-Toe"}


def test_show_draws_the_position_roles_and_moves() -> None:
    lines = output("show", "tic_tac_toe", "--moves", "((mark 1 1) noop) (noop (mark 2 2))").splitlines()
    assert lines[0] == "Tic-Tac-Toe (xplayer, oplayer)"
    assert lines[2:6] == ["    1 2 3", "  1 x . .", "  2 . o .", "  3 . . ."]
    assert lines[-2:] == [
        "xplayer: (mark 1 2) (mark 1 3) (mark 2 1) (mark 2 3) (mark 3 1) (mark 3 2) (mark 3 3)",
        "oplayer: noop",
    ]


def test_a_file_may_be_named_in_no_encoding_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a\udcff.kif"
    path.write_text(bundle.text("nim").replace(";; Nim", ";; \x1b[2JNim"))
    assert output("show", str(path)).startswith("[2JNim (first, second)")
    assert "a\\udcff, first: random" in output("match", str(path), "--seed", "1")


def test_show_as_json() -> None:
    found = figures("show", "nim")
    assert (found["game"], found["terminal"], found["roles"]) == ("nim", False, ["first", "second"])
    assert {*found} == {"game", "roles", "facts", "legal", "terminal", "goals", "drawing"}


def test_show_says_when_the_game_is_over() -> None:
    game = load("rock_paper_scissors")
    moves = "(rock scissors) " * 3
    assert game.initial.legal("left").find("rock")
    found = figures("show", "rock_paper_scissors", "--moves", moves)
    text = output("show", "rock_paper_scissors", "--moves", moves)
    assert found["terminal"] == ("The game is over: left 100, right 0" in text)


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ("noop", "step 0: noop, expected a list of moves for xplayer, oplayer"),
        ("((mark 1 1))", "step 0: 1 moves, expected one for each of xplayer, oplayer"),
        ("((mark 9 9) noop)", "step 0: xplayer cannot play (mark 9 9) here, expected one of (mark 1 1), (mark 1 2)"),
        ("((mark 1 1) noop) (noop (mark 1 1))", "step 1: oplayer cannot play (mark 1 1) here"),
        ("((mark 1", "1:2: end of text, expected ')' to close '('"),
        (
            "((mark 1 1) noop) (noop (mark 2 1)) ((mark 1 2) noop) (noop (mark 2 2)) ((mark 1 3) noop) (noop noop)",
            "step 5: the game is over",
        ),
    ],
)
def test_wrong_moves(moves: str, message: str) -> None:
    assert message in failure("show", "tic_tac_toe", "--moves", moves)


def test_validate_prints_like_a_compiler(tmp_path: Path) -> None:
    broken = tmp_path / "broken.kif"
    broken.write_text(BROKEN)
    result = ggp("validate", str(broken), str(tmp_path / "none.kif"))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == f"{broken}:2:1: error: '(<=' in line 3, expected ')' to close '(<='"
    assert lines[-1] == f"{tmp_path}/none.kif:1:1: error: cannot be read: No such file or directory"
    assert result.stderr == "2 files: 3 errors, 0 warnings\n"


def test_validate_plays_sound_games() -> None:
    result = ggp("validate", "tic_tac_toe")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 file: 0 errors, 0 warnings\n"


def test_validate_finds_in_play_what_the_text_does_not_show(tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.kif"
    stuck.write_text(
        "(role a) (init (s 0)) (<= (legal a go) (true (s 0))) (<= (next (s 1)) (true (s 0)))"
        "(<= terminal (true (s 2))) (<= (next (s 2)) (true (s 2))) (<= (goal a 100) (true (s ?x)))"
    )
    result = ggp("validate", str(stuck), "--seed", "1")
    assert result.exit_code == 1
    assert "a has no legal move" in result.stdout
    assert ggp("validate", "--no-play", str(stuck)).exit_code == 0


def test_validate_tells_notes_when_asked() -> None:
    result = ggp("validate", "eight_puzzle", "--playouts", "2")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 file: 0 errors, 0 warnings, 1 note (--notes shows them)\n"
    assert output("validate", "eight_puzzle", "--playouts", "2", "--notes") == (
        "eight_puzzle.kif:1:1: note: player won none of 2 playouts, its best goal was 0\n"
    )
    (note,) = figures("validate", "eight_puzzle", "--playouts", "2")["notes"]
    assert note["message"] == "player won none of 2 playouts, its best goal was 0"


def test_validate_keeps_to_the_memory_limit(tmp_path: Path) -> None:
    greedy = tmp_path / "greedy.kif"
    greedy.write_text(
        "(role a) (init x) (d 0) (d 1) (d 2) (d 3) (d 4) (d 5) (d 6) (d 7) (d 8) (d 9) (<= terminal (true y))"
        "(<= (next x) (true x)) (goal a 0) (<= (legal a (m ?a ?b ?c ?d ?e ?f ?g ?h))"
        "(d ?a) (d ?b) (d ?c) (d ?d) (d ?e) (d ?f) (d ?g) (d ?h))"
    )
    result = ggp("validate", str(greedy), "--memory-limit", "100M")
    assert (result.exit_code, result.stdout) == (
        1,
        f"{greedy}:1:1: error: step 0: the rules need more than the memory limit of 100 MB\n",
    )


def test_validate_as_json(tmp_path: Path) -> None:
    broken = tmp_path / "broken.kif"
    broken.write_text(BROKEN)
    result = ggp("validate", "--json", "--no-play", str(broken))
    found = json.loads(result.stdout)
    assert (result.exit_code, {*found}) == (1, {"errors", "warnings", "notes"})
    assert found["errors"][0] == {
        "file": str(broken),
        "line": 2,
        "column": 1,
        "message": "'(<=' in line 3, expected ')' to close '(<='",
    }


# Matches


def test_match_draws_every_step() -> None:
    text = output("match", "tic_tac_toe", "--players", "legal,legal", "--seed", "1")
    assert text.startswith("tic_tac_toe, xplayer: legal, oplayer: legal, seed 1\n")
    assert "\n1. xplayer (mark 1 1), oplayer noop\n\n    1 2 3\n  1 x . .\n" in text
    assert text.endswith("The game is over: xplayer 100, oplayer 0\n")


def test_match_as_json() -> None:
    found = figures("match", "tic_tac_toe", "--players", "random,random", "--seed", "4")
    assert found == figures("match", "tic_tac_toe", "--players", "random,random", "--seed", "4")
    assert {*found} >= {"goals", "moves", "errors"}
    assert {*found["goals"]} == {"xplayer", "oplayer"}
    assert found["moves"][0][1] == "noop"
    assert found["errors"] == []


def test_match_without_players_is_random() -> None:
    assert figures("match", "monty_hall", "--seed", "1")["players"] == ["random", "random"]


def test_match_writes_a_record_that_replays(tmp_path: Path) -> None:
    out = tmp_path / "record.jsonl"
    output("match", "kuhn_poker", "--seed", "2", "--out", str(out))
    (match,) = records.load(out)
    assert len(list(records.replay(load("kuhn_poker"), match))) == len(match.states)


def test_match_says_where_it_cannot_write_before_it_plays(tmp_path: Path) -> None:
    where = tmp_path / "no" / "such" / "folder"
    assert failure("match", "nim", "--json", "--out", str(where)) == f"ggp: {where}: No such file or directory"


def test_match_reports_faults() -> None:
    text = output("match", "tic_tac_toe", "--players", "random,random", "--play-clock", "1e-9", "--max-steps", "2")
    assert "   xplayer: late\n" in text
    assert "Stopped after 2 steps: " in text
    assert text.endswith(" (4 faults)\n")
    found = figures("match", "tic_tac_toe", "--play-clock", "1e-9", "--max-steps", "1")
    assert found["errors"][0] == {"step": 0, "role": "xplayer", "kind": "late"}


def test_a_person_plays() -> None:
    result = ggp("match", "tic_tac_toe", "--players", "human,legal", stdin="3\nmark 2 2\n(mark 3 1)\n")
    assert result.exit_code == 0
    assert "3: (mark 1 3)" in result.stdout
    assert result.stdout.endswith("The game is over: xplayer 100, oplayer 0\n")


def test_a_person_is_not_shown_what_the_game_hides() -> None:
    result = ggp("match", "kuhn_poker", "--players", "human,random", "--seed", "2", stdin="bet\n")
    assert result.exit_code == 0
    assert "p1 played noop and sees (card p1 jack)" in result.stdout
    assert "deal" not in result.stdout


def test_a_person_leaves() -> None:
    result = ggp("match", "tic_tac_toe", "--players", "human,legal", stdin="1\n")
    assert result.exit_code == 130
    assert result.stderr.strip() == "ggp: stopped"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["tic_tac_toe", "--players", "random"], "--players: 1 given, expected 2 for tic_tac_toe: xplayer, oplayer"),
        (
            ["monty_hall", "--players", "random,random,random"],
            "--players: 3 given, expected 1 for monty_hall: candidate",
        ),
        (
            ["nim", "--players", "random,deep-blue"],
            "player 'deep-blue': expected one of default, human, legal, max-prob, maxn, mp-mix, paranoid, "
            "prob-maxn, random, soft-maxn, uct",
        ),
        (["nim", "--players", "human,random", "--json"], "a human player and --json: both want the terminal"),
        (["nim", "--seed", "-1"], "Invalid value for '--seed': -1 is not in the range x>=0."),
        (
            ["nim", "--play-clock", "never"],
            "Invalid value for '--play-clock': 'never', expected seconds, up to a million",
        ),
    ],
)
def test_matches_that_cannot_be(args: list[str], message: str) -> None:
    assert failure("match", *args) == f"ggp: {message}"


def test_simulate_gives_the_same_file_for_the_same_seed_with_any_number_of_jobs(tmp_path: Path) -> None:
    files = [tmp_path / f"{jobs}.jsonl" for jobs in (1, 2)]
    for jobs, file in enumerate(files, 1):
        args = ("simulate", "tic_tac_toe", "--players", "random,legal", "--games", "6", "--seed", "3")
        found = figures(*args, "--jobs", str(jobs), "--out", str(file))
        assert (found["games"], found["errors"], found["seed"]) == (6, 0, 3)
    assert files[0].read_bytes() == files[1].read_bytes()
    matches = list(records.load(files[0]))
    assert len({match.id for match in matches}) == 6
    assert found["goals"]["xplayer"] == sum(match.goals[0] or 0 for match in matches) / 6
    again = figures("match", "tic_tac_toe", "--players", "random,legal", "--seed", str(matches[4].seed))
    assert again["moves"] == [[str(move) for move in joint] for joint in matches[4].moves]


def test_simulate_prints_a_summary(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    text = output("simulate", "monty_hall", "--games", "3", "--seed", "1", "--out", str(out))
    assert text.startswith("3 matches of monty_hall in ")
    assert f", seed 1: {out}\nmean goals: candidate " in text
    assert "random none; 4.0 steps a match, 0 faults\n" in text


def test_simulate_wants_players_that_have_time(tmp_path: Path) -> None:
    args = ("simulate", "nim", "--games", "2", "--out", str(tmp_path / "x"), "--players", "human,random")
    assert failure(*args) == "ggp: --players: nobody has the time to play so many games"


def test_replay_shows_and_converts(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "m.jsonl", tmp_path / "m.json"
    output("simulate", "tic_tac_toe", "--games", "3", "--seed", "1", "--out", str(ours))
    matches = list(records.load(ours))
    text = output("replay", str(ours), "--match", "2")
    assert text.startswith(f"{matches[1].id}, xplayer: random, oplayer: random\n\n    1 2 3\n")
    assert text.count("\n1. xplayer (mark") == 1
    assert output("replay", str(ours)).count("The game is over") == 3
    assert output("replay", str(ours), "--match", "2", "--to", "ggp-base", "--out", str(theirs)) == ""
    assert ggpbase.loads(theirs.read_text()) == matches[1]
    assert output("replay", str(theirs), "--to", "augur").strip() == records.dumps(matches[1])
    found = figures("replay", str(theirs))
    assert (found["id"], found["checked"]) == (matches[1].id, True)


def test_replay_of_unknown_rules_is_not_checked(tmp_path: Path) -> None:
    path, rules = tmp_path / "m.jsonl", tmp_path / "mine.kif"
    rules.write_text(bundle.text("nim"))
    output("match", str(rules), "--seed", "1", "--out", str(path))
    result = ggp("replay", str(path))
    assert result.exit_code == 0
    assert result.stderr == "ggp: mine.1: nothing is checked, the rules are not known: see --game\n"
    assert figures("replay", str(path), "--game", str(rules))["checked"]
    assert "the rule hashes differ" in failure("replay", str(path), "--game", "racetrack") or "roles" in failure(
        "replay", str(path), "--game", "racetrack"
    )


def test_a_record_plays_no_tricks_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    output("match", "nim", "--seed", "1", "--out", str(path))
    path.write_text(path.read_text().replace("nim.1", "\\u001b[2J"))
    assert output("replay", str(path)).startswith("[2J, first: random")


def test_replay_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text("{")
    assert failure("replay", str(path)).startswith(f"ggp: {path}:1: not JSON: ")
    path.write_text("")
    assert failure("replay", str(path)) == f"ggp: {path}: no matches"
    output("match", "nim", "--seed", "1", "--out", str(path))
    assert failure("replay", str(path), "--match", "2") == f"ggp: {path}: no match 2"
    assert failure("replay", str(path), "--out", "x") == "ggp: --out needs --to, which says in which form"
    assert failure("replay", str(tmp_path / "none")) == f"ggp: {tmp_path}/none: No such file or directory"


# Engines


def test_trace_prints_json_lines_without_spaces() -> None:
    lines = output("trace", "tic_tac_toe", "--engine", "prolog", "--seed", "7", "--playouts", "1").splitlines()
    assert lines[0] == (
        '{"game":"tic_tac_toe","roles":["xplayer","oplayer"],"seed":7,"playouts":1,"maxsteps":60,'
        '"sees":false,"random_role":false}'
    )
    assert lines[1].startswith('{"playout":0,"step":0,"state":["(cell 1 1 b)","(cell 1 2 b)",')


def test_bench() -> None:
    found = figures("bench", "tic_tac_toe", "--engine", "prolog", "--seconds", "0.2")
    assert {*found} >= {"states_per_s", "playouts_per_s", "compile_s", "engine"}
    assert found["states_per_s"] > 0
    text = output("bench", "nim", "--engine", "prolog", "--seconds", "0.1", "--seed", "1")
    assert text.startswith("nim, engine prolog: ready in ")
    assert " states/s, " in text
    assert text.endswith(" steps, seed 1\n")


def test_what_a_file_says_of_itself_plays_no_tricks_on_the_terminal(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    output("match", "nim", "--seed", "1", "--out", str(record))
    forged = json.loads(record.read_text()) | {"id": "a\x1b]0;b\x07", "completed": False}
    record.write_text(json.dumps(forged))
    result = ggp("replay", str(record))
    assert (result.exit_code, result.stderr.partition(":")[0]) == (1, "ggp")
    assert "a]0;b: completed is False" in result.stderr


def test_bench_of_a_game_that_is_over_at_once(tmp_path: Path) -> None:
    over = tmp_path / "over.kif"
    over.write_text("(role a) (init x) (legal a go) (<= (next x) (true x)) (<= terminal (true x)) (goal a 100)")
    found = figures("bench", str(over), "--engine", "both", "--seconds", "0.1")
    assert (found["states_per_s"], found["ratio"]) == (0, None)
    assert "0 states/s, " in output("bench", str(over), "--engine", "both", "--seconds", "0.1")


def test_doctor() -> None:
    found = figures("doctor")
    assert found["ok"]
    assert {check["name"] for check in found["checks"]} >= {"python", "numpy", "swi-prolog", "engine prolog", "games"}
    assert "ok   games: " in output("doctor")


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    result = ggp("doctor")
    assert result.exit_code == 1
    assert "FAIL swi-prolog: swipl is not on the PATH: apt install swi-prolog-nox, " in result.stdout


def test_doctor_knows_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from player.cli import engines

    monkeypatch.setattr(engines, "PACKAGES", ("no-such-package",))
    assert "FAIL no-such-package: not installed: pip install no-such-package" in ggp("doctor").stdout


# Waiting


def test_progress_appears_on_a_terminal_only(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "PATIENCE", 0.0)
    with options.progress("counting", 3) as update:
        update(1)
    with options.waiting("thinking"):
        time.sleep(0.05)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(options, "_shows_progress", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # so that rich believes it
    with options.progress("counting", 3) as update:
        update(1)
        update(3)
    with options.waiting("thinking"):
        time.sleep(0.3)
    said = capfd.readouterr().err
    assert "counting" in said
    assert "thinking" in said
