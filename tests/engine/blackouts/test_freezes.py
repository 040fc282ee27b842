"""Freezes: which fires they defer, what goes on, and what happens when a freeze ends or is lifted."""

from dataclasses import replace

import pytest

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls, ledger, reschedule
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.freeze import BEGINS_AFTER_MS, Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.blackouts.freezes import FreezeOutcome, create_freeze, freezes_of, lift_freeze
from timeball.engine.changes.change import pause, resume
from timeball.engine.runs.trigger import Trigger, trigger

RAN, FROZEN, MISFIRED = ("succeeded", None), ("skipped", "frozen"), ("skipped", "misfired")
SKIP, LATEST, ALL = (CatchUp(policy, 5) for policy in CatchUpPolicy)
EVERYBODY = FreezeMatch(everything=True)


def begin(service: Service, timing: Timing | Schedule, catch_up: CatchUp = LATEST, **policies: object) -> None:
    service.play.store_jobs([replace(spec("job", timing), catch_up=catch_up, **policies)])  # type: ignore[arg-type]


def freeze(
    service: Service, name: str = "f", start: int = 0, end: int | None = None, match: FreezeMatch = EVERYBODY
) -> None:
    """Freeze from one second of the test to another."""
    now = service.play.clock.now()
    wanted = Freeze(name, at(start), None if end is None else at(end), match, now)
    assert create_freeze(service.play.context(), "acme", wanted).outcome is FreezeOutcome.CREATED


def lift(service: Service, name: str = "f") -> None:
    assert lift_freeze(service.play.context(), "acme", name) is not None


# Columns: catch-up policy, the seconds of the freeze, and the ledger of a job that fires at 10 s, 40 s, 70 s ... A
# range stands at its first fire.
FREEZES: dict[str, tuple[CatchUp, tuple[int, int], dict[float, tuple[str, str | None]]]] = {
    "however short it was": (SKIP, (5, 50), {10: FROZEN, 70: RAN}),
    "none is caught up": (SKIP, (5, 125), {10: FROZEN, 130: RAN}),
    "the latest is caught up": (LATEST, (5, 125), {10: FROZEN, 100: RAN, 130: RAN}),
    "all are": (ALL, (5, 125), {10: RAN, 40: RAN, 70: RAN, 100: RAN, 130: RAN}),
    "its end is no part of it": (SKIP, (5, 40), {10: FROZEN, 40: RAN}),
    "its beginning is": (SKIP, (10, 75), {10: FROZEN, 100: RAN}),
}


@pytest.mark.parametrize("case", FREEZES)
def test_at_its_end_the_catch_up_policy_decides_about_fires_of_the_freeze(service: Service, case: str) -> None:
    catch_up, (start, end), expected = FREEZES[case]
    begin(service, Every(30, at(10)), catch_up)
    freeze(service, start=start, end=end)
    service.until(at(end) - 1)
    assert calls(service) == []
    service.until(at(max([end, *expected]) + 6))
    assert ledger(service.play) == expected
    assert all(called >= (max(fire, end)) for fire, called in calls(service))


def test_a_run_that_was_sent_ahead_is_deferred_too(service: Service) -> None:
    begin(service, Every(30, at(10)), ALL)
    service.until(at(6))
    assert service.play.runs(KEY)[0].state is RunState.QUEUED
    freeze(service, start=6)
    service.until(at(60))
    (run, *_) = service.play.runs(KEY)
    assert (run.state, run.reason, run.attempt) == (RunState.QUEUED, Reason.FROZEN, 0)
    lift(service)
    service.until(at(135))
    assert ledger(service.play)[10] == RAN
    assert calls(service)[0][1] >= 60


def test_a_lifted_freeze_leaves_only_rows_behind(service: Service) -> None:
    begin(service, Every(30, at(10)), SKIP)
    before = service.play.job(KEY)
    freeze(service)
    service.until(at(136))
    lift(service)
    assert freezes_of(service.play.context(), "acme").open_at(service.play.clock.now()) == []
    service.until(at(200))
    assert ledger(service.play) == {10: FROZEN, 160: RAN, 190: RAN}
    assert dict(calls(service))[160] == 160
    assert service.play.runs(KEY)[0].count == 5
    after = service.play.job(KEY)
    assert (after.version, after.schedule_version, after.status) == (before.version, 1, JobStatus.PENDING)


