"""A job is given its final status by the run of its final fire, and by none that comes later or earlier."""

from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, one_off, run
from timeball.domain.model.job import JobStatus, advanced, settled, with_spec
from timeball.domain.policy.change import paused
from timeball.domain.policy.effects import Conclusion
from timeball.ports.rows import Swap
from timeball.ports.store import Store


def test_a_conclusion_whose_answer_was_lost_and_which_was_repeated_holds(subject: Subject) -> None:
    subject.store.jobs.insert([one_off()], NOW)
    subject.lose_answer()
    assert subject.store.jobs.conclude([Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW + 4)]) == [True]


# Of each: the job's status before, the final fire on its row, the fire of the conclusion, and whether it holds for
# pending jobs, and for those that are paused or have failed too.
CONCLUSIONS = {
    "its final fire": (JobStatus.PENDING, NOW, NOW, True, True),
    "a paused job's final fire": (JobStatus.PAUSED, NOW, NOW, False, True),
    "a failed job's final fire": (JobStatus.FAILED, NOW, NOW, False, True),
    "another fire": (JobStatus.PENDING, NOW, NOW + 1, False, False),
    "no final fire known": (JobStatus.PENDING, None, NOW, False, False),
    "a cancelled job": (JobStatus.CANCELLED, NOW, NOW, False, False),
}
MORE_STATUSES = (JobStatus.PENDING, JobStatus.PAUSED, JobStatus.FAILED)


@pytest.mark.parametrize("is_wide", [False, True], ids=["pending only", "more statuses"])
@pytest.mark.parametrize("case", CONCLUSIONS)
def test_a_job_is_concluded_only_by_its_final_fire_and_only_while_it_is_open_for_it(
    store: Store, case: str, *, is_wide: bool
) -> None:
    status, final_at, fire_at, *may_hold = CONCLUSIONS[case]
    holds = may_hold[is_wide]
    before = replace(one_off(), status=status, final_fire_at=final_at)
    store.jobs.insert([before], NOW)
    conclusion = Conclusion(KEY, fire_at, JobStatus.COMPLETED, NOW + 4)
    if is_wide:
        conclusion = replace(conclusion, open_statuses=MORE_STATUSES)
    assert store.jobs.conclude([conclusion]) == [holds]
    (row,) = store.jobs.read([KEY], with_work=True)
    if not holds:
        assert row == before
        return
    assert row == replace(
        before,
        status=JobStatus.COMPLETED,
        updated_at=NOW + 4,
        next_fire_at=None,
        due_at=None,
        revision=before.revision + 1,
    )


def test_a_job_that_does_not_exist_is_not_concluded(store: Store) -> None:
    assert store.jobs.conclude([Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW)]) == [False]
    assert store.jobs.read([KEY]) == [None]


def test_a_swap_after_a_conclusion_is_refused(store: Store) -> None:
    store.jobs.insert([one_off()], NOW)
    before = with_spec(one_off(), work=None)
    store.jobs.conclude([Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW + 4)])
    (answer,) = store.jobs.swap([Swap(before, advanced(before, run(), NOW))], NOW)
    assert not answer.done
    assert answer.row is not None
    assert answer.row.status is JobStatus.COMPLETED


def test_a_job_that_ends_while_a_change_is_not_settled_stays_due_until_it_is(subject: Subject) -> None:
    store = subject.store
    before = paused(one_off(), NOW + 3)
    store.jobs.insert([before], NOW)
    subject.lose_answer()
    conclusion = Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW + 4, MORE_STATUSES)
    assert store.jobs.conclude([conclusion]) == [True]
    (row,) = store.jobs.read([KEY], with_work=True)
    assert row is not None
    assert row == replace(
        before,
        status=JobStatus.COMPLETED,
        updated_at=NOW + 4,
        next_fire_at=None,
        revision=before.revision + 1,
    )
    assert (row.due_at, row.intent) == (NOW + 3, before.intent)
    done = settled(row)
    assert store.jobs.swap([Swap(row, done)], NOW)[0].done
    assert done.due_at is None
