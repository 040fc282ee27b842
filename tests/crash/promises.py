"""What must hold of a job's ledger once the dust has settled, whatever crashed or came twice before."""

from collections import Counter

from tests.engine.play import Play
from timeball.domain.job import Job
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
    assert play.queue.waiting("normal") == []
    assert [row for row in play.runs(job.key) if not row.is_terminal] == []


def assert_each_run_was_called_once(play: Play, job: Job) -> None:
    """Promise 2: without crashes of executors, a run that ran was called once."""
    calls = Counter(call.run for _, call in play.caller.calls if call.run.job == job.key)
    succeeded = {row.id for row in play.runs(job.key) if row.state is RunState.SUCCEEDED}
    assert calls == Counter(succeeded)
