"""What the tests of this folder do as users of the API, and how they look at what came of it."""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from local.demo_client import ApiClient
from local.receiver import Arrival, Receiver
from timeball.domain.attempts.claim import CLAIM_AHEAD_MS
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

_WITHIN_SECONDS = 300
"""However busy the machine is: a test that waits in vain fails, later."""
_TRIES = 5

_Done = TypeVar("_Done")


def until(
    condition: Callable[[], bool], within_seconds: int = _WITHIN_SECONDS, otherwise: str = "waited in vain"
) -> None:
    """Wait until a condition holds, but not for ever: then fail, and say what is so `otherwise`."""
    give_up_at = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < give_up_at, otherwise
        time.sleep(0.1)  # what is waited for is in other processes, and nothing tells when it has come


def clock() -> int:
    """Return the present instant, in ms."""
    return time.time_ns() // 1_000_000


def soon(seconds: int) -> str:
    """Return the whole second that is so many seconds after the next one."""
    return format_instant((clock() // SECOND_MS + 1 + seconds) * SECOND_MS)


def in_time(seconds: int, do: Callable[[str], _Done]) -> _Done:
    """Do what must be done before what is due at an instant is claimed, for that so many seconds ahead.

    A slow machine gets another instant, twice as far ahead. `do` must assert nothing of its answers: they may have come
    too late, and are then not what is returned.
    """
    for tried in range(_TRIES):
        due_at = soon(seconds << tried)
        done = do(due_at)
        if clock() < parse_instant(due_at) - CLAIM_AHEAD_MS:
            return done
    raise AssertionError(f"this machine did not do in {seconds} s what the test asks for")


def ask(client: ApiClient, method: str, path: str, body: object = None) -> Any:
    """Return the answer to a request that nothing is wrong with."""
    answer = client.send(method, path, None if body is None else json.dumps(body).encode())
    assert answer.status in {200, 201}, answer.text
    return answer.body


def are_completed(client: ApiClient, *jobs: dict[str, Any]) -> bool:
    return all(client.get(f"/v1/jobs/{job['jobId']}")["status"] == "completed" for job in jobs)


def calls_of(receiver: Receiver, job: dict[str, Any]) -> list[Arrival]:
    return [arrival for arrival in receiver.arrivals() if arrival.job_id == job["jobId"]]


def ledger(client: ApiClient, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of a job, newest first."""
    items: list[dict[str, Any]] = client.get(f"/v1/jobs/{job['jobId']}/runs", limit=200)["items"]
    return items


def called(client: ApiClient, target: dict[str, Any], status: str = "succeeded", **fields: object) -> dict[str, Any]:
    """Make a job that calls a target now, wait for the end of its run, and return that."""
    job = client.create({"target": target, "payload": {"order": 7, "fail": False}, **fields})
    until(lambda: [run["status"] for run in ledger(client, job)] == [status], otherwise=f"no run of {job} {status}")
    run: dict[str, Any] = client.send("GET", f"/v1/runs/{ledger(client, job)[0]['runId']}").body
    return run
