"""Engines are timed, in windows and beside a fixed piece of work; a game that fails is part of the table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from ggp.game import load
from ggp.playouts import Benchmark, Medians, Speed, benchmark, kernel_speed, speed

ROOT = Path(__file__).parents[2]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_speed_is_measured_in_windows() -> None:
    shares: list[float] = []
    found = speed(load("tic_tac_toe"), "prolog", seconds=0.3, rng=rng(), on_window=shares.append)
    assert found.engine == "prolog"
    assert found.states_per_s > found.playouts_per_s > 0
    assert 5 <= found.mean_steps <= 9
    assert found.playouts >= 1
    assert found.compile_s > 0
    assert found.windows >= 1
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_game_can_be_asked_again_after_it_was_measured() -> None:
    game = load("nim")
    reasoner = game.reasoner("prolog")
    speed(game, "prolog", seconds=0.05, rng=rng())
    assert not reasoner.terminal(reasoner.initial())[0]


def test_the_kernel_is_the_best_of_its_windows() -> None:
    ticks = iter([0.0, 4.0, 10.0, 12.0, 20.0, 28.0])
    assert kernel_speed(windows=3, passes=8, clock=lambda: next(ticks)) == 4.0


def test_a_benchmark_compares_with_the_kernel() -> None:
    found = benchmark("tic_tac_toe", "prolog", seconds=0.1, rng=rng())
    assert found.ratio == found.states_per_s / found.kernel_per_s > 0
    assert found.figures().keys() >= {"game", "engine", "states_per_s", "playouts_per_s", "compile_s", "ratio"}


def test_a_game_that_fails_is_told_and_counts_as_0(tmp_path: Path) -> None:
    (tmp_path / "bad.kif").write_text("(role")
    bad = benchmark(tmp_path / "bad.kif", "prolog", seconds=0.1, rng=rng())
    assert (bad.speed, bad.states_per_s) == (None, 0.0)
    assert bad.why == f"{tmp_path}/bad.kif:1:1: end of text, expected ')' to close '(role'"
    assert str(bad).startswith("bad                                prolog   failed: ")
    good = [Benchmark("g", "prolog", 2.0, Speed("prolog", states, 1.0, 1.0, 1.0, 1, 1)) for states in (4.0, 8.0)]
    assert Medians.of("prolog", [bad, *good]) == Medians("prolog", 3, 1, 4.0, 2.0)
    assert str(Medians.of("prolog", good)) == "median of 2 games with prolog: 6 states/s, ratio 3.000, 0 failed"


def test_the_script_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "bench_engines"), "--games", str(ROOT / "gdl_games")]
    options = ["nim", "--seconds", "0.05", "--out", str(tmp_path / "speed.json")]
    done = subprocess.run([*script, *options], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("seed 1, seconds 0.05, ")
    assert "median of 1 games with prolog: " in done.stdout
    written = json.loads((tmp_path / "speed.json").read_text())
    assert [row["game"] for row in written["games"]] == ["nim"]
    assert written["medians"][0]["states_per_s"] > 0
    for wrong in (["chess960"], ["nim", "--engine", "steam"]):
        done = subprocess.run([*script, *wrong], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
