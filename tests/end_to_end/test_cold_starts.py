"""Executors that all start cold: jobs due after an idle time are still called at their instant."""

from collections.abc import Callable

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.effort import busyness
from tests.end_to_end.emulated import kill
from tests.end_to_end.steps import are_completed, calls_of, in_time, until
from timeball.dev.stage import Stage
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.alone]

SENT_AHEAD_SECONDS = 6
"""More than the look-ahead: no job is sent before the executors are ended."""

TRIES = 3
"""Leeway for a machine that other work keeps busy for seconds. The bounds below are for an otherwise idle machine."""


@pytest.mark.parametrize(("jobs", "within_ms"), [(1, 300), (50, 1_000)])
def test_jobs_are_called_in_time_although_no_executor_is_warm(
    stage: Stage,
    client: ApiClient,
    receiver: Receiver,
    record_property: Callable[[str, object], None],
    jobs: int,
    within_ms: int,
) -> None:
    latest_ms = within_ms
    for _ in range(TRIES):
        before = busyness()
        lateness_ms = called_after_all_executors_ended(stage, client, receiver, jobs)
        assert len(lateness_ms) == jobs
        assert min(lateness_ms) >= 0
        latest_ms = round(max(lateness_ms) / max(before, busyness()))
        figures = f"{sorted(lateness_ms)[jobs // 2]} ms late in the middle, {max(lateness_ms)} ms at the most"
        record_property(f"end to end, {jobs} due in one second, executors cold", figures)
        if latest_ms < within_ms:
            break
    assert latest_ms < within_ms


def called_after_all_executors_ended(stage: Stage, client: ApiClient, receiver: Receiver, jobs: int) -> list[int]:
    """Submit jobs for one second, end all executors, and return the lateness of each call (ms)."""

    def submit_and_end(before: str) -> list[dict[str, object]]:
        due_at = format_instant(parse_instant(before) + SENT_AHEAD_SECONDS * SECOND_MS)
        submitted = [client.create({"handler": f"{receiver.url}/ok", "scheduleAt": due_at}) for _ in range(jobs)]
        kill(stage, "execute-normal")
        return submitted

    submitted = in_time(3 + jobs // 10, submit_and_end)
    until(lambda: are_completed(client, *submitted))
    return [call.at - call.fire_at for job in submitted for call in calls_of(receiver, job)]
