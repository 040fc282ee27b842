"""Calls of ten seconds, more than the capacity of executors: weights, a small tenant, and the order of priorities.

The embedded AWS has no fair queues: the tests show only what executors do.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import ReceivedRequest, Receiver
from tests.end_to_end.steps import ask, in_time, until
from timeball.dev.stage import Stage, create_key
from timeball.domain.time.instants import SECOND_MS, parse_instant

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.alone, pytest.mark.more]

LASTS_SECONDS = 10
"""How long a call takes up capacity. It costs almost no processor time, which all calls would share."""

TRIES = 2
"""Leeway for a machine that other work keeps busy for seconds: the bound is for an otherwise idle machine."""

TOGETHER = 50
AHEAD_SECONDS = 45


def client_of(stage: Stage, admin: ApiClient, tenant: str, weight: int = 1) -> ApiClient:
    one = ApiClient(stage.deployment.api_url, create_key(stage.deployment.api_url, stage.admin_key, tenant, "operator"))
    ask(admin, "PATCH", f"/v1/admin/tenants/{tenant}", {"weight": weight})
    return one


def submitted(client: ApiClient, receiver: Receiver, number: int, due_at: str, **fields: object) -> set[str]:
    """Submit this many long calls, due at one instant, and return the ids of their jobs."""
    job = {"handler": f"{receiver.url}/slow/{LASTS_SECONDS}", "scheduleAt": due_at, **fields}
    made = [
        ask(client, "POST", "/v1/jobs:batch", {"jobs": [job] * min(TOGETHER, number - start)})
        for start in range(0, number, TOGETHER)
    ]
    return {item["job"]["jobId"] for answer in made for item in answer["items"]}


def arrived(receiver: Receiver, jobs: set[str]) -> list[ReceivedRequest]:
    return [one for one in receiver.arrivals() if one.job_id in jobs and one.attempt == 1]


def test_tenants_of_weight_5_and_1_begin_calls_at_a_ratio_between_4_to_1_and_6_to_1(
    stage: Stage, admin: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    heavy, light = client_of(stage, admin, "heavy", 5), client_of(stage, admin, "light")
    jobs: dict[str, set[str]] = {}

    def submit(due_at: str) -> int:
        jobs["heavy"], jobs["light"] = (submitted(one, receiver, 400, due_at) for one in (heavy, light))
        return parse_instant(due_at)

    in_time(AHEAD_SECONDS, submit)
    until(lambda: all(len(arrived(receiver, one)) == 400 for one in jobs.values()), 240)
    begun: Counter[str] = Counter()
    for tenant, named in jobs.items():
        begun[tenant] = sum(one.at < one.fire_at + LASTS_SECONDS * SECOND_MS for one in arrived(receiver, named))
    record_property(
        "end to end, 400 calls of 10 s of each of two tenants of weights 5 and 1: begun in the first ten seconds",
        f"{begun['heavy']} : {begun['light']}",
    )
    assert 4 <= begun["heavy"] / begun["light"] <= 6


def test_a_job_of_each_second_is_on_time_beside_700_calls_of_another_tenant(
    stage: Stage, admin: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    p99 = float("inf")
    for _ in range(TRIES):
        late = beside_a_crowd(stage, admin, receiver)
        p99 = late[len(late) * 99 // 100]
        record_property(
            "end to end, a job each second beside 700 calls of 10 s of another tenant",
            f"{len(late)} runs, p50 {late[len(late) // 2]:.2f} s, p99 {p99:.2f} s, max {late[-1]:.2f} s late, "
            f"{sum(one > 1 for one in late)} of them more than a second",
        )
        assert len(late) >= 20
        if p99 <= 1:
            break
    assert p99 <= 1


def beside_a_crowd(stage: Stage, admin: ApiClient, receiver: Receiver) -> list[float]:
    """Return how late (s) the runs of a job that fires each second are, ascending, while a crowd's runs begin."""
    crowd, quiet = client_of(stage, admin, "crowd"), client_of(stage, admin, "quiet")
    jobs: set[str] = set()

    def submit(due_at: str) -> None:
        jobs.clear()
        jobs.update(submitted(crowd, receiver, 700, due_at))

    in_time(AHEAD_SECONDS, submit)
    job: dict[str, Any] = quiet.create({"handler": f"{receiver.url}/ok", "everySeconds": 1})
    until(lambda: len(arrived(receiver, jobs)) == 700, 240)
    quiet.cancel(job["jobId"])
    first = min(one.fire_at for one in arrived(receiver, jobs))
    last = max(one.at for one in arrived(receiver, jobs))
    calls = [one for one in arrived(receiver, {job["jobId"]}) if first <= one.fire_at <= last]
    return sorted((one.at - one.fire_at) / SECOND_MS for one in calls)


def test_nearly_all_calls_of_high_have_begun_before_all_calls_of_low_have(
    client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    """Low gets its minimum meanwhile: tests/simulation/test_long_calls.py counts it, where no processor is busy."""
    numbers = {"high": 700, "normal": 60, "low": 30}
    jobs: dict[str, set[str]] = {}

    def submit(due_at: str) -> None:
        jobs.update({one: submitted(client, receiver, many, due_at, priority=one) for one, many in numbers.items()})

    in_time(AHEAD_SECONDS, submit)
    until(lambda: all(len(arrived(receiver, jobs[one])) == many for one, many in numbers.items()), 240)
    all_low = max(one.at for one in arrived(receiver, jobs["low"]))
    waited = sum(one.at > all_low for one in arrived(receiver, jobs["high"]))
    half_high = sorted(one.at for one in arrived(receiver, jobs["high"]))[350]
    low = sum(one.at < half_high for one in arrived(receiver, jobs["low"]))
    record_property(
        "end to end, 700 calls of high, 60 of normal and 30 of low due at one instant",
        f"{low} of low had begun when half of high had; {waited} of high waited when all of low had begun",
    )
    assert waited <= 70
