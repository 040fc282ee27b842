"""Four hundred jobs that are due at one instant: how late each of them calls its target."""

import statistics
from collections.abc import Callable

import pytest

from local.demo_client import ApiClient
from local.receiver import ReceivedRequest, Receiver
from tests.effort import busyness
from tests.end_to_end.steps import ask, in_time, until
from timeball.domain.time.instants import SECOND_MS

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.alone, pytest.mark.more]

JOBS, TOGETHER = 400, 50
AHEAD_SECONDS = 30
TRIES = 2
"""Leeway for a machine that other work keeps busy for seconds: the bound below is for an otherwise idle machine."""

WITHIN_MS = 1_500


def test_four_hundred_calls_of_one_instant_are_made_once_each_none_early_and_99_of_100_within_a_second_and_a_half(
    client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    most: float = WITHIN_MS
    for _ in range(TRIES):
        calls = called_at_one_instant(client, receiver)
        late = sorted(call.at - call.fire_at for call in calls)
        assert len({call.job_id for call in calls}) == len(calls) == JOBS
        assert late[0] >= 0
        median, most = statistics.median(late), late[len(late) * 99 // 100]
        figures = f"p50 {median / SECOND_MS:.2f} s, p99 {most / SECOND_MS:.2f} s, max {late[-1] / SECOND_MS:.2f} s"
        record_property(f"end to end, {JOBS} calls due at one instant", figures)
        most /= busyness()
        if most < WITHIN_MS:
            break
    assert most < WITHIN_MS


def called_at_one_instant(client: ApiClient, receiver: Receiver) -> list[ReceivedRequest]:
    """Submit jobs for one instant, wait until all targets are called, and return the calls."""

    def submit(due_at: str) -> set[str]:
        body = {"jobs": [{"handler": f"{receiver.url}/ok", "scheduleAt": due_at}] * TOGETHER}
        made = [ask(client, "POST", "/v1/jobs:batch", body) for _ in range(JOBS // TOGETHER)]
        return {item["job"]["jobId"] for answer in made for item in answer["items"]}

    jobs = in_time(AHEAD_SECONDS, submit)

    def calls() -> list[ReceivedRequest]:
        return [call for call in receiver.arrivals() if call.job_id in jobs]

    until(lambda: len(calls()) >= JOBS, AHEAD_SECONDS + 60, otherwise="not all were called")
    return calls()
