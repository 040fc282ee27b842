"""`make run`: start everything, print its addresses, and end everything at Ctrl-C."""

import contextlib
import json
import os
import shlex
import signal
import sys
import threading
import time
import urllib.error
from collections.abc import Iterator, Sequence
from types import FrameType

from infra.alarm_settings import OFF
from local.child import ChildFailedError
from local.emulator import ROOT, NotInstalledError
from local.stage import Stage, console_link, run_stage
from local.warm import FunctionFailedError
from timeball.setting import SettingsError

SESSION = ROOT / ".local/session.json"


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Print a step, and how long it took."""
    started_at = time.monotonic()
    print(f"{name} …", end=" ", flush=True)
    yield
    print(f"{time.monotonic() - started_at:.1f} s", flush=True)


@contextlib.contextmanager
def _session(stage: Stage) -> Iterator[None]:
    """Write a note of what runs where, for `make demo`, and remove it at the end if it is still ours."""
    note = json.dumps(
        {
            "apiUrl": stage.deployment.api_url,
            "apiKey": stage.key,
            "tenant": stage.tenant,
            "endpoint": stage.emulator.endpoint,
            "outputs": dict(stage.deployment.outputs),
            "pid": os.getpid(),
            "emulatorPid": stage.emulator.pid,
        },
        indent=2,
    )
    SESSION.parent.mkdir(exist_ok=True)
    SESSION.touch(mode=0o600)
    SESSION.write_text(note)
    try:
        yield
    finally:
        if SESSION.exists() and SESSION.read_text() == note:
            SESSION.unlink()


def _welcome(stage: Stage) -> str:
    page = {"type": "http", "method": "GET", "url": f"{stage.deployment.api_url}/healthz"}
    job = json.dumps({"name": "hello", "target": page, "delaySeconds": 3})
    return f"""
Timeball runs on this machine.

  API     {stage.deployment.api_url}
  Key     {stage.key}
  Admin   {stage.admin_key}
  Logs    {stage.folder}
{_console(stage)}
Create a job that calls this API's health page in three seconds:

  curl -sS {shlex.quote(stage.deployment.api_url + "/v1/jobs")} \\
    -H {shlex.quote(f"Authorization: Bearer {stage.key}")} -H 'Content-Type: application/json' \\
    -d {shlex.quote(job)}

Ctrl-C ends it and deletes its data.
"""


def _console(stage: Stage) -> str:
    """Return the paragraph about the console; nothing if none is deployed."""
    if stage.deployment.settings.console == OFF:
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

    if stage.deployment.settings.console != OFF:
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background a read fails, and stops nothing
        threading.Thread(target=answer, daemon=True).start()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Run with settings such as `partitions=2` until Ctrl-C, SIGTERM or a failure; return the exit code."""
    # SIGINT too: a shell that starts this in the background ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    overrides = dict(argument.split("=", 1) for argument in arguments)
    started_at = time.monotonic()
    try:
        with run_stage(step, overrides) as stage, _session(stage):
            print(f"Ready after {time.monotonic() - started_at:.1f} s.")
            print(_welcome(stage), flush=True)
            _answer_enter(stage)
            stage.emulator.wait()
    except KeyboardInterrupt:
        print("\nEnded.")
        return 0
    except ChildFailedError as failure:
        _complain(f"{failure.tail()}\n\n{failure}. The whole log: {failure.log}")
        return 1
    except (FunctionFailedError, SettingsError, NotInstalledError) as failure:
        _complain(str(failure))
        return 1
    return 0


def _complain(what: str) -> None:
    print(f"\n\n{what}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
