"""Pause and resume among scans and executors: what becomes of each fire in their range."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY, Service, at, calls, ledger, reschedule
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import Changed, ChangeOutcome, cancel, pause, resume, revise
from timeball.engine.changes.reconcile import reconcile
from timeball.engine.scheduling.dispatch import dispatch
from timeball.testing.faults import Crash, Points

SKIP = CatchUp(CatchUpPolicy.SKIP)
LATEST = CatchUp(CatchUpPolicy.LATEST)
ALL = CatchUp(CatchUpPolicy.ALL, max_runs=5)


def begin(play: Play, timing: Timing | Schedule, catch_up: CatchUp = LATEST) -> JobSpec:
    wanted = replace(spec("job", timing), catch_up=catch_up)
    play.store_jobs([wanted])
    return wanted


RAN, SUPERSEDED, MISFIRED = ("succeeded", None), ("skipped", "superseded"), ("skipped", "misfired")


def test_a_pause_withdraws_runs_dispatched_ahead_and_a_prompt_resume_lets_them_run_on_time(
    service: Service,
) -> None:
    play = service.play
    begin(play, Every(60, at(4)))
    service.until(at(1))
    (changed,) = pause(play.context(), [(KEY, None)])
    assert (changed.outcome, changed.claimed) == (ChangeOutcome.DONE, ())
    (run,) = play.runs(KEY)
    assert run.state is RunState.WITHDRAWN
    service.until(at(2))
    resume(play.context(), [(KEY, None)])
    service.until(at(30))
    assert play.runs(KEY)[0].id == run.id
    assert ledger(play) == {4: RAN}
    assert calls(service) == [(4, 4)]


# Columns: catch-up policy, how long the job is paused after 1 s (seconds), its ledger. The job fires at 4 s, 64 s ...
RESUMED = {
    "soon, nothing is caught up": (SKIP, 40, {4: MISFIRED}),
    "soon, the latest is caught up": (LATEST, 40, {4: RAN}),
    "in the second in which it fires again": (SKIP, 63.5, {4: MISFIRED, 64: RAN}),
    "a minute later, the latest is caught up": (LATEST, 70, {4: MISFIRED, 64: RAN}),
    "two minutes later, the latest is caught up": (LATEST, 129, {4: MISFIRED, 64: MISFIRED, 124: RAN}),
    "two minutes later, all are": (ALL, 129, {4: RAN, 64: RAN, 124: RAN}),
    "two minutes later, none is": (SKIP, 129, {4: MISFIRED, 64: MISFIRED}),
}


@pytest.mark.parametrize("case", RESUMED)
def test_resume_treats_a_row_that_a_pause_withdrew_like_any_other_late_one(service: Service, case: str) -> None:
    catch_up, seconds, rows = RESUMED[case]
    begin(service.play, Every(60, at(4)), catch_up)
    service.until(at(1))
    pause(service.play.context(), [(KEY, None)])
    service.until(at(1 + seconds))
    assert calls(service) == []
    resume(service.play.context(), [(KEY, None)])
    service.until(at(5 + seconds))
    assert ledger(service.play) == rows
    assert [fire for fire, _ in calls(service)] == [fire for fire, row in rows.items() if row == RAN]


# Columns: catch-up policy, and which of the ten fires of a paused ten minutes run (minutes from NOW).
PAUSED_LONG = {
    "skip": (SKIP, [10]),  # the fire of the second of the resume is not missed
    "latest": (LATEST, [9, 10]),
    "all, five at most": (ALL, [5, 6, 7, 8, 9, 10]),
}


@pytest.mark.parametrize("case", PAUSED_LONG)
def test_fires_of_a_long_pause_are_caught_up_by_the_jobs_policy(service: Service, case: str) -> None:
    catch_up, ran = PAUSED_LONG[case]
    begin(service.play, Every(60, NOW), catch_up)
    pause(service.play.context(), [(KEY, None)])
    service.until(NOW + 10 * MINUTE_MS)
    resume(service.play.context(), [(KEY, None)])
    service.until(NOW + 10 * MINUTE_MS + 30 * SECOND_MS)
    assert sorted(fire // 60 for fire, _ in calls(service)) == ran
    rows = service.play.runs(KEY)
    assert sum(row.count for row in rows) == 11
    assert sum(service.play.telemetry.counts.values()) == 11 - len(ran)


def test_a_one_off_that_a_pause_withdrew_runs_however_late_it_is_resumed(service: Service) -> None:
    begin(service.play, At(at(3)), SKIP)
    service.until(at(1))
    pause(service.play.context(), [(KEY, None)])
    service.until(NOW + 2 * DAY_MS)
    resume(service.play.context(), [(KEY, None)])
    service.until(NOW + 2 * DAY_MS + MINUTE_MS)
    assert ledger(service.play) == {3: RAN}
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_pause_does_not_change_a_run_that_waits_for_its_retry(service: Service) -> None:
    service.target.statuses = [500]
    begin(service.play, Every(60, at(1)))
    service.until(at(2))
    (changed,) = pause(service.play.context(), [(KEY, None)])
    assert changed.claimed == ()
    service.until(at(200))
    assert ledger(service.play) == {1: RAN}
    assert calls(service) == [(1, 1), (1, 6)]


def test_a_pause_names_the_run_that_was_already_claimed_and_lets_it_end(service: Service) -> None:
    begin(service.play, Every(60, NOW))
    service.target.takes = lambda _: 20 * SECOND_MS
    service.until(at(5))
    (changed,) = pause(service.play.context(), [(KEY, None)])
    assert changed.claimed == (RunId(KEY, NOW, Origin.SCHEDULE),)
    service.until(at(100))
    assert ledger(service.play) == {0: RAN}


def test_pausing_twice_and_resuming_twice_is_one_change_each(service: Service) -> None:
    begin(service.play, Every(60, NOW))
    for verb, version in ((pause, 2), (pause, 2), (resume, 3), (resume, 3)):
        (changed,) = verb(service.play.context(), [(KEY, None)])
        assert changed.job is not None
        assert (changed.outcome, changed.job.version) == (ChangeOutcome.DONE, version)


def test_a_job_that_is_over_is_neither_paused_nor_resumed_nor_rescheduled(service: Service) -> None:
    begin(service.play, At(NOW))
    service.until(at(10))
    assert pause(service.play.context(), [(KEY, None)])[0].outcome is ChangeOutcome.ENDED
    assert resume(service.play.context(), [(KEY, None)])[0].outcome is ChangeOutcome.ENDED
    assert reschedule(service.play, At(at(60))).outcome is ChangeOutcome.ENDED
    assert cancel(service.play.context(), [(KEY, None)])[0].outcome is ChangeOutcome.ENDED


def test_a_stale_version_changes_nothing(service: Service) -> None:
    begin(service.play, Every(60, NOW))
    pause(service.play.context(), [(KEY, 1)])
    before = service.play.job(KEY)
    for verb in (pause, resume, cancel):
        assert verb(service.play.context(), [(KEY, 1)])[0].outcome is ChangeOutcome.STALE
    assert (
        revise(service.play.context(), [(replace(before, version=1), spec("job", At(NOW)))])[0].outcome
        is ChangeOutcome.STALE
    )
    assert service.play.job(KEY) == before


def test_a_change_of_an_unknown_job_has_no_job() -> None:
    for verb in (pause, resume, cancel):
        assert verb(Play().context(), [(KEY, None)]) == [Changed(ChangeOutcome.NOT_FOUND, None)]


@dataclass(frozen=True)
class Slow:
    """A change that waits at each of its points, what happens meanwhile, and the job's period (s) afterwards."""

    change: Callable[[Play, Points], object]
    meanwhile: Callable[[Play], object]
    period: int
    prepare: Callable[[Play], object] = lambda _: None


