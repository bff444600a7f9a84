"""The command `ggp`. Commands are found by name and import what they need when they run, so that help is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import click

from ggp.errors import GdlSyntaxError, GGPError

# command → module; a command is the attribute of its own name
COMMANDS = {
    "games": "player.cli.games",
    "show": "player.cli.games",
    "validate": "player.cli.games",
    "search": "player.cli.search",
    "match": "player.cli.play",
    "simulate": "player.cli.play",
    "replay": "player.cli.play",
    "tournament": "player.cli.tournament",
    "trace": "player.cli.engines",
    "bench": "player.cli.engines",
    "doctor": "player.cli.engines",
    "completion": "player.cli.shell",
}


class Commands(click.Group):
    """Finds commands when they are wanted. Whatever is wrong with the input is one line on stderr and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[name]), name)
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a file may be named in no encoding at all
        try:
            code = super().main(args, prog_name or "ggp", complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            _fail(" ".join(error.format_message().split()))
        except GGPError as error:
            _fail(_one_line(error))
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except MemoryError:
            _fail("this is too large for the memory of the machine")
        except (click.Abort, KeyboardInterrupt):
            click.echo("ggp: stopped", err=True)
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    click.echo(f"ggp: {''.join(c for c in message if c.isprintable())}", err=True)  # it may quote a hostile file
    sys.exit(1)


def _one_line(error: GGPError) -> str:
    if isinstance(error, GdlSyntaxError) and len(error.problems) > 1:
        return f"{error.problems[0]} (and {len(error.problems) - 1} more: ggp validate lists them)"
    return " ".join(str(error).split())


@click.command(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="augur-ggp", prog_name="ggp")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Augur: general game playing. Reads, checks and plays any game described in GDL.

    A GAME is the name of a bundled game (ggp games lists them) or the path of a rulesheet. A PLAYER is a name with
    options, such as random or legal; players go to the roles in their order.

    \b
    ggp games                                    which games there are
    ggp show tic_tac_toe                         a game's first position
    ggp match connect_four --players human,random
    ggp validate my_game.kif                     what is wrong with my rules
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
