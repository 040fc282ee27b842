"""Priorities, while executors have more to do than they can: high waits least, and low goes on."""

from collections import defaultdict
from collections.abc import Callable
from statistics import mean

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, in_time, until
from timeball.domain.time.instants import SECOND_MS

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.alone, pytest.mark.more]

PRIORITIES = ("high", "normal", "low")
EACH = 90
"""More than the places of any priority: the local stage has 80, 50 and 20."""
TAKES_SECONDS = 8


def test_while_executors_contend_high_waits_least_and_low_goes_on(
    client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    def submit(due_at: str) -> dict[str, str]:
        priorities: dict[str, str] = {}
        for priority in PRIORITIES:
            job = {"handler": f"{receiver.url}/slow/{TAKES_SECONDS}", "scheduleAt": due_at, "priority": priority}
            made = ask(client, "POST", "/v1/jobs:batch", {"jobs": [job] * EACH})
            priorities |= {item["job"]["jobId"]: priority for item in made["items"]}
        return priorities

    priorities = in_time(20, submit)
    until(lambda: len({one.job_id for one in receiver.arrivals()} & priorities.keys()) == 3 * EACH, 120)
    waits: dict[str, list[float]] = defaultdict(list)
    for one in receiver.arrivals():
        if one.job_id in priorities and one.attempt == 1:
            waits[priorities[one.job_id]].append((one.at - one.fire_at) / SECOND_MS)
    waited = {priority: mean(waits[priority]) for priority in PRIORITIES}
    figures = ", ".join(f"{priority} {seconds:.1f}" for priority, seconds in waited.items())
    record_property(f"end to end, {EACH} of each priority at once, {TAKES_SECONDS} s each: mean wait in s", figures)
    assert waited["high"] < waited["normal"] < waited["low"]
    high_is_done_at = max(waits["high"])
    assert sum(wait <= high_is_done_at for wait in waits["low"]) >= 0.05 * 3 * EACH
