"""`timeball dev`: a whole Timeball on this machine, on an embedded AWS, until Ctrl-C.

The first start installs the embedded AWS and the functions' packages in the cache folder of the user.
"""

from pathlib import Path
from typing import Annotated

import typer

from timeball.cli.status import CommandError, Status
from timeball.cli.tree import Commands

app = Commands("Run a whole Timeball on this machine, without an account.")

_MISSING = "This command needs packages that are not installed. Run `make setup` and `pip install '.[dev]'` in a clone."
_UNSUPPORTED = "This command runs on Linux and macOS only."
_FORGETS = "Ctrl-C ends it and deletes its data; --data DIR would keep them."


@app.add()
def run_dev(
    *,
    opens: Annotated[bool, typer.Option("--open", help="Open the console in a browser, logged in.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the data in this folder. A kill loses the last minute at most."),
    ] = None,
) -> Status:
    """Run a whole Timeball on this machine until Ctrl-C; print its URL, its keys and a link to the console.

    The first start needs the network: it installs an embedded AWS in the cache folder of the user.
    """
    try:
        import boto3  # noqa: F401, PLC0415 - packages of the extra, which may be missing
        from platformdirs import user_cache_path  # noqa: PLC0415 - as above

        from timeball.dev.installed_stage import run_installed_stage  # noqa: PLC0415 - as above
        from timeball.dev.screen import show, step  # noqa: PLC0415 - as above
    except ModuleNotFoundError as missing:
        raise CommandError(_UNSUPPORTED if missing.name == "fcntl" else _MISSING) from None
    ending = f"Ctrl-C ends it; {data} keeps its data, which are also saved each minute." if data else _FORGETS
    cache = user_cache_path("timeball")
    return Status(show(lambda: run_installed_stage(cache, step, data), ending=ending, opens=opens))
