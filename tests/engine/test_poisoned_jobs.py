"""Jobs whose schedule can no longer be computed, as when a time zone is gone: they can be changed or cancelled."""

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls, reschedule
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.time.schedule import Cron, Every, Schedule
from timeball.engine.changes.change import ChangeOutcome, cancel
from timeball.ports.rows import Swap


def _poisoned(service: Service) -> None:
    play = service.play
    play.store_jobs([spec("job", Every(2, at(2)))])
    service.until(at(1))
    job = play.job(KEY)
    gone = with_spec(job, schedule=Schedule(Cron("* * * * *", "No/Where")))
    assert play.store.jobs.swap([Swap(job, gone)], play.clock.now())[0].done
    service.engine.is_executing = False


def test_a_job_whose_time_zone_has_gone_can_be_cancelled(service: Service) -> None:
    _poisoned(service)
    (changed,) = cancel(service.play.context(), [(KEY, None)])
    assert changed.outcome is ChangeOutcome.DONE
    job = service.play.job(KEY)
    assert (job.status, job.intent, job.due_at) == (JobStatus.CANCELLED, None, None)
    assert all(run.is_terminal for run in service.play.runs(KEY))


def test_a_job_whose_time_zone_has_gone_can_be_rescheduled(service: Service) -> None:
    _poisoned(service)
    changed = reschedule(service.play, Every(3, at(3)))
    assert changed.outcome is ChangeOutcome.DONE
    service.engine.is_executing = True
    service.until(at(13))
    assert [fire for fire, _ in calls(service)] == [3, 6, 9, 12]
