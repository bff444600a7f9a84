"""`ggp trace`, `bench`, `doctor`: what an engine answers, how fast, and whether it works here."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from player.cli.options import (
    EngineType,
    SecondsType,
    engine_option,
    game_argument,
    json_option,
    limit_options,
    print_json,
    progress,
    seed_option,
    start,
)

if TYPE_CHECKING:
    from ggp.game import Game

PACKAGES = ("click", "clingo", "numba", "numpy", "pyswip", "rich")
Check = tuple[str, bool, str]  # what, whether it works, what was found


@click.command()
@game_argument
@engine_option
@seed_option
@click.option("--playouts", type=click.IntRange(1), default=2, show_default=True, help="How many random games.")
@click.option("--max-steps", type=click.IntRange(0), default=60, show_default=True, help="Steps of a game at most.")
@limit_options
def trace(
    game: Game, engine: str, seed: int, playouts: int, max_steps: int, time_limit: float, memory_limit: int
) -> None:
    """Play GAME at random and print every state with all that the rules say of it, one JSON object a line.

    \b
    ggp trace tic_tac_toe --seed 7
    ggp trace rules.kif --engine prolog --playouts 10 --max-steps 200 > rules.jsonl
    """
    from ggp.trace import trace as traced

    reasoner = start(game, engine, time_limit, memory_limit).reasoner
    for line in traced(game, reasoner, seed=seed, playouts=playouts, max_steps=max_steps):
        click.echo(json.dumps(line, separators=(",", ":"), ensure_ascii=False))


@click.command()
@game_argument
@click.option("--engine", type=EngineType("both"), default="auto", show_default=True, help="Who reasons.")
@click.option("--seconds", type=SecondsType(), default=5, show_default=True, help="How long to measure.")
@seed_option
@limit_options
@json_option
def bench(
    game: Game, engine: str, seconds: float, seed: int, time_limit: float, memory_limit: int, as_json: bool
) -> None:
    """Measure how fast an engine plays GAME at random.

    \b
    ggp bench connect_four --engine prolog --seconds 10
    ggp bench connect_four --engine both
    ggp bench tic_tac_toe --json
    """
    import numpy as np

    from ggp.playouts import speed

    engines = ("propnet", "prolog") if engine == "both" else (engine,)
    found = []
    for one in engines:
        with progress(f"playing {game.name}", 1.0) as update:
            found.append(
                speed(
                    game,
                    one,
                    seconds=seconds,
                    rng=np.random.default_rng(seed),
                    time_limit=time_limit,
                    memory_limit=memory_limit,
                    on_window=update,
                )
            )
    # A game that is over at once has no states to count.
    ratio = found[0].states_per_s / found[-1].states_per_s if found[-1].states_per_s else None
    if as_json:
        figures = {"game": game.name, **asdict(found[0]), "seed": seed}
        print_json(figures | ({"prolog": asdict(found[1]), "ratio": ratio} if engine == "both" else {}))
        return
    for s in found:
        click.echo(f"{game.name}, engine {s.engine}: ready in {s.compile_s:.2f} s")
        click.echo(f"{s.states_per_s:,.0f} states/s, {s.playouts_per_s:,.1f} playouts/s, best of {s.windows}")
        if s.step_us is not None:
            children = f"all children {s.children_us:.2f} µs, " if s.children_us is not None else ""
            click.echo(f"one state at a time: {children}a step {s.step_us:.2f} µs")
        click.echo(f"{s.playouts:,} playouts of {s.mean_steps:.1f} steps, seed {seed}")
    if engine == "both" and ratio is not None:
        click.echo(f"propnet plays {ratio:,.0f} times as fast as prolog")


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what works on this machine. Exit code 1 if something that Augur needs does not.

    \b
    ggp doctor
    ggp doctor --json
    """
    checks = list(_checks())
    healthy = all(works for _, works, _ in checks)
    if as_json:
        listed = [{"name": name, "ok": works, "detail": detail} for name, works, detail in checks]
        print_json({"ok": healthy, "checks": listed})
    for name, works, detail in checks if not as_json else ():
        click.echo(f"{'ok  ' if works else 'FAIL'} {name}: {detail}")
    if not healthy:
        sys.exit(1)


def _checks() -> Iterator[Check]:
    yield "python", sys.version_info >= (3, 11), f"{platform.python_version()} ({sys.executable})"
    yield from map(_package, PACKAGES)
    yield _prolog()
    yield from _engines()
    yield _games()
    screen = "a terminal" if sys.stdout.isatty() else "not a terminal"
    yield "terminal", True, f"{screen}, {sys.stdout.encoding}, {shutil.get_terminal_size().columns} columns"


def _package(name: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return name, True, version(name)
    except PackageNotFoundError:
        return name, False, f"not installed: pip install {name}"


def _prolog() -> Check:
    path = shutil.which("swipl")
    if path is None:
        return (
            "swi-prolog",
            False,
            "swipl is not on the PATH: apt install swi-prolog-nox, dnf install pl, brew install swi-prolog",
        )
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return "swi-prolog", False, f"{path}: {error}"
    return "swi-prolog", True, f"{said.stdout.strip()} ({path})"


def _engines() -> Iterator[Check]:
    """Each engine plays tic-tac-toe to the end."""
    import numpy as np

    from ggp.errors import GGPError
    from ggp.game import ENGINES, load

    for engine in ENGINES[1:]:  # all but auto, which is one of them
        try:
            reasoner = load("tic_tac_toe").reasoner(engine, time_limit=60)
            steps = int(reasoner.playouts(reasoner.initial(), 100, np.random.default_rng(1)).steps.sum())
            yield (
                f"engine {engine}",
                500 <= steps <= 900,
                f"{reasoner.engine}, 100 games of tic-tac-toe in {steps} steps",
            )
            reasoner.close()
        except (GGPError, OSError) as error:
            yield f"engine {engine}", False, " ".join(str(error).split())


def _games() -> Check:
    from importlib.resources import files

    from ggp import bundle

    return "games", bool(bundle.names()), f"{len(bundle.names())} in {files('gdl_games')}"
