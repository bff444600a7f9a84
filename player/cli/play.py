"""`ggp match`, `simulate`, `replay`: one match to watch, many to learn from, and those that were stored."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from player.cli.options import (
    GameType,
    clock_options,
    engine_option,
    game_argument,
    json_option,
    limit_options,
    max_steps_option,
    out_option,
    players_option,
    print_json,
    printable,
    progress,
    seed_option,
    start,
    waiting,
)

if TYPE_CHECKING:
    from ggp.game import Game, State
    from ggp.match import Match, Step
    from learner.simulate import Setting
    from player.players import Player

UNHURRIED = 86_400.0  # seconds that a person has if the clock was not set


@click.command()
@game_argument
@players_option
@clock_options
@max_steps_option
@seed_option
@engine_option
@limit_options
@out_option
@json_option
@click.pass_context
def match(
    ctx: click.Context,
    game: Game,
    players: tuple[Player, ...] | None,
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
    """Play one match of GAME and draw it step by step.

    A late, illegal or missing move is replaced by a random legal one and reported. A person has all the time in the
    world unless a clock is set.

    \b
    ggp match tic_tac_toe
    ggp match tic_tac_toe --players random,legal --seed 1
    ggp match connect_four --players human,random
    ggp match monty_hall --players random --json --out record.jsonl
    """
    from ggp import records

    players = players or _everybody_random(game)
    person = any(player.name == "human" for player in players)
    if person and as_json:
        raise click.UsageError("a human player and --json: both want the terminal")
    if person:
        clocks = {"start_clock": start_clock, "play_clock": play_clock}
        given = {clock for clock in clocks if ctx.get_parameter_source(clock) is not click.core.ParameterSource.DEFAULT}
        start_clock, play_clock = (value if clock in given else UNHURRIED for clock, value in clocks.items())
    setting = _setting(game, players, start_clock, play_clock, max_steps, engine, time_limit, memory_limit)
    if not as_json:
        click.echo(f"{game.name}, {_seated(game, players)}, seed {seed}")
    with open(out, "w", encoding="utf-8") if out else nullcontext() as file:  # before playing: it may not work
        with waiting(f"playing {game.name}") if as_json else nullcontext():
            played = setting.play(game, seed, None if as_json else _watcher(game, person=person))
        if file:
            file.write(f"{records.dumps(played)}\n")
    if as_json:
        print_json(_summary(played))
    else:
        click.echo(f"\n{_verdict(played)}")


def _everybody_random(game: Game) -> tuple[Player, ...]:
    from player.players import parse_player

    return (parse_player("random"),) * len(game.players)


def _setting(game: Game, players: tuple[Player, ...], *rest: Any) -> Setting:
    from ggp.match import seats
    from learner.simulate import Setting

    try:
        seats(game, len(players))
    except ValueError as error:
        raise click.UsageError(f"--players: {error}") from None
    return Setting(game.rulesheet.source.text, game.name, players, *rest)


def _seated(game: Game, players: Sequence[Player]) -> str:
    from ggp.match import seats

    return ", ".join(f"{game.roles[i]}: {player}" for i, player in zip(seats(game, len(players)), players, strict=True))


def _watcher(game: Game, *, person: bool) -> Callable[[Step], None]:
    """Tells every step; a person at the board draws it for themselves, and in GDL-II may not see what others play."""
    from ggp.render import draw

    def watch(step: Step) -> None:
        if step.moves is not None and not (person and game.is_imperfect):
            played = ", ".join(f"{role} {move}" for role, move in zip(game.roles, step.moves, strict=True))
            click.echo(f"\n{step.number}. {played}")
        for fault in step.faults:
            click.echo(f"   {fault.role}: {fault.kind}")
        if not person or step.state.is_terminal:
            click.echo(f"\n{draw(step.state)}")

    return watch


def _summary(match: Match) -> dict[str, Any]:
    return {
        "goals": match.scores,
        "moves": [[str(move) for move in joint] for joint in match.moves],
        "errors": [{"step": fault.step, "role": fault.role, "kind": fault.kind} for fault in match.errors],
        "players": match.players,
        "completed": match.completed,
        "seed": match.seed,
    }


def _verdict(match: Match) -> str:
    how = "The game is over" if match.completed else f"Stopped after {len(match.moves)} steps"
    goals = ", ".join(f"{role} {'none' if goal is None else goal}" for role, goal in match.scores.items())
    faults = f" ({len(match.errors)} faults)" if match.errors else ""
    return f"{how}: {goals}{faults}"


@click.command()
@game_argument
@players_option
@click.option("--games", type=click.IntRange(1), required=True, help="How many matches.")
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="How many processes.")
@clock_options
@max_steps_option
@seed_option
@engine_option
@limit_options
@click.option("--out", type=click.Path(dir_okay=False, writable=True), required=True, help="Write the records here.")
@json_option
def simulate(
    game: Game,
    players: tuple[Player, ...] | None,
    games: int,
    jobs: int,
    start_clock: float,
    play_clock: float,
    max_steps: int,
    seed: int,
    engine: str,
    time_limit: float,
    memory_limit: int,
    out: str,
    as_json: bool,
) -> None:
    """Play many matches of GAME and store them, one JSON object a line.

    The same seed gives the same file, with any number of jobs, if the players do not depend on the time they have. Each
    match has a seed of its own in its record, with which ggp match plays it again.

    \b
    ggp simulate tic_tac_toe --players random,legal --games 100 --out matches.jsonl
    ggp simulate breakthrough --players random,random --games 1000 --jobs 4 --seed 1 --out matches.jsonl
    """
    from ggp import records
    from learner import simulate as simulation

    players = players or _everybody_random(game)
    if any(player.name == "human" for player in players):
        raise click.UsageError("--players: nobody has the time to play so many games")
    setting = _setting(game, players, start_clock, play_clock, max_steps, engine, time_limit, memory_limit)
    begun = time.monotonic()
    scores: dict[str, list[int]] = {role: [] for role in game.roles}
    faults = steps = 0
    with Path(out).open("w", encoding="utf-8") as file, progress(f"playing {game.name}", games) as update:
        for number, played in enumerate(simulation.simulate(game, setting, games=games, seed=seed, jobs=jobs), 1):
            file.write(f"{records.dumps(played)}\n")
            for role, goal in played.scores.items():
                scores[role] += [goal] if goal is not None else []
            faults += len(played.errors)
            steps += len(played.moves)
            update(number)
    means = {role: sum(goals) / len(goals) if goals else None for role, goals in scores.items()}
    seconds = time.monotonic() - begun
    if as_json:
        found = {"games": games, "goals": means, "steps": steps, "errors": faults, "seconds": seconds, "seed": seed}
        print_json(found | {"out": out})
        return
    shown = ", ".join(f"{role} {'none' if mean is None else f'{mean:.1f}'}" for role, mean in means.items())
    click.echo(f"{games} matches of {game.name} in {seconds:.1f} s, seed {seed}: {out}")
    click.echo(f"mean goals: {shown}; {steps / games:.1f} steps a match, {faults} faults")


@click.command()
@click.argument("record", type=click.Path())
@click.option(
    "--game", "rules", type=GameType(), help="The rules, if the record's name for them is not a bundled game."
)
@click.option("--match", "number", type=click.IntRange(1), help="Only this match of the file, from 1.")
@click.option("--delay", type=click.FloatRange(0, 3600), default=0, help="Seconds between steps.")
@click.option("--to", "form", type=click.Choice(["augur", "ggp-base"]), help="Convert instead of showing.")
@click.option("--out", type=click.Path(dir_okay=False, writable=True), help="Write what was converted here.")
@engine_option
@limit_options
@json_option
def replay(
    record: str,
    rules: Game | None,
    number: int | None,
    delay: float,
    form: str | None,
    out: str | None,
    engine: str,
    time_limit: float,
    memory_limit: int,
    as_json: bool,
) -> None:
    """Show stored matches step by step, checked against the rules. Reads our JSON lines and ggp-base's match JSON.

    \b
    ggp replay matches.jsonl --match 3
    ggp replay match.json --game tic_tac_toe --to augur --out match.jsonl
    ggp replay matches.jsonl --to ggp-base
    """
    from ggp import ggpbase, records
    from ggp.render import draw, draw_facts

    if out and not form:
        raise click.UsageError("--out needs --to, which says in which form")
    starts: dict[str, State | None] = {}
    shown = 0
    spinner = waiting(f"converting {record}") if out else nullcontext()
    with spinner, open(out, "w", encoding="utf-8") if out else nullcontext(sys.stdout) as file:
        for index, played in enumerate(ggpbase.load_any(record, rules), 1):
            if number not in (None, index):
                continue
            shown += 1
            if played.game not in starts:
                game = rules or _bundled(played.game)
                starts[played.game] = start(game, engine, time_limit, memory_limit) if game else None
            first = starts[played.game]
            states = list(records.replay(first.game, played, first)) if first else []
            if not first:
                click.echo(f"ggp: {played.id}: nothing is checked, the rules are not known: see --game", err=True)
            if form:
                click.echo((records if form == "augur" else ggpbase).dumps(played), file)
            elif as_json:
                print_json({"id": played.id, "game": played.game, "checked": first is not None} | _summary(played))
            else:
                _show(played, map(draw, states) if first else map(draw_facts, played.states), delay)
    if not shown:
        raise click.UsageError(f"{record}: no match {number}" if number else f"{record}: no matches")


def _bundled(name: str) -> Game | None:
    from ggp import bundle
    from ggp.game import load

    return load(name) if name in bundle.names() else None


def _show(match: Match, pictures: Iterable[str], delay: float) -> None:
    seats = ", ".join(f"{role}: {player or '?'}" for role, player in zip(match.roles, match.players, strict=True))
    click.echo(printable(f"{match.id}, {seats}"))
    for step, (joint, drawing) in enumerate(zip([None, *match.moves], pictures, strict=True)):
        time.sleep(delay if step else 0)
        if joint is not None:
            click.echo(
                f"\n{step}. {', '.join(f'{role} {move}' for role, move in zip(match.roles, joint, strict=True))}"
            )
        for fault in (fault for fault in match.errors if fault.step == step - 1):
            click.echo(f"   {fault.role}: {fault.kind}")
        click.echo(f"\n{drawing}")
    click.echo(f"\n{_verdict(match)}\n")
