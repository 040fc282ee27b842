"""Jobs that name a calendar: what their ledger says about its dates, and about a calendar that changes."""

from dataclasses import replace

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls, ledger
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarUse
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.blackouts.calendars import CalendarOutcome, create_calendar, replace_calendar
from timeball.engine.changes.change import skip_next
from timeball.engine.changes.skip import Skipping

RAN, CALENDAR, MISFIRED = ("succeeded", None), ("skipped", "calendar"), ("skipped", "misfired")
BY_HAND = ("skipped", "skipped_manually")

ZONE = "Pacific/Marquesas"
"""In this zone a test that begins at 09:30 UTC begins at midnight, on the 21st."""
TODAY, YESTERDAY = "2026-11-21", "2026-11-20"


def calendar(*dates: str) -> Calendar:
    return Calendar(CalendarKey("acme", "closed"), ZONE, 0, 0, dates)


def begin(
    service: Service,
    timing: Timing | Schedule,
    *dates: str,
    catch_up: CatchUp = CatchUp(),  # noqa: B008 - a frozen value
    created_at: int | None = None,
) -> None:
    create_calendar(service.play.context(), calendar(*dates), at(0))
    wanted = replace(spec("job", timing), calendar=CalendarUse("closed"), catch_up=catch_up)
    service.play.store_jobs([wanted], created_at)


def change(service: Service, *dates: str) -> None:
    done = replace_calendar(service.play.context(), calendar(*dates), None, service.play.clock.now())
    assert done.outcome is CalendarOutcome.DONE


def test_each_fire_on_a_closed_date_has_its_row_and_is_not_called(service: Service) -> None:
    begin(service, Every(30, at(10)), TODAY)
    service.until(at(80))
    assert ledger(service.play) == {10: CALENDAR, 40: CALENDAR, 70: CALENDAR}
    assert calls(service) == []


def test_a_job_that_fires_each_second_has_ranges_no_longer_than_the_look_ahead(service: Service) -> None:
    begin(service, Every(1, at(2)), TODAY)
    service.until(at(20))
    rows = service.play.runs(KEY)
    assert sum(row.count for row in rows) == rows[-1].count + (rows[-1].id.fire_at - at(2)) // SECOND_MS
    assert max(row.count for row in rows) <= 6


def test_other_dates_skip_nothing(service: Service) -> None:
    begin(service, Every(30, at(10)), YESTERDAY)
    service.until(at(45))
    assert ledger(service.play) == {10: RAN, 40: RAN}


def test_a_change_of_the_calendar_applies_to_all_fires_that_have_not_started(service: Service) -> None:
    begin(service, Every(30, at(10)))
    service.until(at(36))  # the run of 40 s is sent already
    change(service, TODAY)
    service.until(at(75))
    change(service)
    service.until(at(105))
    assert ledger(service.play) == {10: RAN, 40: CALENDAR, 70: CALENDAR, 100: RAN}


def test_a_skipped_next_fire_leaves_closed_dates_before_it_to_the_calendar_of_that_time(service: Service) -> None:
    """The closed day ends at 100 s, and most of it is opened after the skip."""
    zone_day = DAY_MS - 100 * SECOND_MS
    service.play.clock.advance(zone_day)
    begin(service, Every(30, at(10) + zone_day), TODAY)
    skipped = [skip_next(service.play.context(), [Skipping(KEY)])[0].row for _ in range(2)]
    assert [row and row.id.fire_at - zone_day for row in skipped] == [at(100), at(130)]
    service.until(at(45) + zone_day)
    change(service)
    service.until(at(165) + zone_day)
    rows = {second - zone_day / SECOND_MS: row for second, row in ledger(service.play).items()}
    assert rows == {10: CALENDAR, 40: CALENDAR, 70: RAN, 100: BY_HAND, 130: BY_HAND, 160: RAN}


def test_missed_fires_on_closed_dates_do_not_replace_other_missed_fires(service: Service) -> None:
    """All of today is closed: the latest fire that may run is of yesterday, before midnight."""
    begin(service, Every(60, at(-90)), TODAY, catch_up=CatchUp(CatchUpPolicy.LATEST), created_at=at(-90))
    service.play.clock.advance(200 * SECOND_MS)
    service.until(at(205))
    assert ledger(service.play) == {-90: MISFIRED, -30: RAN, 30: CALENDAR}
    assert service.play.runs(KEY)[-1].count == 3


def test_a_fire_that_the_calendar_skips_does_not_count_as_a_run(service: Service) -> None:
    begin(service, Schedule(Every(30, at(10)), max_runs=1), TODAY)
    service.until(at(45))
    assert service.play.job(KEY).status is JobStatus.PENDING
    change(service)
    service.until(at(80))
    assert ledger(service.play) == {10: CALENDAR, 40: CALENDAR, 70: RAN}
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_one_off_on_a_closed_date_is_skipped_without_a_call(service: Service) -> None:
    begin(service, At(at(10)), TODAY)
    service.until(at(20))
    assert ledger(service.play) == {10: CALENDAR}
    assert service.play.job(KEY).status is JobStatus.SKIPPED


def test_a_deleted_calendar_skips_nothing(service: Service) -> None:
    service.play.store_jobs([replace(spec("job", Every(30, at(10))), calendar=CalendarUse("nowhere"))])
    service.until(at(20))
    assert ledger(service.play) == {10: RAN}


def test_a_skipped_one_off_has_ended_although_its_calendar_changes_at_once(service: Service) -> None:
    begin(service, At(at(10)), TODAY)
    service.until(at(6))
    change(service)
    service.until(at(60))
    assert ledger(service.play) == {10: CALENDAR}
    assert service.play.job(KEY).status is JobStatus.SKIPPED
