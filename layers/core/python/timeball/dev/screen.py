"""The output for a person: each wait, the addresses, the use of each key, and the end."""

import contextlib
import shlex
import signal
import sys
import threading
import time
import urllib.error
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType

from timeball.dev.child import ChildFailedError
from timeball.dev.data import DataError
from timeball.dev.deployment import DeploymentFailedError
from timeball.dev.installation import InstallationError
from timeball.dev.stage import Note, Stage, console_link
from timeball.dev.warm import FunctionFailedError

FAILURES = (FunctionFailedError, DeploymentFailedError, DataError, InstallationError)
"""Failures whose text says everything; that of a process has a log as well."""


@contextlib.contextmanager
def step(name: str) -> Iterator[Note]:
    """Print what is waited for, on a terminal also how far it is, and how long it took."""
    started_at = time.monotonic()
    print(f"{name} …", end=" ", flush=True)

    def note(text: str) -> None:
        if sys.stdout.isatty():
            print(f"\r{name} … {text}", end=" ", flush=True)

    yield note
    print(f"{time.monotonic() - started_at:.1f} s", flush=True)


def show(
    run: Callable[[], AbstractContextManager[Stage]],
    *,
    ending: str,
    opens: bool = False,
    beside: Callable[[Stage], AbstractContextManager[None]] = lambda _stage: contextlib.nullcontext(),
) -> int:
    """Run a Timeball until Ctrl-C, SIGTERM or a failure; return the exit code.

    `ending` says what Ctrl-C does with the data, `opens` opens the console in a browser, `beside` is entered while the
    Timeball runs.
    """
    # SIGINT too: a shell that starts this in the background ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    started_at = time.monotonic()
    try:
        with run() as stage, beside(stage):
            print(f"Ready after {time.monotonic() - started_at:.1f} s.")
            print(_welcome(stage, ending), flush=True)
            _answer_enter(stage)
            if opens and stage.has_console:
                webbrowser.open(console_link(stage.deployment.api_url, stage.key))
            stage.emulator.wait()
    except KeyboardInterrupt:
        print("\nEnded.")
        return 0
    except ChildFailedError as failure:
        complain(f"{failure.tail()}\n\n{failure}. The whole log: {failure.log}")
    except FAILURES as failure:
        complain(str(failure))
    return 1


def complain(what: str) -> None:
    """Print why there is no Timeball."""
    print(f"\n\n{what}", file=sys.stderr)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _welcome(stage: Stage, ending: str) -> str:
    address = f"TIMEBALL_URL={shlex.quote(stage.deployment.api_url)} TIMEBALL_KEY={shlex.quote(stage.key)}"
    return f"""
Timeball runs on this machine.

  API     {stage.deployment.api_url}
  Key     {stage.key}
          for your requests: the jobs, runs and limits of the tenant {stage.tenant}
  Admin   {stage.admin_key}
          for tenants and their keys alone, at /v1/admin: no job needs it
  Logs    {stage.folder}
{_console(stage)}
Paste this into another terminal, and the command `timeball` works there; `timeball whoami` tries it:

  export {address}

{ending}
"""


def _console(stage: Stage) -> str:
    """Return the paragraph about the console; nothing if none is deployed."""
    if not stage.has_console:
        return ""
    return f"""
Open the console, logged in; Enter prints another address, as each works once and for ten minutes:

  {console_link(stage.deployment.api_url, stage.key)}
"""


def _answer_enter(stage: Stage) -> None:
    """Print another address of the console at each Enter."""

    def answer() -> None:
        with contextlib.suppress(OSError, ValueError):  # there is no terminal, or it is another program's
            while sys.stdin.readline():
                try:
                    print(f"  {console_link(stage.deployment.api_url, stage.key)}", flush=True)
                except urllib.error.URLError as refused:
                    print(f"  No address came: {refused}", flush=True)

    if stage.has_console:
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background a read fails, and stops nothing
        threading.Thread(target=answer, daemon=True).start()
