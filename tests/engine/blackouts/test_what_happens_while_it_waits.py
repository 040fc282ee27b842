"""A run that its calendar has moved, and events before its start: changes, pauses, outages, freezes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.blackouts.days import (
    BERLIN,
    BY_HAND,
    CALENDAR,
    MISFIRED,
    MONDAYS,
    NEXT,
    RAN,
    SUPERSEDED,
    at,
    begin,
    calls,
    close,
    ledger,
    patch,
    waiting,
)
from tests.engine.play import spec
from tests.engine.service import KEY, Service
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.calendar import CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy, RetryPolicy
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Cron, Schedule
from timeball.engine.blackouts.freezes import create_freeze, lift_freeze
from timeball.engine.changes.change import cancel, pause, resume, skip_next
from timeball.engine.changes.skip import Skipping
from timeball.engine.runs.manual import cancel_runs
from timeball.engine.runs.trigger import Trigger, trigger

# How a change of the calendar affects the fire of the 23rd, which was planned for the 24th: when, and its end.
CHANGES: dict[str, tuple[str, list[str], str]] = {
    "another day is closed too": ("23 12:00", ["23", "24"], f"{RAN}, moved to 25 08:00"),
    "it is opened: what was moved keeps its start": ("23 12:00", [], f"{RAN}, moved to 24 08:00"),
    "all days before the next fire are closed": (
        "23 12:00", [str(day) for day in range(23, 30)], f"{CALENDAR}, moved to 24 08:00"
    ),
    "before it is planned": ("23 07:59", [], RAN),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_a_moved_run_follows_the_calendar_at_the_time_of_its_start(service: Service, case: str) -> None:
    changed_at, dates, expected = CHANGES[case]
    begin(service, "23")
    service.until(at(changed_at))
    close(service, *dates)
    service.until(at("29 12:00"))
    assert ledger(service.play) == {"23 08:00": expected}
    service.until(at("30 08:30"))
    assert ledger(service.play)["30 08:00"] == RAN


def test_the_claim_of_a_sent_run_moves_it_and_removes_its_message(service: Service) -> None:
    begin(service)
    service.until(at("23 08:00") - 4 * SECOND_MS)
    assert ledger(service.play) == {"23 08:00": "queued"}
    close(service, "23")
    service.until(at("23 09:00"))
    assert waiting(service).moved_to == at("24 08:00")
    assert service.play.messages() == []
    service.until(at("24 08:01"))
    assert calls(service) == [("23 08:00", "24 08:00")]


def _pause(service: Service) -> None:
    pause(service.play.context(), [(KEY, None)])


def _resume(service: Service) -> None:
    resume(service.play.context(), [(KEY, None)])


HOURLY = CatchUp(CatchUpPolicy.LATEST, max_age_seconds=3600)


@pytest.mark.parametrize(
    ("paused_at", "resumed_at", "catch_up", "expected"),
    [
        ("23 12:00", "23 13:00", HOURLY, [("23 08:00", "24 08:00")]),
        ("22 12:00", "23 13:00", HOURLY, [("23 08:00", "24 08:00")]),
        ("23 12:00", "24 08:30", HOURLY, [("23 08:00", "24 08:30")]),
        ("22 12:00", "24 08:30", HOURLY, [("23 08:00", "24 08:30")]),
        ("23 12:00", "24 09:30", HOURLY, []),
        ("23 12:00", "24 08:30", CatchUp(CatchUpPolicy.SKIP), []),
        ("23 12:00", "29 00:00", CatchUp(CatchUpPolicy.ALL, 5, 10 * 86_400), [("23 08:00", "29 00:00")]),
    ],
)
def test_a_pause_over_the_moved_start_makes_a_run_late(
    service: Service, paused_at: str, resumed_at: str, catch_up: CatchUp, expected: list[tuple[str, str]]
) -> None:
    begin(service, "23", catch_up=catch_up)
    service.until(at(paused_at))
    _pause(service)
    service.until(at(resumed_at))
    assert calls(service) == []
    _resume(service)
    service.until(at("29 12:00"))
    assert calls(service) == expected
    if not expected:
        assert ledger(service.play)["23 08:00"].startswith(MISFIRED)
    service.until(at("30 08:30"))
    assert calls(service)[len(expected) :] == [("30 08:00", "30 08:00")]


@pytest.mark.parametrize("out", ["is_scanning", "is_executing"])
@pytest.mark.parametrize(("until", "expected"), [("24 08:30", "24 08:30"), ("24 09:30", None)])
def test_an_outage_over_the_moved_start_is_caught_up_like_any_other(
    service: Service, out: str, until: str, expected: str | None
) -> None:
    begin(service, "23", catch_up=HOURLY)
    service.until(at("23 12:00"))
    setattr(service.engine, out, False)
    service.until(at(until))
    setattr(service.engine, out, True)
    service.until(at("25 00:00"))
    assert calls(service) == ([] if expected is None else [("23 08:00", expected)])


def test_an_outage_over_the_fire_time_alone_does_not_make_a_moved_run_late(service: Service) -> None:
    begin(service, "23", catch_up=CatchUp(CatchUpPolicy.SKIP))
    service.engine.is_scanning = False
    service.until(at("24 07:00"))
    service.engine.is_scanning = True
    service.until(at("24 08:30"))
    assert calls(service) == [("23 08:00", "24 08:00")]


def test_a_freeze_over_the_moved_start_defers_the_run(service: Service) -> None:
    begin(service, "23")
    context = service.play.context()
    service.until(at("23 12:00"))
    freeze = Freeze("f", at("24 07:00"), None, FreezeMatch(everything=True), at("23 12:00"))
    create_freeze(context, "acme", freeze)
    service.until(at("24 08:30"))
    assert ledger(service.play) == {"23 08:00": "queued: frozen, moved to 24 08:00"}
    lift_freeze(context, "acme", "f")
    service.until(at("24 09:00"))
    assert calls(service) == [("23 08:00", "24 08:30")]


def test_a_cancel_ends_a_moved_run_however_old_its_fire_is(service: Service) -> None:
    begin(service, *(str(day) for day in range(23, 29)))
    service.until(at("28 12:00"))
    assert waiting(service).not_before == at("29 08:00")
    cancel(service.play.context(), [(KEY, None)])
    assert ledger(service.play) == {"23 08:00": "cancelled: job_cancelled, moved to 29 08:00"}
    service.until(at("29 09:00"))
    assert calls(service) == []


# How a change of the job, five days after the fire, affects its run.
PATCHES: dict[str, tuple[Callable[[Service], None], str]] = {
    "the calendar skips": (lambda service: patch(service, calendar=CalendarUse("closed")), CALENDAR),
    "no calendar": (lambda service: patch(service, calendar=None), RAN),
    "something else": (lambda service: patch(service, tags={"a": "b"}), RAN),
    "another schedule": (lambda service: patch(service, schedule=Schedule(Cron("0 9 * * 2", BERLIN))), SUPERSEDED),
    "a schedule that has its fire too": (lambda service: patch(service, schedule=Schedule(MONDAYS, max_runs=9)), RAN),
    "one that fires again before its start": (
        lambda service: patch(service, schedule=Schedule(Cron("0 * * * *", BERLIN))), CALENDAR
    ),
}  # fmt: skip


@pytest.mark.parametrize("later", ["nothing", "a pause and a resume"])
@pytest.mark.parametrize("case", PATCHES)
def test_a_change_of_the_job_while_its_run_waits_for_the_moved_start(service: Service, case: str, later: str) -> None:
    """A later pause, and a resume before the start, find the run even if the job has changed."""
    change, expected = PATCHES[case]
    begin(service, *(str(day) for day in range(23, 29)))
    service.until(at("28 12:00"))
    change(service)
    service.until(at("29 06:30"))
    if later != "nothing":
        _pause(service)
        assert waiting_states(service) <= {RunState.WITHDRAWN, RunState.SKIPPED}
        service.until(at("29 07:30"))
        _resume(service)
    service.until(at("29 12:00"))
    assert ledger(service.play)["23 08:00"] == f"{expected}, moved to 29 08:00"
    assert [moment for fire, moment in calls(service) if fire == "23 08:00"] == ["29 08:00"] * (expected == RAN)


def waiting_states(service: Service) -> set[RunState]:
    return {run.state for run in service.play.runs(KEY) if run.id.fire_at == at("23 08:00")}


def test_catch_up_under_another_schedule_does_not_wait_for_a_moved_start(service: Service) -> None:
    begin(service, *(str(day) for day in range(23, 28)))
    service.until(at("23 12:00"))
    patch(service, schedule=Schedule(Cron("* * * * *", BERLIN)), calendar=None)
    service.engine.is_scanning = False
    service.until(at("23 12:30"))
    service.engine.is_scanning = True
    service.until(at("23 12:31"))
    assert ("23 12:28", "23 12:30") in calls(service)


def test_skipping_the_next_fire_skips_the_moved_run(service: Service) -> None:
    begin(service, "23", "24")
    service.until(at("24 12:00"))
    (skipped,) = skip_next(service.play.context(), [Skipping(KEY)])
    assert skipped.row is not None
    assert (skipped.row.id.fire_at, skipped.row.reason) == (at("23 08:00"), Reason.SKIPPED_MANUALLY)
    (another,) = skip_next(service.play.context(), [Skipping(KEY)])
    assert another.row is not None
    assert another.row.id.fire_at == at("30 08:00")
    service.until(at("30 09:00"))
    assert calls(service) == []


def test_a_one_off_whose_moved_run_is_skipped_has_ended(service: Service) -> None:
    begin(service, "22", timing=At(at("22 06:30")))
    service.until(at("22 12:00"))
    (skipped,) = skip_next(service.play.context(), [Skipping(KEY)])
    assert skipped.row is not None
    assert skipped.row.reason is Reason.SKIPPED_MANUALLY
    service.until(at("23 12:00"))
    assert calls(service) == []
    assert service.play.job(KEY).status is JobStatus.SKIPPED


def test_a_moved_run_that_is_cancelled_does_not_start(service: Service) -> None:
    begin(service, "23")
    service.until(at("23 12:00"))
    cancel_runs(service.play.context(), [waiting(service).id])
    service.until(at("25 12:00"))
    assert calls(service) == []
    assert service.play.runs(KEY)[0].due_at is None


def test_a_fire_that_would_be_moved_may_be_skipped_before(service: Service) -> None:
    begin(service, "23")
    (skipped,) = skip_next(service.play.context(), [Skipping(KEY)])
    assert skipped.row is not None
    assert (skipped.row.id.fire_at, skipped.row.reason) == (at("23 08:00"), Reason.SKIPPED_MANUALLY)
    service.until(at("29 00:00"))
    assert ledger(service.play) == {"23 08:00": BY_HAND}


def test_the_age_and_the_order_of_a_moved_run_count_from_its_start(service: Service) -> None:
    """A manual run of the day before is older under `cancelOther`, and a retry of it is not too old."""
    retry = RetryPolicy(max_retries=1, base_seconds=5, max_age_seconds=60)
    begin(service, "23", overlap=OverlapPolicy.CANCEL_OTHER, retry=retry, timeout_seconds=300)
    service.until(at("24 07:58"))
    service.target.takes = lambda call: 10 * MINUTE_MS if call.run.origin is Origin.MANUAL else 0
    service.target.statuses = [500, 500]
    trigger(service.play.context(), [Trigger(KEY, fingerprint="f")])
    service.until(at("24 09:00"))
    rows = {run.id.origin: run for run in service.play.runs(KEY)}
    assert rows[Origin.SCHEDULE].state is RunState.SUCCEEDED
    assert rows[Origin.SCHEDULE].attempt == 2
    assert rows[Origin.MANUAL].state is RunState.CANCELLED


def test_a_child_of_the_same_calendar_waits_in_the_cycle_of_the_fire_time(service: Service) -> None:
    """A child without the calendar is not moved, and waits only up to its own timeout."""
    begin(service, "23")
    child = replace(spec("child", MONDAYS), depends_on=(Parent("job"),), calendar=NEXT)
    impatient = replace(child, key=JobKey("acme", "impatient"), calendar=None)
    service.play.store_jobs([child, impatient])
    service.until(at("24 07:00"))
    assert [(run.state, run.waits) for run in service.play.runs(child.key)] == [(RunState.QUEUED, True)]
    service.until(at("24 09:00"))
    (run,) = service.play.runs(child.key)
    assert (run.id.fire_at, run.state, run.first_started_at or 0) >= (at("23 08:00"), RAN, at("24 08:00"))
    assert service.play.runs(impatient.key)[0].reason is Reason.DEPENDENCY_TIMEOUT


def test_jitter_is_added_to_the_moved_start(service: Service) -> None:
    begin(service, "23", jitter_seconds=3600)
    service.until(at("23 12:00"))
    run = waiting(service)
    assert run.moved_to == at("24 08:00")
    assert 0 < run.not_before - at("24 08:00") < HOUR_MS
    service.until(at("24 10:00"))
    assert service.play.runs(KEY)[0].first_started_at == run.not_before
