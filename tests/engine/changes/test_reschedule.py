"""Jobs that get another schedule or other policies, among scans and executors: what becomes of each fire."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, WORK, Play, spec
from tests.engine.service import KEY, Service, at, calls, ledger, reschedule
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobSpec, JobStatus, with_spec
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, InvalidSchedule
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import ChangeOutcome, cancel, pause, resume, revise

SKIP = CatchUp(CatchUpPolicy.SKIP)
LATEST = CatchUp(CatchUpPolicy.LATEST)
RAN, SUPERSEDED, MISFIRED = ("succeeded", None), ("skipped", "superseded"), ("skipped", "misfired")


def begin(play: Play, timing: Timing | Schedule, catch_up: CatchUp = LATEST) -> JobSpec:
    wanted = replace(spec("job", timing), catch_up=catch_up)
    play.store_jobs([wanted])
    return wanted


def test_a_reschedule_within_the_look_ahead_supersedes_fires_that_are_no_longer_due_and_runs_common_fires_once(
    service: Service,
) -> None:
    play = service.play
    begin(play, Every(2, at(2)))
    service.until(at(1))
    assert [run.id.fire_at for run in play.runs(KEY)] == [at(2), at(4)]
    changed = reschedule(play, Every(3, at(3)))
    assert (changed.outcome, changed.claimed) == (ChangeOutcome.DONE, ())
    service.until(at(13))
    rows = ledger(play)
    assert [fire for fire, row in rows.items() if row == SUPERSEDED] == [2, 4, 8]  # 8: for late inserts
    assert [fire for fire, row in rows.items() if row == RAN] == [3, 6, 9, 12]
    assert calls(service) == [(3, 3), (6, 6), (9, 9), (12, 12)]
    assert play.telemetry.counts == {("FiresSkipped", "superseded"): 3}


def test_a_schedule_that_is_changed_and_changed_back_loses_nothing(service: Service) -> None:
    play = service.play
    begin(play, Every(2, at(2)))
    service.until(at(1))
    reschedule(play, Every(3, at(3)))
    assert {fire for fire, row in ledger(play).items() if row == SUPERSEDED} == {2, 4, 8}
    reschedule(play, Every(2, at(2)))
    service.until(at(30))
    rows = ledger(play)
    assert [fire for fire, row in rows.items() if row == RAN] == [*range(2, 31, 2)]
    assert {fire for fire, row in rows.items() if row == SUPERSEDED} == {3, 9}
    assert calls(service) == [(fire, fire) for fire in range(2, 31, 2)]


# Columns: the new time of a one-off that is due in 3 s and already dispatched (seconds from NOW), and its ledger.
MOVED = {
    "later": (60, {3: SUPERSEDED, 60: RAN}),
    "earlier": (2, {2: RAN, 3: SUPERSEDED}),
    "into the past": (-3600, {-3600: RAN, 3: SUPERSEDED}),
    "nowhere": (3, {3: RAN}),
}


@pytest.mark.parametrize("case", MOVED)
def test_a_dispatched_one_off_is_moved(service: Service, case: str) -> None:
    seconds, rows = MOVED[case]
    begin(service.play, At(at(3)))
    service.until(at(1))
    reschedule(service.play, At(at(seconds)))
    service.until(at(120))
    assert ledger(service.play) == rows
    assert [fire for fire, _ in calls(service)] == [seconds]
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_one_off_rescheduled_while_it_runs_runs_at_both_times_and_the_answer_says_so(service: Service) -> None:
    service.target.takes = lambda _: 10 * SECOND_MS
    begin(service.play, At(NOW))
    service.until(at(2))
    assert reschedule(service.play, At(at(60))).claimed == (RunId(KEY, NOW, Origin.SCHEDULE),)
    service.until(at(30))
    assert service.play.job(KEY).status is JobStatus.PENDING
    service.until(at(120))
    assert ledger(service.play) == {0: RAN, 60: RAN}
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_paused_job_that_is_rescheduled_stays_paused_and_resumes_on_its_new_schedule(service: Service) -> None:
    play = service.play
    begin(play, Every(60, at(3)))
    service.until(at(1))
    pause(play.context(), [(KEY, None)])
    reschedule(play, Every(60, at(30)))
    assert play.job(KEY).status is JobStatus.PAUSED
    service.until(at(35))
    assert calls(service) == []
    resume(play.context(), [(KEY, None)])
    service.until(at(95))
    assert ledger(play) == {3: SUPERSEDED, 30: RAN, 90: RAN}


def test_a_run_that_was_withdrawn_a_month_ago_ends_with_its_job(service: Service) -> None:
    play = service.play
    begin(play, Every(3600, at(3)))
    service.until(at(1))
    pause(play.context(), [(KEY, None)])
    play.clock.advance(30 * DAY_MS)
    cancel(play.context(), [(KEY, None)])
    assert [run for run in play.runs(KEY) if not run.is_terminal] == []


def test_a_run_that_was_withdrawn_a_month_ago_is_superseded_by_a_new_schedule(service: Service) -> None:
    play = service.play
    begin(play, Every(3600, at(3)))
    service.until(at(1))
    pause(play.context(), [(KEY, None)])
    play.clock.advance(30 * DAY_MS)
    reschedule(play, Every(60, NOW + 40 * DAY_MS))
    assert [run for run in play.runs(KEY) if not run.is_terminal] == []


def test_a_reschedule_after_an_outage_keeps_every_fire_that_both_schedules_have(service: Service) -> None:
    play = service.play
    begin(play, Every(60, NOW), LATEST)
    play.clock.advance(10 * MINUTE_MS + 10 * SECOND_MS)
    reschedule(play, Every(120, NOW))
    service.until(play.clock.now() + 10 * SECOND_MS)
    assert ledger(play) == {0: MISFIRED, 9 * 60: SUPERSEDED, 10 * 60: RAN}
    assert sum(row.count for row in play.runs(KEY)) == 11


def test_a_change_of_tags_within_the_look_ahead_supersedes_nothing(service: Service) -> None:
    play = service.play
    wanted = begin(play, Every(4, at(4)))
    service.until(at(1))
    job = with_spec(play.job(KEY), work=WORK)
    (changed,) = revise(play.context(), [(job, replace(wanted, tags={"a": "b"}))])
    assert changed.job is not None
    assert (changed.job.version, changed.job.schedule_version, changed.job.intent) == (2, 1, None)
    service.until(at(9))
    assert calls(service) == [(4, 4), (8, 8)]


def test_a_request_that_changes_nothing_makes_no_new_version(service: Service) -> None:
    wanted = begin(service.play, Every(60, NOW))
    before = service.play.job(KEY)
    (changed,) = revise(service.play.context(), [(with_spec(before, work=WORK), wanted)])
    after = service.play.job(KEY)
    assert changed.outcome is ChangeOutcome.DONE
    assert (after.version, after.schedule_version, after.updated_at) == (1, 1, before.updated_at)


def test_a_schedule_that_never_fires_is_refused_and_the_job_goes_on(service: Service) -> None:
    begin(service.play, Every(60, at(3)))
    with pytest.raises(InvalidSchedule):
        reschedule(service.play, Schedule(Every(60, NOW), end_at=NOW - HOUR_MS))
    service.until(at(10))
    assert ledger(service.play) == {3: RAN}


def test_a_job_with_max_runs_that_is_rescheduled_within_the_look_ahead_has_as_many_runs_in_all(
    service: Service,
) -> None:
    play = service.play
    begin(play, Schedule(Every(2, at(2)), max_runs=5))
    service.until(at(5))
    assert len(calls(service)) == 2
    reschedule(play, Schedule(Every(60, at(60)), max_runs=5))
    service.until(at(600))
    assert [fire for fire, _ in calls(service)] == [2, 4, 60, 120, 180]
    assert play.job(KEY).status is JobStatus.COMPLETED


def test_a_window_that_ends_in_an_outage_completes_its_job(service: Service) -> None:
    begin(service.play, Schedule(Every(60, NOW), end_at=NOW + 5 * MINUTE_MS), SKIP)
    service.play.clock.advance(HOUR_MS)
    service.until(NOW + HOUR_MS + MINUTE_MS)
    assert calls(service) == []
    assert sum(row.count for row in service.play.runs(KEY)) == 6
    assert service.play.job(KEY).status is JobStatus.COMPLETED
