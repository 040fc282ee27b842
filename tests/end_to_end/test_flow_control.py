"""Jobs that share a limiter, on the real template: no more run at once than it allows, and the others wait in line."""

import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import ReceivedRequest, Receiver, reply_to
from tests.end_to_end.emulated import kill, start_processes
from tests.end_to_end.steps import are_completed, ask, calls_of, until
from timeball.dev.stage import Stage
from timeball.domain.time.instants import SECOND_MS

pytestmark = pytest.mark.xdist_group("end_to_end")

_TAKES_SECONDS = 3
_PLACES = 3
_ALL_END_SECONDS = 300


def test_runs_of_different_jobs_under_a_limit_of_one_run_one_by_one(client: ApiClient, receiver: Receiver) -> None:
    key = {"name": "printer", "limit": 1}
    asked = {"handler": f"{receiver.url}/slow/{_TAKES_SECONDS}", "concurrencyLimit": key}
    jobs = [ask(client, "POST", "/v1/jobs", asked) for _ in range(4)]
    until(lambda: len(client.get("/v1/limits/printer")["waiters"]) > 0)
    until(lambda: are_completed(client, *jobs))
    called_at = sorted(arrival.at for job in jobs for arrival in calls_of(receiver, job))
    apart = [later - earlier for earlier, later in pairwise(called_at)]
    assert len(called_at) == len(jobs)
    assert min(apart) >= _TAKES_SECONDS * SECOND_MS, apart
    shown = client.get("/v1/limits/printer")
    assert (shown["limit"], shown["holders"], shown["waiters"]) == (1, [], [])


def most_at_once(arrivals: Sequence[ReceivedRequest]) -> int:
    """Return the most calls that the target had at once. Each call lasts its full time, even if its executor dies."""

    def over_at(one: ReceivedRequest) -> float:
        return one.at + reply_to(one.path, one.attempt).after_seconds * SECOND_MS

    changes = sorted(change for one in arrivals for change in ((one.at, 1), (over_at(one), -1)))
    return max(accumulate(change for _, change in changes))


@pytest.mark.more
def test_200_jobs_keep_a_limit_of_three_while_executors_are_killed_and_all_of_them_end(
    stage: Stage, client: ApiClient, receiver: Receiver
) -> None:
    def submit(path: str, count: int) -> list[dict[str, Any]]:
        asked = {"handler": f"{receiver.url}{path}", "concurrencyLimit": {"name": "licence", "limit": _PLACES}}
        answer = ask(client, "POST", "/v1/jobs:batch", {"jobs": [asked] * count})
        return [item["job"] for item in answer["items"]]

    def kill_all() -> None:
        kill(stage, "execute-normal")
        start_processes(stage, "execute-normal", _PLACES)

    jobs = submit("/slow/20/1", _PLACES)  # the executors are killed during these calls
    until(lambda: len(receiver.arrivals()) == _PLACES, otherwise="the slots are not taken")
    jobs += submit("/slow/0.2", 98) + submit("/slow/0.2", 99)
    until(lambda: len(client.get("/v1/limits/licence")["waiters"]) > 0)
    kill_all()
    until(lambda: len(receiver.arrivals()) > 100, _ALL_END_SECONDS)
    kill_all()
    until(lambda: are_completed(client, *jobs), _ALL_END_SECONDS)
    calls = receiver.arrivals()
    assert len({call.run_id for call in calls}) == len(jobs) == 200
    assert [call.attempt for call in calls if call.path == "/slow/20/1"] == [1] * _PLACES + [2] * _PLACES
    assert most_at_once(calls) == _PLACES


def test_a_limiter_that_is_stopped_admits_no_run_until_its_limit_is_raised(
    client: ApiClient, receiver: Receiver
) -> None:
    ask(client, "PUT", "/v1/limits/valve", {"limit": 0})
    asked = {"handler": f"{receiver.url}/ok", "concurrencyLimit": {"name": "valve", "limit": 5}}
    job = ask(client, "POST", "/v1/jobs", asked)
    until(lambda: [one["jobId"] for one in client.get("/v1/limits/valve")["waiters"]] == [job["jobId"]])
    assert calls_of(receiver, job) == []
    ask(client, "PUT", "/v1/limits/valve", {"limit": 2})
    until(lambda: are_completed(client, job))


def test_a_rate_limit_spaces_the_calls_of_all_jobs_that_name_it(client: ApiClient, receiver: Receiver) -> None:
    asked = {
        "handler": f"{receiver.url}/ok",
        "rateLimit": {"name": "mail", "perSecond": 1, "burst": 1},
        "delaySeconds": 3,
    }
    answer = ask(client, "POST", "/v1/jobs:batch", {"jobs": [asked] * 5})
    jobs = [item["job"] for item in answer["items"]]
    until(lambda: are_completed(client, *jobs))
    calls = sorted((arrival for job in jobs for arrival in calls_of(receiver, job)), key=lambda arrival: arrival.at)
    due_at = min(arrival.fire_at for arrival in calls)  # the first call itself may be late on a busy machine
    assert calls[-1].at - due_at >= (len(jobs) - 1) * SECOND_MS * 95 // 100


def test_two_submits_under_one_unique_key_make_one_job(client: ApiClient, receiver: Receiver) -> None:
    body = json.dumps({"handler": f"{receiver.url}/ok", "uniqueKey": "invoice-7", "uniqueSeconds": 60}).encode()
    first, second = (client.send("POST", "/v1/jobs", body) for _ in range(2))
    assert (first.status, second.status) == (201, 200)
    assert first.body["jobId"] == second.body["jobId"]
    until(lambda: are_completed(client, first.body))
    assert len(calls_of(receiver, first.body)) == 1
