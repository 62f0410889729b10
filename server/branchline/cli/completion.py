"""``branchline completion``: what a shell needs to complete our commands."""

from typing import Final

import click
from click.shell_completion import get_completion_class

_VARIABLE: Final = "_BRANCHLINE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Example, for bash:
      branchline completion bash > ~/.local/share/bash-completion/completions/branchline
    """
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"no completion for {shell}")
    root = context.find_root().command
    click.echo(completer(root, {}, "branchline", _VARIABLE).source())
