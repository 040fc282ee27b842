"""Tables of the rows that need a person's attention, with the kinds that they have."""

from dataclasses import replace

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.domain.time.spans import spans_of
from timeball.domain.usage.attention import (
    Attention,
    Concern,
    LateRuns,
    Obstacle,
    WaitsFor,
    counted_late,
    of_job,
    of_run,
    of_sound_job,
    p95_of,
    sound_since,
)

NOW = 1_800_000_000_000
KEY = JobKey("acme", "job")
MARGIN_MS = 5_000


def run(state: RunState, ago_ms: int = HOUR_MS, took_ms: int | None = None) -> Run:
    at = NOW - ago_ms
    row = Run(RunId(KEY, at, Origin.SCHEDULE), state, 1, "normal", 0, at, at, attempt=1, claimed_at=at)
    return replace(row, first_started_at=at, finished_at=None if took_ms is None else at + took_ms)


def job(seconds: int = 60, created_ms_ago: int = HOUR_MS) -> Job:
    at = NOW - created_ms_ago
    return Job(JobSpec(KEY, Schedule(Every(seconds, 0)), None), 0, at, at)


@pytest.mark.parametrize(
    ("took", "p95"),
    [
        ([], None),  # no run
        ([10] * 4, None),  # too few
        ([10, 20, 30, 40, 50], 50),  # the longest of five
        ([*range(1, 21)], 19),  # one of twenty may take longer
    ],
)
def test_p95(took: list[int], p95: int | None) -> None:
    assert p95_of([run(RunState.SUCCEEDED, took_ms=ms) for ms in took]) == p95


@pytest.mark.parametrize(
    ("ago_ms", "lease_ms", "p95_ms", "kind"),
    [
        (MINUTE_MS, 10_000, 12_000, None),  # for five times its p95, and not longer
        (MINUTE_MS, 10_000, 11_999, "stuck"),  # longer
        (MINUTE_MS, 10_000, None, None),  # nothing to compare with
        (MINUTE_MS, -MARGIN_MS, None, "stuck"),  # past its lease, also by other clocks
        (MINUTE_MS, -MARGIN_MS + 1, None, None),  # perhaps not by other clocks
    ],
)
def test_a_stuck_run(ago_ms: int, lease_ms: int, p95_ms: int | None, kind: str | None) -> None:
    row = replace(run(RunState.RUNNING, ago_ms), lease_until=NOW + lease_ms)
    found = of_run(row, NOW - (kind is None), p95_ms, MARGIN_MS)
    assert (found.kind if found else None) == kind


def test_a_blocked_run_is_not_late() -> None:
    by = RunId(JobKey("acme", "parent"), 1, Origin.SCHEDULE)
    row = replace(run(RunState.QUEUED), attempt=0, blocked=Blocked(by, ("parent",)))
    found = of_run(row, NOW, None, MARGIN_MS)
    assert found is not None
    assert found.kind == "blocked"
    assert found.waits_for is not None
    assert found.waits_for.ref == str(by)


FROZEN = replace(NOTHING, frozen=spans_of([(NOW - HOUR_MS, NOW + HOUR_MS)]))


@pytest.mark.parametrize(
    ("standing", "newest", "excluded", "kinds"),
    [
        (job(), [], NOTHING, ["silent"]),  # a minute's schedule, and no run in an hour
        (job(created_ms_ago=2 * MINUTE_MS), [], NOTHING, []),  # two fires so far
        (job(1, created_ms_ago=59 * SECOND_MS), [], NOTHING, []),  # less than a minute
        (job(1, created_ms_ago=60 * SECOND_MS), [], NOTHING, ["silent"]),  # a minute
        (job(86_400), [], NOTHING, []),  # its first fire lies ahead
        (job(), [run(RunState.SUCCEEDED, 2 * MINUTE_MS, 10)], NOTHING, []),  # lately
        (job(), [run(RunState.SUCCEEDED, 5 * MINUTE_MS, 10)], NOTHING, ["silent"]),  # not lately
        (job(), [run(RunState.FAILED, 2 * MINUTE_MS, 10)], NOTHING, ["failing", "silent"]),  # a failure is no success
        (job(), [run(RunState.SKIPPED, MINUTE_MS, 10)], NOTHING, ["silent"]),  # nor is a skip
        (job(), [], FROZEN, []),  # it must not run
        (replace(job(), status=JobStatus.PAUSED), [], NOTHING, []),  # its user wants it so
        (  # a failure that a success has followed
            job(),
            [run(RunState.SUCCEEDED, MINUTE_MS, 10), run(RunState.FAILED, 2 * MINUTE_MS, 10)],
            NOTHING,
            [],
        ),
    ],
)
def test_a_job(standing: Job, newest: list[Run], excluded: Blackouts, kinds: list[str]) -> None:
    assert [one.kind for one in of_job(standing, newest, excluded, NOW, has_more=False)] == kinds


