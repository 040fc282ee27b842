"""A run is late if it has not reached a state in time, unless a pause, a freeze or a calendar delayed it."""

from dataclasses import replace

import pytest

from tests.engine.notices.desk import LATE, Targets, a_spec, begin, names, notices, told
from tests.engine.service import KEY, Service, at
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import frozen
from timeball.domain.model.terms.notify import Notify
from timeball.domain.planning.ledger import queued_run
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.freezes import create_freeze
from timeball.engine.changes.change import cancel, pause, resume
from timeball.ports.rows import Swap


def test_a_run_that_has_not_started_in_time_is_late_even_if_nothing_starts(service: Service) -> None:
    begin(service, Notify(on_late=LATE, late_after_seconds=20))
    service.until(at(50))
    service.engine.is_executing = False
    service.until(at(85))
    service.engine.is_executing = True
    service.until(at(88))
    assert [(name, what["reason"], what["runId"]) for name, what in told(service)] == [
        ("late", "not_started", f"job.{at(60)}.s")
    ]


def test_a_run_that_has_not_succeeded_by_its_deadline_is_late(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200]
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    service.until(at(60 + 29))
    assert names(service) == []
    service.until(at(60 + 32))
    assert [(what["reason"], what["at"]) for _, what in told(service)] == [
        ("not_succeeded", "2026-11-21T09:31:30.250Z")
    ]
    service.until(at(175))
    assert names(service) == ["late"]  # the second one has succeeded


def test_a_needless_notice_is_skipped(service: Service, targets: Targets) -> None:
    targets.of_jobs = [200]
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    service.until(at(100))
    (notice,) = notices(service)
    (row,) = service.play.runs(notice.key)
    assert (notice.status, notice.due_at) == (JobStatus.SKIPPED, None)
    assert (row.state, row.reason) == (RunState.SKIPPED, Reason.IN_TIME)


def test_a_notice_that_was_begun_is_sent_although_its_run_was_frozen_since(service: Service) -> None:
    """A scan found the run late, wrote the notice's row and died. The next scan finds the row, and sends it."""
    begin(service, Notify(on_late=LATE, late_after_seconds=20))
    service.until(at(50))
    service.engine.is_executing = False
    service.until(at(79))
    (notice,) = notices(service)
    context = service.play.context()
    late = queued_run(notice, Origin.SCHEDULE, notice.next_fire_at or 0, at(81))
    context.store.runs.insert([late], at(81))
    (run,) = service.play.runs(KEY)
    context.store.runs.swap([Swap(run, frozen(run, at(3600)))], at(81))
    service.until(at(90))
    service.engine.is_executing = True
    service.until(at(95))
    assert [what["runId"] for name, what in told(service) if name == "late"] == [str(run.id)]


def test_fires_that_were_missed_for_lack_of_scans_are_late(service: Service) -> None:
    begin(service, Notify(on_late=LATE, late_after_seconds=20))
    service.until(at(50))
    service.engine.is_scanning = False
    service.until(at(20 * 60 + 30))
    service.engine.is_scanning = True
    service.until(at(20 * 60 + 50))
    ranges = [run.id for run in service.play.runs(KEY) if run.last_fire_at is not None]
    assert len(ranges) == 1
    late = {what["runId"] for _, what in told(service)}
    assert late == {str(ranges[0]), f"job.{at(19 * 60)}.s", f"job.{at(20 * 60)}.s"}


def test_a_cancelled_run_is_not_late(service: Service, targets: Targets) -> None:
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    targets.takes = lambda _: 600 * SECOND_MS
    service.until(at(70))
    cancel(service.play.context(), [(KEY, None)])
    service.until(at(120))
    assert names(service) == []


def test_a_run_whose_start_a_pause_delayed_is_not_late(service: Service) -> None:
    begin(service, Notify(on_late=LATE, late_after_seconds=5))
    service.until(at(30))
    pause(service.play.context(), [(KEY, None)])
    service.until(at(11 * 60 + 30))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(12 * 60 + 30))
    assert names(service) == []
    begun_late = [
        run for run in service.play.runs(KEY) if (run.first_started_at or 0) > run.regular_at + 20 * SECOND_MS
    ]
    assert [run.lateness_ms for run in begun_late] == [None], "it was caught up"


@pytest.mark.parametrize("late", [Notify(on_late=LATE, late_after_seconds=5), Notify(on_late=LATE, deadline_seconds=5)])
@pytest.mark.parametrize("begins_at", [30, 59])
def test_a_run_whose_start_a_freeze_delayed_is_not_late(service: Service, late: Notify, begins_at: int) -> None:
    begin(service, late)
    freeze = Freeze("f", at(begins_at), at(11 * 60 + 30), FreezeMatch(job_ids=("job",)), service.play.clock.now())
    create_freeze(service.play.context(), "acme", freeze)
    service.until(at(12 * 60 + 30))
    assert names(service) == []
    begun_late = [
        run for run in service.play.runs(KEY) if (run.first_started_at or 0) > run.regular_at + 20 * SECOND_MS
    ]
    assert [run.lateness_ms for run in begun_late] == [None], "it was caught up"


def test_a_run_that_its_calendar_moves_is_late_only_after_its_moved_start(service: Service) -> None:
    calendar = Calendar(CalendarKey("acme", "closed"), "Etc/UTC", 0, 0, ("2026-11-21",))
    replace_calendar(service.play.context(), calendar, None, service.play.clock.now())
    service.play.clock.advance(3 * SECOND_MS)
    daily = replace(
        a_spec(), schedule=Schedule(Every(2 * 86_400, at(60))), calendar=CalendarUse("closed", CalendarPolicy.NEXT)
    )
    service.play.store_jobs([replace(daily, notify=Notify(on_late=LATE, late_after_seconds=20))])
    service.until(at(86_400 - 60))
    assert names(service) == []
    service.engine.is_executing = False
    service.until(at(86_400 + 120))
    service.engine.is_executing = True
    service.until(at(86_400 + 150))
    assert [what["runId"] for _, what in told(service)][:1] == [f"job.{at(60)}.s"]


@pytest.mark.parametrize("resumed_at", [80, 86, 91])
def test_a_notice_is_not_sent_before_its_time_although_it_was_paused_meanwhile(
    service: Service, targets: Targets, resumed_at: int
) -> None:
    targets.takes = lambda _: 28 * SECOND_MS
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    service.until(at(80))
    (notice,) = notices(service)
    pause(service.play.context(), [(notice.key, None)])
    service.until(at(resumed_at))
    resume(service.play.context(), [(notice.key, None)])
    service.until(at(110))
    assert (names(service), service.play.job(notice.key).status) == ([], JobStatus.SKIPPED)
