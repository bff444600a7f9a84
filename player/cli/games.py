"""`ggp games`, `show`, `validate`: what games there are, how they look, and what is wrong with one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from player.cli.options import (
    engine_option,
    game_argument,
    json_option,
    limit_options,
    played,
    print_json,
    printable,
    start,
    waiting,
)

if TYPE_CHECKING:
    from ggp.errors import Problem
    from ggp.game import Game, State
    from ggp.validate import Report


@click.command()
@json_option
def games(as_json: bool) -> None:
    """List the bundled games.

    \b
    ggp games
    ggp games --json
    """
    from ggp import bundle
    from ggp.game import load

    found = [(name, load(name)) for name in bundle.names()]
    if as_json:
        print_json([{"name": name, "roles": game.roles, "title": title(game)} for name, game in found])
        return
    rows = [(name, title(game), ", ".join(game.roles)) for name, game in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, first, roles in rows:
        click.echo(f"{name:<{widths[0]}}  {first:<{widths[1]}}  {roles}")


def title(game: Game) -> str:
    """The first line of the rulesheet's header comment."""
    lines = (line.strip() for line in game.rulesheet.source.text.splitlines())
    comments = (printable(line).strip("; ") for line in lines if line.startswith(";"))
    return next((comment for comment in comments if comment), "")


@click.command()
@game_argument
@click.option("--moves", default="", help='Play these first: "((mark 1 1) noop) (noop (mark 2 2))".')
@engine_option
@limit_options
@json_option
def show(game: Game, moves: str, engine: str, time_limit: float, memory_limit: int, as_json: bool) -> None:
    """Draw a position of GAME, with roles and legal moves.

    \b
    ggp show tic_tac_toe
    ggp show tic_tac_toe --moves "((mark 1 1) noop) (noop (mark 2 2))"
    ggp show path/to/rules.kif --json
    """
    from ggp.render import draw

    state = played(start(game, engine, time_limit, memory_limit), moves)
    if as_json:
        print_json(described(state) | {"drawing": draw(state)})
        return
    click.echo(f"{title(game) or game.name} ({', '.join(game.roles)})\n")
    click.echo(f"{draw(state)}\n")
    if state.is_terminal:
        click.echo(f"The game is over: {goals(state)}")
    for role in game.roles if not state.is_terminal else ():
        click.echo(f"{role}: {' '.join(map(str, state.legal(role))) or 'no legal move'}")


def goals(state: State) -> str:
    return ", ".join(f"{role} {'none' if goal is None else goal}" for role, goal in state.goals.items())


def described(state: State) -> dict[str, Any]:
    return {
        "game": state.game.name,
        "roles": state.game.roles,
        "facts": sorted(map(str, state.facts)),
        "legal": {role: [str(move) for move in state.legal(role)] for role in state.game.roles},
        "terminal": state.is_terminal,
        "goals": state.goals,
    }


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--play/--no-play", default=True, show_default=True, help="Also play at random and watch.")
@click.option("--playouts", type=click.IntRange(1), default=20, show_default=True, help="How many random games.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the random games.")
@click.option("--notes", is_flag=True, help="Also show goals that fell and roles that never won.")
@limit_options
@json_option
def validate(
    files: tuple[str, ...],
    play: bool,
    playouts: int,
    seed: int,
    notes: bool,
    time_limit: float,
    memory_limit: int,
    as_json: bool,
) -> None:
    """Check rulesheets like a compiler: FILE:LINE:COLUMN: error: what is wrong. Exit code 1 if there are errors.

    Errors break the GDL specification, warnings are what a game can live with. Without errors in the text the game is
    also played at random: does it end, has everybody a move and a goal? Notes tell what random play suggests but many a
    good game does: goals that fell on the way, roles that never won.

    \b
    ggp validate my_game.kif
    ggp validate --notes --playouts 100 my_game.kif
    ggp validate --no-play --json *.kif
    """
    found: dict[str, list[Problem]] = {"error": [], "warning": [], "note": []}
    for file in files:
        report = _checked(file, play, playouts, seed, time_limit, memory_limit)
        for kind, problems in (("error", report.errors), ("warning", report.warnings), ("note", report.notes)):
            found[kind] += problems
            for problem in problems if not as_json and (notes or kind != "note") else ():
                click.echo(f"{problem.file}:{problem.line}:{problem.column}: {kind}: {problem.message}")
    if as_json:
        keys = ("file", "line", "column", "message")
        print_json({f"{kind}s": [{k: getattr(p, k) for k in keys} for p in some] for kind, some in found.items()})
    else:
        counts = [_count(len(some), kind) for kind, some in found.items() if some or kind != "note"]
        hint = " (--notes shows them)" if found["note"] and not notes else ""
        click.echo(f"{_count(len(files), 'file')}: {', '.join(counts)}{hint}", err=True)
    if found["error"]:
        sys.exit(1)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _checked(file: str, play: bool, playouts: int, seed: int, time_limit: float, memory_limit: int) -> Report:
    """What is wrong with one file: in its text and, if that is sound, in play."""
    from ggp import bundle
    from ggp.errors import EngineMissing, GdlError, GdlSyntaxError, Problem, ReasonerError
    from ggp.game import Game
    from ggp.parser import load, parse
    from ggp.validate import Report
    from ggp.validate import validate as check

    try:
        sheet = parse(bundle.text(file), name=f"{file}.kif") if file in bundle.names() else load(file)
    except GdlSyntaxError as error:
        return Report(error.problems, ())
    except OSError as error:
        return Report((Problem(file, 1, 1, f"cannot be read: {error.strerror}"),), ())
    report = check(sheet)
    if report.errors or not play:
        return report
    import numpy as np

    from ggp.playability import playability

    try:
        with waiting(f"playing {file}"):
            game = Game(sheet, sheet.source.name)
            shown = playability(
                game,
                rng=np.random.default_rng(seed),
                playouts=playouts,
                time_limit=time_limit,
                memory_limit=memory_limit,
            )
    except EngineMissing:
        raise  # not the fault of the rules
    except (GdlError, ReasonerError) as error:
        return Report((*report.errors, Problem(sheet.source.name, 1, 1, " ".join(str(error).split()))), report.warnings)
    return Report((*report.errors, *shown.errors), (*report.warnings, *shown.warnings), shown.notes)
