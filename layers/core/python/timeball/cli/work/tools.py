"""`timeball mcp`: a server of tools for language models, on the standard streams."""

from typing import Annotated

import typer

from timeball.cli.connection import profile_in
from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands
from timeball.client import AsyncTimeball

app = Commands("Serve tools for language models by MCP.")


@app.add()
def mcp(
    context: typer.Context,
    *,
    allow_plan: Annotated[bool, typer.Option("--allow-plan", help="Also let the model run a job, to test it.")] = False,
) -> None:
    """Serve tools for language models on the standard streams, by the Model Context Protocol.

    The tools now, find_jobs, get_job, get_run, preview and failures read only: they ask with a viewer's session of the
    API key. Payloads are redacted unless the model asks for them, and an answer has at most 4 KB.

    A program with a language model starts this command itself; its settings name the command and its arguments.
    """
    surroundings = surroundings_of(context)
    try:
        from timeball.mcp.server import build_server  # noqa: PLC0415 - slow to import, and an extra
    except ModuleNotFoundError:
        raise CommandError(
            "The tools need a package more: install Timeball with its extra `mcp`: pip install '.[mcp]' in a clone."
        ) from None
    profile = profile_in(surroundings)

    def with_key(key: str) -> AsyncTimeball:
        return _open(surroundings, profile.url, key)

    build_server(with_key(profile.key), with_key, allow_plan=allow_plan).run()


def _open(surroundings: Surroundings, url: str, key: str) -> AsyncTimeball:
    try:
        return AsyncTimeball(url, key, transport=surroundings.transport)
    except ValueError as bad:
        raise CommandError(str(bad)) from None
