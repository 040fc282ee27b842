"""What must hold of a job's ledger once the dust has settled, whatever crashed or came twice before."""

from collections import Counter

from tests.engine.play import Play
from timeball.domain.backfill import BackfillStatus
from timeball.domain.job import Job, JobStatus
from timeball.domain.run import RunState
from timeball.domain.schedule import fires


def assert_each_instant_has_one_row(play: Play, job: Job, through_at: int) -> None:
    """Promises 2 and 6: each due instant is in the ledger once, as run or as skipped."""
    rows = play.runs(job.key)
    first_at = job.next_fire_at
    assert first_at is not None
    instants = list(fires(job.schedule, first_at, through_at))
    assert instants, "a check of no instants proves nothing"
    for fire_at in instants:
        covering = [row for row in rows if row.covers(fire_at)]
        assert len(covering) == 1, f"{fire_at - first_at} ms after the first fire: {covering}"
    assert sum(row.count for row in rows if row.id.fire_at <= through_at) >= len(instants)


def assert_nothing_is_both_run_and_skipped(play: Play, job: Job) -> None:
    """Promise 6: where a row says skipped or cancelled, no call was made for that instant after all."""
    skipped = [row for row in play.runs(job.key) if row.state is RunState.SKIPPED]
    for _, call in play.caller.calls:
        if call.run.job == job.key:
            assert not [row for row in skipped if row.covers(call.run.fire_at)], call.run


def assert_nothing_is_stuck(play: Play, job: Job) -> None:
    """Promise 6: with the queue drained, no row waits for somebody who does not come."""
    assert play.messages() == []
    assert [row for row in play.runs(job.key) if not row.is_terminal] == []
    assert [row for row in play.runs(job.key) if row.due_at is not None] == []
    assert play.job(job.key).intent is None
    for backfill in play.store.backfills_of(job.key):
        assert backfill.status is not BackfillStatus.RUNNING
        assert backfill.due_at is None


def assert_nobody_holds_the_guard(play: Play, job: Job) -> None:
    """With all runs over, the guard is free: for a cancelled job, which never runs again, it does not matter."""
    row = play.job(job.key)
    if row.status is not JobStatus.CANCELLED:
        assert (row.holder, row.parked) == (None, None)


def assert_attempts_rise(play: Play, job: Job) -> None:
    """Promises 3 and 4: a run is called again only by a newer attempt; what no call is known of was lost."""
    calls = [call for _, call in play.caller.calls if call.run.job == job.key]
    for run_id in {call.run for call in calls}:
        numbers = [call.attempt for call in calls if call.run == run_id]
        assert numbers == sorted(set(numbers)), run_id
    for row in play.runs(job.key):
        if row.state is RunState.SUCCEEDED:
            assert row.attempt in [call.attempt for call in calls if call.run == row.id]


def assert_nothing_was_early(play: Play) -> None:
    """Promise 5: no call left before its fire time."""
    assert [call for called_at, call in play.caller.calls if called_at < call.run.fire_at] == []


def assert_each_run_was_called_once(play: Play, job: Job) -> None:
    """Promise 2: without crashes of executors, a run that ran was called once."""
    calls = Counter(call.run for _, call in play.caller.calls if call.run.job == job.key)
    succeeded = {row.id for row in play.runs(job.key) if row.state is RunState.SUCCEEDED}
    assert calls == Counter(succeeded)