def _pause(play: Play, points: Points | None = None) -> None:
    pause(play.context(points), [(KEY, None)])


def _resume(play: Play, points: Points | None = None) -> None:
    resume(play.context(points), [(KEY, None)])


def _reschedule_until_it_is_done(play: Play, points: Points) -> None:
    while reschedule(play, Every(2, at(2)), points).outcome is ChangeOutcome.STALE:
        pass


def _resume_and_scan(play: Play) -> None:
    _resume(play)
    play.scan_all()


def _resume_pause_and_resume(play: Play) -> None:
    _resume(play)
    _pause(play)
    _resume(play)


def _pause_and_resume(play: Play) -> None:
    _pause(play)
    _resume(play)


def _reschedule_and_scan(play: Play) -> None:
    reschedule(play, Every(2, at(2)))
    play.scan_all()


def _resume_reschedule_and_scan(play: Play) -> None:
    _resume(play)
    _reschedule_and_scan(play)


SLOW = {
    "a resume during a pause": Slow(_pause, _resume, 3),
    "a resume and a scan during a pause": Slow(_pause, _resume_and_scan, 3),
    "a resume, a pause and a resume during a pause": Slow(_pause, _resume_pause_and_resume, 3),
    "a resume, a reschedule and a scan during a pause": Slow(_pause, _resume_reschedule_and_scan, 2),
    "a reschedule and a scan during a resume": Slow(_resume, _reschedule_and_scan, 2, prepare=_pause),
    "a pause and a resume during a reschedule": Slow(_reschedule_until_it_is_done, _pause_and_resume, 2),
}


