"""`ggp completion`: the script that makes a shell complete commands, games and players."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a SHELL.

    \b
    eval "$(ggp completion bash)"                            now, or in ~/.bashrc
    eval "$(ggp completion zsh)"                             in ~/.zshrc
    ggp completion fish > ~/.config/fish/completions/ggp.fish
    """
    from player.cli import main

    found = get_completion_class(shell)
    assert found is not None, "click knows the three"
    click.echo(found(main, {}, "ggp", "_GGP_COMPLETE").source())
