"""Steps of the end-to-end tests: actions of an API user, and ways to inspect the results."""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from local.demo_client import ApiClient
from local.receiver import ReceivedRequest, Receiver
from timeball.domain.attempts.claim import CLAIM_AHEAD_MS
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

_WITHIN_SECONDS = 300
"""Long enough for a busy machine: a test that fails only does so later."""
_TRIES = 5

_Done = TypeVar("_Done")


def until(
    condition: Callable[[], bool], within_seconds: int = _WITHIN_SECONDS, otherwise: str = "the condition never held"
) -> None:
    """Wait until a condition holds. After the time limit fail with the message `otherwise`."""
    give_up_at = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < give_up_at, otherwise
        time.sleep(0.1)  # the change happens in another process, which sends no signal


def clock() -> int:
    """Return the present instant, in ms."""
    return time.time_ns() // 1_000_000


def soon(seconds: int) -> str:
    """Return the whole second that is this many seconds after the next one."""
    return format_instant((clock() // SECOND_MS + 1 + seconds) * SECOND_MS)


def in_time(seconds: int, do: Callable[[str], _Done]) -> _Done:
    """Run `do` with an instant this many seconds ahead, and return its result if it ended in time for that instant.

    It must end before runs that are due at the instant are claimed. A slow machine gets another instant, twice as far
    ahead. `do` must not assert anything about its answers: they may have come too late, and are then discarded.
    """
    for tried in range(_TRIES):
        due_at = soon(seconds << tried)
        done = do(due_at)
        if clock() < parse_instant(due_at) - CLAIM_AHEAD_MS:
            return done
    raise AssertionError(f"this machine did not run the test's requests within {seconds} s")


def ask(client: ApiClient, method: str, path: str, body: object = None) -> Any:
    """Send a request, assert that it succeeds, and return the answer."""
    answer = client.send(method, path, None if body is None else json.dumps(body).encode())
    assert answer.status in {200, 201}, answer.text
    return answer.body


def are_completed(client: ApiClient, *jobs: dict[str, Any]) -> bool:
    return all(client.get(f"/v1/jobs/{job['jobId']}")["status"] == "completed" for job in jobs)


def calls_of(receiver: Receiver, job: dict[str, Any]) -> list[ReceivedRequest]:
    return [arrival for arrival in receiver.arrivals() if arrival.job_id == job["jobId"]]


def ledger(client: ApiClient, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of a job, newest first."""
    items: list[dict[str, Any]] = client.get(f"/v1/jobs/{job['jobId']}/runs", limit=200)["items"]
    return items


def called(client: ApiClient, target: dict[str, Any], status: str = "succeeded", **fields: object) -> dict[str, Any]:
    """Create a job that calls a target now, wait for the end of its run, and return the run."""
    job = client.create({"target": target, "payload": {"order": 7, "fail": False}, **fields})
    until(lambda: [run["status"] for run in ledger(client, job)] == [status], otherwise=f"no run of {job} {status}")
    run: dict[str, Any] = client.send("GET", f"/v1/runs/{ledger(client, job)[0]['runId']}").body
    return run
