"""A job whose parent is cancelled is detached from it, or lost with it: tables of cases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from timeball.domain.dependencies.removal import detached, is_lost
from timeball.domain.model.ids import JobKey, Shards
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.terms.dependency import Ended, Parent, ParentEnd, State, TriggerRule
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule

NOW = HOUR_MS
A, B = JobKey("acme", "a"), JobKey("acme", "b")
ROOT = new_job(spec("b", At(NOW + HOUR_MS)), NOW, Shards(1))
OFTEN = Schedule(Every(60, NOW))
RECURRING = new_job(replace(spec("b", At(NOW)), schedule=OFTEN), NOW, Shards(1))


def child(*parents: Parent, schedule: Schedule | None = None, **about: Any) -> Job:
    wanted = replace(spec("child", At(NOW + HOUR_MS)), depends_on=parents, inherits=True, **about)
    return new_job(replace(wanted, schedule=schedule or wanted.schedule), NOW, Shards(1))


ONLY, BOTH = (Parent("a"),), (Parent("a"), Parent("b"))

# A job before the parent `a` is removed; whether it is paused for that, and whether it is left without parents.
DETACHED: dict[str, tuple[Job, bool, bool]] = {
    "a one-off of that parent alone": (child(*ONLY), True, True),
    "a one-off of two parents": (child(*BOTH), False, False),
    "a recurring job of that parent alone": (child(*ONLY, schedule=OFTEN), True, True),
    "a recurring job of two parents": (child(*BOTH, schedule=OFTEN), False, False),
    "a job that has a run for each item of the parent": (child(*BOTH, schedule=OFTEN, for_each="a"), True, False),
    "a job that has a run for each item of the other": (child(*BOTH, schedule=OFTEN, for_each="b"), False, False),
}


@pytest.mark.parametrize("case", DETACHED)
def test_a_job_that_loses_the_parents_that_gave_it_its_fires_is_paused(case: str) -> None:
    job, is_paused, is_alone = DETACHED[case]
    after = detached(job, "a", NOW + 5)
    assert after is not None
    assert (after.status is JobStatus.PAUSED, after.lost_parent) == (is_paused, is_paused)
    assert after.version == job.version + 1
    assert [one.job_id for one in after.spec.depends_on] == ([] if is_alone else ["b"])
    assert after.spec.inherits is not is_alone
    assert (after.intent is not None) is is_paused
    assert detached(after, "a", NOW + 6) == after


def test_a_job_with_its_own_schedule_goes_on_without_its_parent() -> None:
    job = child(*ONLY, schedule=OFTEN)
    own = replace(job, spec=replace(job.spec, inherits=False, pass_parents=True))
    after = detached(own, "a", NOW + 5)
    assert after is not None
    assert (after.status, after.lost_parent, after.spec.pass_parents) == (JobStatus.PENDING, False, False)


@pytest.mark.parametrize(("parents", "rule"), [(ONLY, TriggerRule.ALL_SUCCEEDED), (BOTH, TriggerRule.ANY_SUCCEEDED)])
def test_a_rule_over_parents_does_not_outlive_the_last_of_them(parents: tuple[Parent, ...], rule: TriggerRule) -> None:
    after = detached(child(*parents, schedule=OFTEN, trigger_rule=TriggerRule.ANY_SUCCEEDED), "a", NOW + 5)
    assert after is not None
    assert after.spec.trigger_rule is rule


def test_a_one_off_that_its_parents_let_run_is_not_paused() -> None:
    after = detached(replace(child(*ONLY), waits=False), "a", NOW + 5)
    assert after is not None
    assert (after.status, after.lost_parent) == (JobStatus.PENDING, False)


def test_a_paused_job_stays_paused_and_says_what_it_lost() -> None:
    after = detached(replace(child(*ONLY), status=JobStatus.PAUSED, paused_at=NOW), "a", NOW + 5)
    assert after is not None
    assert (after.status, after.paused_at, after.lost_parent) == (JobStatus.PAUSED, NOW, True)


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.CANCELLED])
def test_a_job_that_has_ended_keeps_its_parents(status: JobStatus) -> None:
    assert detached(replace(child(*ONLY), status=status), "a", NOW) is None


def ended(status: JobStatus, job: Job = ROOT) -> Job:
    return replace(job, status=status)


FAILED, DONE = (Parent("a", on=end) for end in (ParentEnd.FAILED, ParentEnd.DONE))
LATEST = (Parent("a"), Parent("b", on=ParentEnd.LATEST))

# The parents, the trigger rule, the other parent as it is stored, whether the job is lost with `a`.
LOST: dict[str, tuple[tuple[Parent, ...], TriggerRule, Job | None, bool]] = {
    "no parent remains": (ONLY, TriggerRule.ALL_SUCCEEDED, None, True),
    "no parent remains, though the rule would hold": (ONLY, TriggerRule.ALL_DONE, None, True),
    "no parent remains, though this end counts": ((DONE,), TriggerRule.ALL_SUCCEEDED, None, True),
    "all must succeed": (BOTH, TriggerRule.ALL_SUCCEEDED, ROOT, True),
    "all must succeed, and this end counts": ((DONE, Parent("b")), TriggerRule.ALL_SUCCEEDED, ROOT, False),
    "all must succeed, and only a failure counts": ((FAILED, Parent("b")), TriggerRule.ALL_SUCCEEDED, ROOT, True),
    "all must be done": (BOTH, TriggerRule.ALL_DONE, ROOT, False),
    "all must be done, and the other has ended": (BOTH, TriggerRule.ALL_DONE, ended(JobStatus.COMPLETED), False),
    "any may succeed": (BOTH, TriggerRule.ANY_SUCCEEDED, ROOT, False),
    "any may succeed, and the other has": (BOTH, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.COMPLETED), False),
    "any may succeed, and the other may be repaired": (
        BOTH, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.FAILED), False,
    ),
    "any may succeed, and the other was skipped": (BOTH, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.SKIPPED), True),
    "any may succeed, and the other is cancelled": (
        BOTH, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.CANCELLED), True,
    ),
    "any may succeed, and the other has no cycle left": (
        BOTH, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.COMPLETED, RECURRING), True,
    ),
    "any may succeed, and the other recurs": (BOTH, TriggerRule.ANY_SUCCEEDED, RECURRING, False),
    "any may succeed, and the other recurred until a user cancelled it": (
        BOTH, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.CANCELLED, RECURRING), True,
    ),
    "any may succeed, and the latest cycle of the other has ended": (
        LATEST, TriggerRule.ANY_SUCCEEDED, ended(JobStatus.COMPLETED, RECURRING), False,
    ),
    "any may fail": (BOTH, TriggerRule.ANY_FAILED, ROOT, False),
    "any may fail, and the other has": (BOTH, TriggerRule.ANY_FAILED, ended(JobStatus.FAILED), False),
    "any may fail, and the other has succeeded": (BOTH, TriggerRule.ANY_FAILED, ended(JobStatus.COMPLETED), True),
}  # fmt: skip


@pytest.mark.parametrize("case", LOST)
def test_a_job_is_lost_if_no_remaining_parent_can_let_it_run(case: str) -> None:
    parents, rule, other, is_so = LOST[case]
    rows: Mapping[JobKey, Job | None] = {B: other}
    assert is_lost(child(*parents, trigger_rule=rule), {A}, rows, NOW + HOUR_MS) is is_so


def test_a_parent_whose_row_has_expired_counts_as_it_ended() -> None:
    job = child(*BOTH, trigger_rule=TriggerRule.ANY_SUCCEEDED)
    kept = replace(job, ended=(Ended("b", State.SUCCEEDED, NOW, NOW),))
    later = NOW + 120 * SECOND_MS
    assert [is_lost(one, {A}, {B: None}, later) for one in (job, kept)] == [True, False]
