"""Priorities while executors are overloaded: high waits least, and low makes progress."""

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
BATCHES, EACH = 5, 90
"""Together more than one tenant's capacity of any priority, which fills half of the executors: 400, 250 and 100."""
HOLDS_SECONDS = 20
"""How long a call takes up capacity. It costs almost no processor time, which all calls would share."""


def test_while_executors_are_overloaded_high_waits_least_and_low_makes_progress(
    client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    def submit(due_at: str) -> dict[str, str]:
        priorities: dict[str, str] = {}
        for priority in PRIORITIES:
            job = {"handler": f"{receiver.url}/slow/{HOLDS_SECONDS}", "scheduleAt": due_at, "priority": priority}
            for _ in range(BATCHES):
                made = ask(client, "POST", "/v1/jobs:batch", {"jobs": [job] * EACH})
                priorities |= {item["job"]["jobId"]: priority for item in made["items"]}
        return priorities

    priorities = in_time(30, submit)
    until(lambda: len({one.job_id for one in receiver.arrivals()} & priorities.keys()) == len(priorities), 240)
    waits: dict[str, list[float]] = defaultdict(list)
    for one in receiver.arrivals():
        if one.job_id in priorities and one.attempt == 1:
            waits[priorities[one.job_id]].append((one.at - one.fire_at) / SECOND_MS)
    waited = {priority: mean(waits[priority]) for priority in PRIORITIES}
    figures = ", ".join(f"{priority} {seconds:.1f}" for priority, seconds in waited.items())
    name = f"end to end, {BATCHES * EACH} of each priority at once, {HOLDS_SECONDS} s each: mean wait in s"
    record_property(name, figures)
    assert waited["high"] < waited["normal"] < waited["low"]
    started_meanwhile = {one: sum(wait <= max(waits["high"]) for wait in waits[one]) for one in PRIORITIES}
    assert started_meanwhile["low"] >= 0.05 * sum(started_meanwhile.values())
