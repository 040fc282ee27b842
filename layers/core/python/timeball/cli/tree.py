"""How commands are declared: groups of typer, whose `--json` takes fields or none."""

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

F = TypeVar("F", bound=Callable[..., Any])

FIELDS = re.compile(r"[A-Za-z][A-Za-z0-9_.]*(,[A-Za-z][A-Za-z0-9_.]*)*")
ALL_FIELDS = "*"
COMPLETION_VARIABLE = "_TIMEBALL_COMPLETE"

Json = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="[FIELDS]", help="Print JSON; --json=jobId,lastRun.status prints these fields alone."
    ),
]
Limit = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="At most so many; by default 100 on a terminal, else all.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="KEY:VALUE", help="Only those with this tag; may be repeated.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
From = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="2026-11-24T09:00:00Z, or 6h for 6 hours ago.")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="2026-11-24T10:00:00Z, or 30m for 30 minutes ago.")
]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]
RunIdText = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
File = Annotated[str, typer.Argument(metavar="FILE|-", help="A file of JSON; - is the standard input.")]


class JsonCommand(TyperCommand):
    """A command whose `--json` may have a value: the fields follow `=`, or are the next word if it can be nothing else.

    So `job show --json nightly` shows the job nightly.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own type is private
        """Give a `--json` without fields the value for all of them."""
        takes_words = any(one.param_type_name == "argument" for one in self.params)
        given: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                given += [word, *words]
            elif word == "--json":
                given.append(f"--json={ALL_FIELDS}")
            elif given[-1:] == [f"--json={ALL_FIELDS}"] and _is_fields(word, takes_words=takes_words):
                given[-1] = f"--json={word}"
            else:
                given.append(word)
        return super().parse_args(ctx, given)


def _is_fields(word: str, *, takes_words: bool) -> bool:
    return FIELDS.fullmatch(word) is not None and ("," in word or not takes_words)


class Commands(typer.Typer):
    """A command, or a group of commands, as a module declares it."""

    def __init__(self, about: str, **settings: Any) -> None:  # noqa: ANN401 - as typer
        super().__init__(help=about, add_completion=False, rich_markup_mode=None, **settings)

    def add(self, name: str | None = None) -> Callable[[F], F]:
        """Return a decorator that adds a command; the function's docstring is its help."""
        return self.command(name, cls=JsonCommand)
