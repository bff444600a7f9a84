"""`ggp tournament`: players against each other in many games, with ratings."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from player.cli.options import (
    GameType,
    PlayersType,
    clock_options,
    engine_option,
    json_option,
    limit_options,
    max_steps_option,
    print_json,
    printable,
    progress,
)

if TYPE_CHECKING:
    from ggp.game import Game
    from player.players import Player


@click.command()
@click.argument("games", metavar="GAME...", nargs=-1, required=True, type=GameType())
@click.option("--players", type=PlayersType(), required=True, help="Two or more PLAYERs, with commas.")
@click.option(
    "--rounds", type=click.IntRange(1, 100_000), default=1, show_default=True, help="Repeat, with other seeds."
)
@click.option(
    "--schedule",
    type=click.Choice(["round-robin", "all-seatings"]),
    default="round-robin",
    show_default=True,
    help="Every two players on all seats, or all players on all seats.",
)
@click.option("--most", type=click.IntRange(1), help="Matches of one game, by lot from all that there would be.")
@click.option(
    "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes; one per core at most."
)
@clock_options
@max_steps_option
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same matches.")
@engine_option
@limit_options
@click.option(
    "--out", type=click.Path(dir_okay=False, writable=True), help="Add the records to this file; go on if it has some."
)
@json_option
def tournament(
    games: tuple[Game, ...],
    players: tuple[Player, ...],
    rounds: int,
    schedule: str,
    most: int | None,
    jobs: int,
    start_clock: float,
    play_clock: float,
    max_steps: int,
    seed: int,
    engine: str,
    time_limit: float,
    memory_limit: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Let players play each other in one GAME or more, and rate them.

    round-robin: every two players in all seatings that have both, so two matches a round in a game for two, six in a
    game for three. all-seatings: all different players, in every order. Dice are the judge's. In a game for one
    everybody plays alone, and the goals of a round are compared.

    A tournament that was stopped goes on where it was if the same command is given again with the same --out; more
    rounds, games or players may be added.

    \b
    ggp tournament tic_tac_toe --players random,legal --rounds 10
    ggp tournament tic_tac_toe connect_four nim --players random,legal --rounds 20 --jobs 2 --out matches.jsonl
    ggp tournament tic_tac_toe_3p --players random,legal --schedule all-seatings --play-clock 1 --json
    """
    from player.tournament import Results, Tournament

    if any(player.name == "human" for player in players):
        raise click.UsageError("--players: nobody has the time to play so many games")
    try:
        event = Tournament(
            games,
            players,
            rounds,
            schedule,
            seed,
            start_clock,
            play_clock,
            max_steps,
            engine,
            time_limit,
            memory_limit,
            most or 0,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    results = Results(event)
    begun = time.monotonic()
    with progress("playing", len(event)) as update, closing(event.play(jobs=jobs, out=out)) as played:
        for number, (pairing, match) in enumerate(played, 1):
            results.add(pairing, match)
            update(number)
    seconds = time.monotonic() - begun
    found = results.summary()
    if as_json:
        settings = {
            "schedule": schedule,
            "rounds": rounds,
            "most": most,
            "seed": seed,
            "start_clock": start_clock,
            "play_clock": play_clock,
            "max_steps": max_steps,
            "seconds": seconds,
            "out": out,
        }
        print_json(found | settings)
        return
    click.echo(
        f"{found['matches']} matches of {', '.join(found['games'])}, {schedule}, clocks {start_clock:g} and "
        f"{play_clock:g} s, seed {seed}, in {seconds:.1f} s"
    )
    _show(found)


def _show(found: dict[str, Any]) -> None:
    ranked = found["players"]
    names = [line["player"] for line in ranked]
    columns = ["", "player", "matches", "score %", "95 %", "goal", "rating", "95 %", "faults"]
    rows = [
        [
            str(place),
            line["player"],
            str(line["matches"]),
            *_percent(line),
            f"{line['goal']:.1f}",
            f"{line['rating']:+.0f}",
            "{:+.0f} … {:+.0f}".format(*line["rating_interval"]),
            ", ".join(f"{count} {kind}" for kind, count in line["errors"].items() if count) or "none",
        ]
        for place, line in enumerate(ranked, 1)
    ]
    _table("", columns, rows)
    met = {tuple(pair["players"]): pair for pair in found["pairs"]}
    cells = [[_against(met, a, b) for b in names] for a in names]
    numbered = [[str(i), name, *line] for i, (name, line) in enumerate(zip(names, cells, strict=True), 1)]
    if len(names) > 2:
        _table("Score of the one on the left against", ["", "player", *map(str, range(1, len(names) + 1))], numbered)
    if len(found["games"]) > 1:
        lines = {name: {line["player"]: line for line in game["players"]} for name, game in found["games"].items()}
        rows = [[str(i), a, *(" ".join(_percent(lines[g][a])) for g in lines)] for i, a in enumerate(names, 1)]
        _table("Score by game", ["", "player", *lines], rows)
    click.echo(
        "\nScore: 1 for the highest goal of a match, shared evenly, in percent, with Wilson's interval. Rating: "
        "Bradley–Terry on the Elo scale,\ninterval from the Fisher information."
        + (f" {found['unfinished']} matches did not end." if found["unfinished"] else "")
    )


def _percent(line: dict[str, Any]) -> tuple[str, str]:
    low, high = line["score_interval"]
    return f"{100 * line['score']:.1f}", f"{100 * low:.0f}–{100 * high:.0f}"


def _against(met: dict[tuple[str, ...], dict[str, Any]], a: str, b: str) -> str:
    if (a, b) in met:
        return " ".join(_percent(met[a, b]))
    if (b, a) in met:
        low, high = met[b, a]["score_interval"]
        return " ".join(_percent({"score": 1 - met[b, a]["score"], "score_interval": (1 - high, 1 - low)}))
    return ""


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The rows below their columns; the first two columns are a number and a name, the others figures."""
    click.echo(f"\n{title}" if title else "")
    rows = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD)
        for i, column in enumerate(columns):
            table.add_column(Text(printable(column)), justify="left" if i == 1 else "right")
        for row in rows:
            table.add_row(*map(Text, row))
        Console().print(table)
        return
    lines = [[printable(column) for column in columns], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (f"{cell:{'<' if i == 1 else '>'}{w}}" for i, (cell, w) in enumerate(zip(line, widths, strict=True)))
        click.echo("  ".join(padded).rstrip())
