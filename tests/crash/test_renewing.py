"""A PUT of an ended job is stopped anywhere: its repeat finishes it, and no run of the last generation begins."""

import pytest

from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Timing
from timeball.engine.changes.change import ChangeOutcome, cancel, renew
from timeball.engine.runs.trigger import Trigger, trigger

CASES: dict[str, Timing] = {
    "a one-off": At(NOW + 3 * SECOND_MS),
    "a recurring job": Every(60, NOW + 3 * SECOND_MS),
}


def _put(play: Play, timing: Timing) -> None:
    """Put an ended job again, as a client does that repeats its request."""
    (job,) = play.context().store.jobs.read([KEY], with_work=True)
    if job is not None and not job.is_open:
        (done,) = renew(play.context(), [(job, spec(KEY.job_id, timing))], play.context().clock.now())
        assert done.outcome is ChangeOutcome.DONE


@pytest.mark.on_moto("a one-off")
@pytest.mark.parametrize("case", CASES)
def test_a_stopped_put_is_finished_and_each_generation_has_its_own_rows(stage: Stage, case: str) -> None:
    timing = CASES[case]
    play = stage.play(NOW)
    play.store_jobs([spec(KEY.job_id, timing)])
    play.scan_all()  # its first run is sent
    trigger(play.context(), [Trigger(KEY)])  # and so is another
    cancel(play.context(), [(KEY, None)])
    before = {run.id: run.state for run in play.runs(KEY)}
    for left in stage.crashes(play, lambda play: _put(play, timing), 6):
        if left.job(KEY).generation == 2:
            left.clock.advance(stage.later_ms)
        _put(left, timing)
        left.scan_all()
        left.run_on(KEY, 2 * MINUTE_MS + stage.later_ms)
        job = left.job(KEY)
        assert (job.generation, job.intent) == (2, None)
        assert job.status is (JobStatus.COMPLETED if case == "a one-off" else JobStatus.PENDING)
        rows = {run.id: run for run in left.runs(KEY)}
        assert {name: rows[name].state for name in before} == before
        assert {call.run.generation for _, call in left.caller.calls} == {2}
        fires = [run.id.fire_at for run in rows.values() if run.id.generation == 2]
        assert len(fires) == len(set(fires)) > 0
        assert {run.state for run in rows.values() if run.first_started_at} <= {RunState.SUCCEEDED}