@pytest.mark.parametrize("case", SLOW)
def test_a_slow_change_that_resumes_after_others_withdraws_nothing_that_they_let_run(case: str) -> None:
    one, point, reached = SLOW[case], 0, 1
    while point < reached:
        with Service(Play()) as service:
            play = service.play
            begin(play, Every(3, at(3)))
            play.scan_all()
            one.prepare(play)

            def meanwhile(play: Play = play) -> None:
                one.meanwhile(play)

            points = Points(point, meanwhile)
            one.change(play, points)
            reached = points.reached
            if play.job(KEY).status is JobStatus.PAUSED:
                assert point < 6  # the slow change comes last only before its swap, which follows two notes
                _resume(play)
            service.until(at(20))
            rows = ledger(play)
            due = [float(fire) for fire in range(one.period, 21, one.period)]
            assert [fire for fire, row in rows.items() if row == RAN] == due, point
            assert calls(service) == [(fire, fire) for fire in due], point
            assert {row for fire, row in rows.items() if fire <= 20} <= {RAN, SUPERSEDED}, point
        point += 1
    assert reached >= 6


@pytest.mark.parametrize("change", [_pause_and_resume, _reschedule_and_scan])
def test_a_slow_scan_that_resumes_after_a_change_runs_nothing_early_late_or_twice(
    change: Callable[[Play], None],
) -> None:
    alone = Points()
    begin(play := Play(), Every(3, at(3)))
    play.scan(alone)
    assert alone.reached >= 8
    for point in range(alone.reached):
        with Service(Play()) as service:
            play = service.play
            begin(play, Every(3, at(3)))

            def meanwhile(play: Play = play) -> None:
                change(play)

            play.scan(Points(point, meanwhile))
            service.until(at(20))
            period = 3 if change is _pause_and_resume else 2
            due = [float(fire) for fire in range(period, 21, period)]
            assert calls(service) == [(fire, fire) for fire in due], point
            assert {row for fire, row in ledger(play).items() if fire not in due} <= {SUPERSEDED}, point


@pytest.mark.parametrize("and_the_next_scan", [False, True])
def test_a_run_that_a_slow_scan_inserts_after_a_resume_runs_on_time_even_if_a_pause_is_reconciled_only_then(
    service: Service, *, and_the_next_scan: bool
) -> None:
    """The next plan revives the run that the late reconciliation withdraws, or comes first and renews its stamp."""
    play = service.play
    begin(play, Every(60, at(7)))
    as_one_scan_read_it = play.job(KEY)
    with pytest.raises(Crash):
        _pause(play, Points(5))  # the pause has written two notes and swapped the job
    as_another_read_it = play.job(KEY)
    _resume(play)
    play.clock.advance(3 * SECOND_MS)
    dispatch(play.context(), [as_one_scan_read_it], play.clock.now())
    if and_the_next_scan:
        play.scan_all()
    reconcile(play.context(), as_another_read_it)
    expected = (RunState.QUEUED, 2) if and_the_next_scan else (RunState.WITHDRAWN, 1)
    assert [(run.state, run.decided_at_version) for run in play.runs(KEY)] == [expected]
    service.until(at(10))
    assert calls(service) == [(7, 7)]
