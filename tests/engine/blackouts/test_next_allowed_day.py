"""Jobs whose calendar moves their fires, played over days: when they start, and what their row says meanwhile."""

from dataclasses import replace

import pytest

from tests.engine.blackouts.days import (
    BERLIN,
    CALENDAR,
    MONDAYS,
    NEXT,
    RAN,
    at,
    begin,
    calls,
    ledger,
    waiting,
)
from tests.engine.play import spec
from tests.engine.service import KEY, Service
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import DAY_MS, SECOND_MS, format_instant, parse_instant
from timeball.domain.time.schedule import At, Cron, Schedule
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.read import outlooks

# Columns: the closed dates, then the calls as fire time and start. The 30th, and the 7th of December, are Mondays too.
MOVED: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "to the next day": (["23"], [("23 08:00", "24 08:00"), ("30 08:00", "30 08:00")]),
    "behind all days that are closed": (["23", "24", "25"], [("23 08:00", "26 08:00"), ("30 08:00", "30 08:00")]),
    "not onto the next fire: that stands for both": ([str(day) for day in range(23, 30)], [("30 08:00", "30 08:00")]),
    "the last of two that are closed": (
        [*(str(day) for day in range(23, 31)), "12-01"],
        [("30 08:00", "12-02 08:00")],
    ),
    "not at all": (["22"], [("23 08:00", "23 08:00"), ("30 08:00", "30 08:00")]),
}


@pytest.mark.parametrize("case", MOVED)
def test_a_fire_starts_on_the_next_allowed_day(service: Service, case: str) -> None:
    dates, expected = MOVED[case]
    begin(service, *dates)
    service.until(at("12-03 00:00"))
    assert calls(service) == expected
    started = {fire for fire, _ in expected}
    assert {fire for fire, told in ledger(service.play).items() if told == CALENDAR} == {
        "23 08:00",
        "30 08:00",
    } - started
    assert service.play.job(KEY).runs_planned == len(expected)
    assert all(run.lateness_ms is None or run.lateness_ms < SECOND_MS for run in service.play.runs(KEY))


def test_the_row_of_a_moved_fire_shows_its_start_and_the_job_goes_on(service: Service) -> None:
    begin(service, "23")
    service.until(at("23 20:00"))
    assert ledger(service.play) == {"23 08:00": "queued, moved to 24 08:00"}
    assert waiting(service).not_before == at("24 08:00")
    job = service.play.job(KEY)
    assert (job.next_fire_at, job.paced_until) == (at("30 08:00"), 0)
    assert service.play.messages() == [], "no message is sent again and again for a day"
    (outlook,) = outlooks(service.play.context(), [job], at("23 20:00")).values()
    assert outlook.moved is not None
    service.until(at("24 08:01"))
    assert ledger(service.play) == {"23 08:00": f"{RAN}, moved to 24 08:00"}
    assert outlooks(service.play.context(), [service.play.job(KEY)], at("24 09:00"))[KEY].moved is None


def test_a_daily_jobs_next_open_fire_stands_for_the_closed_ones_before_it(service: Service) -> None:
    begin(service, "23", "24", timing=Cron("0 9 * * *", BERLIN))
    service.until(at("26 00:00"))
    assert ledger(service.play) == {
        "22 08:00": RAN, "23 08:00": CALENDAR, "24 08:00": CALENDAR, "25 08:00": RAN
    }  # fmt: skip


@pytest.mark.parametrize(("days", "expected"), [(31, f"{RAN}, moved to 12-24 08:00"), (32, CALENDAR)])
def test_a_fire_moves_by_at_most_31_days(service: Service, days: int, expected: str) -> None:
    closed = [format_instant(at("23 12:00") + number * DAY_MS)[5:10] for number in range(days)]
    begin(service, *closed, timing=Cron("0 9 23 11 *", BERLIN))
    service.until(at("12-28 00:00"))
    assert ledger(service.play)["23 08:00"] == expected


def test_a_moved_one_off_ends_with_its_run(service: Service) -> None:
    """The calendar's zone applies, because the one-off has none."""
    begin(service, "22", "23", timing=At(at("22 06:30")))
    service.until(at("23 12:00"))
    assert service.play.job(KEY).status is JobStatus.PENDING
    assert waiting(service).not_before == at("24 06:30")
    service.until(at("24 07:00"))
    assert calls(service) == [("22 06:30", "24 06:30")]
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_the_moved_last_run_completes_its_job_after_its_start(service: Service) -> None:
    begin(service, "23", "24", timing=Schedule(MONDAYS, max_runs=1))
    service.until(at("25 07:00"))
    assert service.play.job(KEY).status is JobStatus.PENDING
    service.until(at("25 09:30"))
    assert calls(service) == [("23 08:00", "25 08:00")]
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_moved_fire_keeps_its_time_of_day_in_its_own_zone_across_a_clock_change(service: Service) -> None:
    service.play.clock.advance(parse_instant("2027-03-20T00:00:00Z") - service.play.clock.now())
    days = tuple(f"2027-03-{day}" for day in range(27, 29))
    wanted = Calendar(CalendarKey("acme", "closed"), "America/New_York", 0, 0, days)
    replace_calendar(service.play.context(), wanted, None, 0)
    service.play.store_jobs([replace(spec("job", Cron("0 9 * * 6", BERLIN)), calendar=NEXT)])
    service.until(parse_instant("2027-03-30T00:00:00Z"))
    (run, *_) = [run for run in service.play.runs(KEY) if run.moved_to is not None]
    assert format_instant(run.moved_to or 0) == "2027-03-29T07:00:00.000Z", "it is nine in Berlin, in summer time"
