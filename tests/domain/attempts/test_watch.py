"""The state of a run some time after it was sent: the whole table, and when its row is read again."""

from dataclasses import replace

import pytest

from timeball.domain.attempts.watch import FIRST_RECHECK_MS, Finding, find, pause_ms
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS, parse_instant

NOW = parse_instant("2026-11-21T09:30:00Z")
MARGIN_MS = 5 * SECOND_MS
HORIZON = NOW + 10 * SECOND_MS
RUN_ID = RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE)


def _run(state: RunState, ready_seconds: int = -3600, due_at: int | None = None) -> Run:
    return Run(RUN_ID, state, 1, "normal", 0, NOW + ready_seconds * SECOND_MS, NOW, due_at=due_at)


def _leased(seconds: int) -> Run:
    return replace(_run(RunState.RUNNING), attempt=1, lease_until=NOW + seconds * SECOND_MS)


CASES = {
    "its instant is to come": (_run(RunState.QUEUED, 3), Finding.ON_ITS_WAY),
    "its message may still come": (_run(RunState.QUEUED, -14), Finding.ON_ITS_WAY),
    "nobody came for it at the first look": (_run(RunState.QUEUED, -FIRST_RECHECK_MS // SECOND_MS), Finding.LOST),
    "nobody came for it, though the looker's clock is behind": (_run(RunState.QUEUED, -19), Finding.LOST),
    "it waits for a retry, and nobody will send it": (_run(RunState.RETRYING, -20), Finding.LOST),
    "it works": (_leased(25), Finding.ON_ITS_WAY),
    "its lease is out, and its message is about to come": (_leased(-10), Finding.ON_ITS_WAY),
    "its lease is out, and nobody took it over": (_leased(-20), Finding.LOST),
    "it succeeded": (_run(RunState.SUCCEEDED), Finding.OVER),
    "it failed": (_run(RunState.FAILED), Finding.OVER),
    "it was skipped": (_run(RunState.SKIPPED), Finding.OVER),
    "it was cancelled": (_run(RunState.CANCELLED), Finding.OVER),
    "a scan will repeat what its end entails": (_run(RunState.FAILED, due_at=NOW), Finding.KEPT),
    "a scan will send it": (_run(RunState.QUEUED, due_at=HORIZON + 1), Finding.KEPT),
    "a scan will send its retry": (_run(RunState.RETRYING, due_at=HORIZON + 1), Finding.KEPT),
    "a scan watches over its lease": (replace(_leased(-20), due_at=HORIZON + 1), Finding.KEPT),
    "a scan may have sent it, and not dropped its key yet": (_run(RunState.QUEUED, due_at=NOW), Finding.ON_ITS_WAY),
    "a scan may be at its retry": (_run(RunState.RETRYING, due_at=HORIZON), Finding.ON_ITS_WAY),
    "a resume decides about it": (_run(RunState.WITHDRAWN), Finding.KEPT),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_lost_only_if_no_executor_has_claimed_it_and_no_other_process_will_send_it(case: str) -> None:
    run, finding = CASES[case]
    assert find(run, NOW, HORIZON, MARGIN_MS) is finding


def test_each_delay_is_twice_the_one_before_and_none_exceeds_what_a_queue_can_delay() -> None:
    assert [pause_ms(look) // SECOND_MS for look in range(1, 10)] == [20, 40, 80, 160, 320, 640, 900, 900, 900]