def test_rows_that_were_not_read_may_have_succeeded() -> None:
    newest = [run(RunState.FAILED, MINUTE_MS, 10), run(RunState.FAILED, 2 * MINUTE_MS, 10)]
    assert [one.kind for one in of_job(job(), newest, NOTHING, NOW, has_more=True)] == ["failing"]


@pytest.mark.parametrize(
    ("kind", "obstacle", "counts"),
    [
        (Concern.LATE, None, LateRuns(1, 0, 0)),  # for Timeball
        (Concern.LATE, Obstacle.QUOTA, LateRuns(1, 0, 1)),  # which its operator has set
        (Concern.LATE, Obstacle.LIMIT, LateRuns(1, 1, 0)),  # which the tenant has set
        (Concern.LATE, Obstacle.OVERLAP, LateRuns(1, 1, 0)),
        (Concern.LATE, Obstacle.FREEZE, LateRuns(1, 1, 0)),
        (Concern.BLOCKED, Obstacle.PARENT, LateRuns(0, 0, 0)),  # until a person mends the parent
        (Concern.STUCK, None, LateRuns(0, 0, 0)),  # it has begun
    ],
)
def test_late_runs_are_counted_by_the_cause(kind: Concern, obstacle: Obstacle | None, counts: LateRuns) -> None:
    one = Attention(kind, NOW, KEY, None, None if obstacle is None else WaitsFor(obstacle))
    assert counted_late([one]) == counts
    assert counted_late([one, one]).late == 2 * counts.late


FINE = run(RunState.SUCCEEDED, 2 * MINUTE_MS, 10)
BAD = run(RunState.FAILED, MINUTE_MS, 10)


@pytest.mark.parametrize(
    ("newest", "has_more", "since"),
    [
        ([], False, 0),  # no run at all
        ([FINE], False, FINE.finished_at),
        ([run(RunState.SKIPPED, MINUTE_MS, 10), FINE], False, FINE.finished_at),  # a skip is no failure
        ([run(RunState.RUNNING, MINUTE_MS), FINE], True, FINE.finished_at),  # a live run has no outcome yet
        ([BAD, FINE], True, None),  # failing, whatever `notify` says
        ([run(RunState.SKIPPED, MINUTE_MS, 10)], True, NOW - MINUTE_MS),  # a run that was not read may have succeeded
    ],
)
def test_a_job_is_sound_unless_its_newest_runs_failed(newest: list[Run], has_more: bool, since: int | None) -> None:  # noqa: FBT001 - pytest gives it
    assert sound_since(newest, has_more=has_more) == since


@pytest.mark.parametrize(
    ("standing", "since", "kinds"),
    [
        (job(), NOW - 2 * MINUTE_MS, []),  # two fires since
        (job(), NOW - 4 * MINUTE_MS, None),  # silent if no run has succeeded since: its runs say
        (job(3600), 0, []),  # it has fired once since it was made
        (replace(job(), status=JobStatus.PAUSED), 0, []),
        (replace(job(3600), blocked=Blocked(RunId(KEY, NOW, Origin.SCHEDULE), ())), 0, ["blocked"]),  # as its row says
    ],
)
def test_the_runs_of_a_sound_job_are_read_if_it_may_be_silent(
    standing: Job, since: int, kinds: list[str] | None
) -> None:
    found = of_sound_job(standing, since, NOTHING, NOW)
    assert (None if found is None else [one.kind for one in found]) == kinds
