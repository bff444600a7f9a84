"""What the commands share: the kinds of their arguments, common options, and waiting politely."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import randbits
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from ggp.game import Game, State
    from player.players import Player

    Kind = click.ParamType[Any]
else:
    Kind = click.ParamType  # not generic before click 8.4

PATIENCE = 1.0  # seconds before something that takes longer says so
F = TypeVar("F", bound=Callable[..., Any])


class GameType(Kind):
    """A bundled name or a path."""

    name = "game"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Game:
        from ggp.game import load

        return load(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from ggp import bundle

        found = [CompletionItem(name) for name in bundle.names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class PlayersType(Kind):
    """PLAYER texts with commas between them."""

    name = "players"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Player, ...]:
        from player.players import parse_players

        return parse_players(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from player.players import PLAYERS

        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}") for name in sorted(PLAYERS) if name.startswith(last)]


class EngineType(Kind):
    """The name of an engine, or one of the words that a command has `besides`."""

    name = "engine"

    def __init__(self, *besides: str) -> None:
        self.besides = besides

    @property
    def names(self) -> tuple[str, ...]:
        from ggp.game import ENGINES

        return (*ENGINES, *self.besides)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.names:
            self.fail(f"{value!r}, expected one of {', '.join(self.names)}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


class SizeType(Kind):
    """Bytes, as 500M or 4G.

    >>> SizeType().convert("500M", None, None)
    524288000
    """

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kmgt]?)i?b?", str(value).strip().lower(), re.ASCII)
        size = int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " ")) if found else 0
        if not 0 < size <= 1 << 50:  # more than any machine has, less than the system's calls can take
            self.fail(f"{value!r}, expected a size such as 500M or 4G", param, ctx)
        return size


class SecondsType(Kind):
    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = -1
        if not 0 < seconds <= 1e6:  # the system's calls cannot wait much longer
            self.fail(f"{value!r}, expected seconds, up to a million", param, ctx)
        return seconds


game_argument = click.argument("game", type=GameType())
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
engine_option = click.option("--engine", type=EngineType(), default="auto", show_default=True, help="Who reasons.")
out_option = click.option("--out", type=click.Path(dir_okay=False, writable=True), help="Write the records here.")
players_option = click.option(
    "--players", type=PlayersType(), help="One PLAYER per role, with commas, but none for dice. Default: all random."
)
max_steps_option = click.option(
    "--max-steps", type=click.IntRange(1), default=10_000, show_default=True, help="Stop a game that does not end."
)


def seed_option(command: F) -> F:
    """`--seed`; without it a new one each time, which the command prints."""
    option = click.option(
        "--seed", type=click.IntRange(0), default=lambda: randbits(32), help="Same seed, same result."
    )
    return option(command)


def limit_options(command: F) -> F:
    """`--time-limit` and `--memory-limit`, for everything that reasons."""
    time_limit = click.option(
        "--time-limit", type=SecondsType(), default=60, show_default=True, help="Seconds to get ready, and per answer."
    )
    memory_limit = click.option(
        "--memory-limit", type=SizeType(), default="4G", show_default=True, help="Of the engine, as 500M or 4G."
    )
    return time_limit(memory_limit(command))


def clock_options(command: F) -> F:
    start = click.option("--start-clock", type=SecondsType(), default=10, show_default=True, help="Seconds to prepare.")
    play = click.option("--play-clock", type=SecondsType(), default=5, show_default=True, help="Seconds per move.")
    return start(play(command))


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """The text without what could play tricks on a terminal."""
    return "".join(c for c in text if c.isprintable())


def start(game: Game, engine: str, time_limit: float, memory_limit: int) -> State:
    """The first position, asked of this engine within these limits."""
    from ggp.game import State

    with waiting(f"getting {game.name} ready"):
        reasoner = game.reasoner(engine, time_limit=time_limit, memory_limit=memory_limit)
        state = State(game, reasoner, reasoner.initial())
        _ = state.facts
    return state


def played(state: State, moves: str) -> State:
    """The position after joint moves as `((mark 1 1) noop) (noop (mark 2 2))`."""
    from ggp.errors import IllegalMove
    from ggp.parser import Nested, parse_lists

    def text(nested: Nested) -> str:
        return nested if isinstance(nested, str) else f"({' '.join(map(text, nested))})"

    for step, joint in enumerate(parse_lists(moves, name="--moves")):
        if isinstance(joint, str):
            raise IllegalMove(
                f"--moves: step {step}: {joint}, expected a list of moves for {', '.join(state.game.roles)}"
            )
        if state.is_terminal:
            raise IllegalMove(f"--moves: step {step}: the game is over")
        try:
            state = state.play(*map(text, joint))
        except IllegalMove as error:
            raise IllegalMove(f"--moves: step {step}: {error}") from None
    return state


def _shows_progress() -> bool:
    return sys.stderr.isatty()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner on the terminal once this has taken a second."""
    if not _shows_progress():
        yield
        return
    from threading import Timer

    from rich.console import Console

    status = Console(stderr=True).status(what)
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def progress(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar on the terminal once this has taken a second; call it with how much is done."""
    if not _shows_progress():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    begun = time.monotonic()

    def update(done: float) -> None:
        bar.update(task, completed=done)
        if time.monotonic() - begun > PATIENCE:
            bar.start()

    try:
        yield update
    finally:
        bar.stop()
