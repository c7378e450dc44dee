"""``shoal completion``: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class

HOW = {
    "bash": 'eval "$(shoal completion bash)"        # in ~/.bashrc',
    "zsh": 'eval "$(shoal completion zsh)"         # in ~/.zshrc',
    "fish": "shoal completion fish | source         # in ~/.config/fish/config.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(sorted(HOW)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
      eval "$(shoal completion bash)"        # in ~/.bashrc
      eval "$(shoal completion zsh)"         # in ~/.zshrc
      shoal completion fish | source         # in ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    program = context.find_root().command
    click.echo(kind(program, {}, "shoal", "_SHOAL_COMPLETE").source())
