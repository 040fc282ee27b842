"""`make demo`: many jobs on a running Timeball, and the result of each.

It uses the Timeball of `make run` if that runs, and otherwise starts and ends its own.
"""

import contextlib
import http.client
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from local.__main__ import SESSION
from local.demo_client import ApiClient, UnexpectedAnswerError
from local.demo_scenario import DemoOutcome, run_scenario
from local.demo_table import Display, each_lateness, table, verdict
from local.installed import NotInstalledError
from local.receiver import Receiver
from local.stage import run_local_stage
from timeball.dev.child import ChildFailedError
from timeball.dev.screen import FAILURES, step
from timeball.setting import SettingsError

_INTRODUCTION = """
50 jobs are due in the same second, one fires every 2 seconds for half a minute, one on each whole minute,
one at once, and the target of one fails twice. Each calls a receiver on this machine, which records when.
It takes about a minute.
"""


def running(session: Path) -> ApiClient | None:
    """Return a client of the Timeball in a session's note; None if it does not answer."""
    try:
        note = json.loads(session.read_text())
        client = ApiClient(note["apiUrl"], note["apiKey"])
        os.kill(int(note["pid"]), 0)
        client.get("/healthz")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException, UnexpectedAnswerError):
        print("The Timeball of an earlier session does not answer, so its note is ignored.")
        return None
    return client


@contextlib.contextmanager
def _some_timeball() -> Iterator[ApiClient]:
    client = running(SESSION)
    if client is not None:
        print(f"Timeball is already running at {client.url}.")
        yield client
        return
    with run_local_stage(step) as stage:
        yield ApiClient(stage.deployment.api_url, stage.key)


def _play() -> DemoOutcome:
    with _some_timeball() as client, Receiver() as receiver:
        print(_INTRODUCTION)
        return run_scenario(client, receiver, Display().show, with_cron=True)


def _report(outcome: DemoOutcome) -> bool:
    """Print the results; return whether all of them are right."""
    tallies = outcome.progress.tallies
    rows = sum(map(len, outcome.ledger.runs.values()))
    print("\n".join(["", *table(tallies), "", *each_lateness(tallies), ""]))
    print("\n".join(outcome.disagreements) or f"The ledger's {rows} rows agree with the receiver.")
    print(verdict(tallies.values()))
    return all(one.is_right for one in tallies.values()) and not outcome.disagreements


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Play the demo; return 0 if nothing was lost, doubled or early, and the ledger agrees."""
    signal.signal(signal.SIGTERM, _end)
    try:
        return 0 if _report(_play()) else 1
    except KeyboardInterrupt:
        print("\nEnded.")
    except ChildFailedError as failure:
        print(f"\n\n{failure.tail()}\n\n{failure}. The whole log: {failure.log}", file=sys.stderr)
    except (
        *FAILURES,
        SettingsError,
        NotInstalledError,
        UnexpectedAnswerError,
        OSError,
        http.client.HTTPException,
    ) as failure:
        print(f"\n\n{failure}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
