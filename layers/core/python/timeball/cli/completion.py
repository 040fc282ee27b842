"""`timeball completion`: the script that completes commands and options in a shell."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import COMPLETION_VARIABLE, Commands

app = Commands("Print the script that completes commands in a shell.")


class Shell(StrEnum):
    """A shell that completes."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


@app.add()
def completion(context: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print the script that completes commands in a shell: eval "$(timeball completion bash)"."""
    script = get_completion_script(prog_name="timeball", complete_var=COMPLETION_VARIABLE, shell=shell.value)
    surroundings_of(context).stdout.write(f"{script}\n")