def test_a_job_that_was_paused_before_stays_paused_after(service: Service) -> None:
    begin(service, Every(30, at(10)))
    pause(service.play.context(), [(KEY, None)])
    freeze(service, start=4, end=30)
    service.until(at(50))
    assert (service.play.job(KEY).status, calls(service)) == (JobStatus.PAUSED, [])
    resume(service.play.context(), [(KEY, None)])
    service.until(at(75))
    assert calls(service)[-1] == (70, 70)


def test_a_resume_within_a_freeze_starts_nothing_before_its_end(service: Service) -> None:
    begin(service, Every(30, at(10)))
    service.until(at(7))
    pause(service.play.context(), [(KEY, None)])
    freeze(service, start=8, end=35)
    service.until(at(20))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(34))
    assert calls(service) == []
    service.until(at(75))
    assert {10: RAN, 40: RAN, 70: RAN}.items() <= ledger(service.play).items()


def test_a_run_under_way_goes_on_and_so_do_its_retries(service: Service) -> None:
    begin(service, Every(300, at(4)))
    service.target.statuses = [500]
    service.until(at(5))
    freeze(service, start=5)
    service.until(at(30))
    assert ledger(service.play) == {4: RAN}
    assert len(calls(service)) == 2


def test_manual_runs_start_during_a_freeze(service: Service) -> None:
    begin(service, Every(30, at(10)))
    freeze(service)
    service.until(at(5))
    trigger(service.play.context(), [Trigger(KEY, fingerprint="f")])
    service.until(at(9))
    (run,) = service.play.runs(KEY)
    assert (run.id.origin, run.state) == (Origin.MANUAL, RunState.SUCCEEDED)


def test_a_run_that_waits_for_the_overlap_lock_waits_for_the_end_of_the_freeze_too(service: Service) -> None:
    begin(service, Every(30, at(10)), overlap=OverlapPolicy.QUEUE_ONE)
    service.target.takes = lambda call: 35 * SECOND_MS if call.run.fire_at == at(10) else 0
    service.until(at(42))
    freeze(service, start=43, end=100)
    service.until(at(99))
    assert [fire for fire, _ in calls(service)] == [10]
    service.until(at(180))
    assert {10: RAN, 40: RAN}.items() <= ledger(service.play).items()


def test_a_one_off_starts_when_the_freeze_ends(service: Service) -> None:
    begin(service, At(at(10)))
    freeze(service, end=300)
    service.until(at(305))
    assert ledger(service.play) == {10: RAN}
    assert [(fire, int(called)) for fire, called in calls(service)] == [(10, 300)]
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_adjacent_freezes_act_as_one(service: Service) -> None:
    begin(service, Every(30, at(10)), SKIP)
    freeze(service, "a", 5, 60)
    freeze(service, "b", 60, 125)
    service.until(at(124))
    assert ledger(service.play) == {}
    service.until(at(131))
    assert ledger(service.play) == {10: FROZEN, 130: RAN}
    assert calls(service) == [(130, 130)]


def test_a_freeze_applies_to_the_matching_jobs_of_its_tenant(service: Service) -> None:
    begin(service, Every(30, at(10)), tags={"team": "blue"})
    freeze(service, "a", match=FreezeMatch(tags={"team": "red"}))
    freeze(service, "b", match=FreezeMatch(job_ids=("another",)))
    service.until(at(15))
    assert calls(service) == [(10, 10)]


def test_a_reschedule_of_a_frozen_job_is_reconciled_at_once(service: Service) -> None:
    begin(service, Every(30, at(10)))
    freeze(service, start=5, end=14)
    service.until(at(12))
    reschedule(service.play, Every(20, at(15)))
    service.until(at(16))
    assert ledger(service.play)[15] == RAN


def test_a_freeze_begins_no_sooner_than_every_process_can_know_it(service: Service) -> None:
    begin(service, Every(1, at(1)))
    service.until(at(2))
    freeze(service, start=0)
    (made,) = freezes_of(service.play.context(), "acme").items
    assert made.from_at == at(2) + BEGINS_AFTER_MS
    service.until(at(40))
    assert max(called for _, called in calls(service)) < (made.from_at - at(0)) // SECOND_MS + 1
