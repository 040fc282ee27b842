"""Two processes skip the same fires at the same time: the fires and their cost are counted once."""

from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.planning.ledger import queued_run
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import Every
from timeball.domain.usage.bill import Counted
from timeball.engine.changes.change import cancel
from timeball.engine.metrics import Metric
from timeball.engine.stats import job_costs, tenant_costs
from timeball.engine.tally import FLUSH_MS
from timeball.testing.faults import Points


def _is_cancelled(play: Play) -> None:
    cancel(play.context(), [(KEY, None)])


def _overdue(stage: Stage) -> Play:
    """Return a play with a job that fires each minute and was not scanned for twenty minutes; two of its fires ran."""
    play = stage.play(NOW - 20 * MINUTE_MS)
    (job,) = play.store_jobs([spec("job", Every(60, NOW - 20 * MINUTE_MS))])
    play.clock.advance(20 * MINUTE_MS)
    ran = [queued_run(job, Origin.SCHEDULE, NOW - minutes * MINUTE_MS, NOW) for minutes in (14, 7)]
    over = [evolve(run, state=RunState.SUCCEEDED, attempt=1, finished_at=run.id.fire_at) for run in ran]
    assert play.store.runs.insert(over, NOW) == [None, None]
    return play


def _next(stage: Stage) -> Play:
    """Return a play with a job whose next fire is in the future: a cancel of it writes only its closing row."""
    play = stage.play(NOW)
    play.store_jobs([spec("job", Every(10, NOW + 3_000))])
    return play


def test_fires_that_a_cancel_and_a_scan_skip_are_counted_once(stage: Stage) -> None:
    """The scan does all of its work at one moment of the cancel: before or after one of its writes."""
    for begin in (_overdue, _next):
        before = stage.picture(begin(stage))
        (moments := Points()).reach()
        cancel(stage.as_in(before).context(moments), [(KEY, None)])
        for moment in range(moments.reached):
            left = stage.as_in(before)
            points = Points(moment, left.scan_all)
            points.reach()
            cancel(left.context(points), [(KEY, None)])
            _is_cancelled(left)
            assert left.job(KEY).status is JobStatus.CANCELLED
            _assert_all_is_counted_once(left, f"{begin.__name__}, moment {moment}")


def _assert_all_is_counted_once(play: Play, when: str) -> None:
    rows = [run for run in play.runs(KEY) if run.state is RunState.SKIPPED]
    told = sum(count for (name, _), count in play.telemetry.counts.items() if name == Metric.FIRES_SKIPPED)
    assert told == sum(row.count for row in rows), when
    play.clock.advance(FLUSH_MS)
    play.tally.flush(play.store.usage)
    now = play.clock.now()
    of_job, _ = job_costs(play.context(), play.job(KEY), now)
    of_tenant, _ = tenant_costs(play.context(), "acme", now)
    units = [costs.counts.get(Counted.WRITE_UNITS, 0) for costs in (of_tenant, of_job)]
    assert units[0] == units[1], when


def test_each_of_several_ranges_that_a_cancel_writes_is_counted_with_its_cost(stage: Stage) -> None:
    play = _overdue(stage)
    _is_cancelled(play)
    ranges = [run for run in play.runs(KEY) if run.reason is Reason.JOB_CANCELLED]
    assert len(ranges) >= 3
    _assert_all_is_counted_once(play, "a cancel alone")
