"""Inserts and swaps: what wins, what is refused, what a refusal tells, and what becomes of a lost answer."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, backfill, job, one_off, other_spec, run, run_id, work
from timeball.domain.backfill import Backfill, cancelled_backfill, plan_backfill, settled_backfill
from timeball.domain.change import cancelled, paused, resumed, revised
from timeball.domain.ids import BackfillKey, JobKey, Origin
from timeball.domain.job import Job, JobStatus, advanced, fixed, guarded, pushed_back, settled
from timeball.domain.run import (
    Attempt,
    Outcome,
    Reason,
    Run,
    RunState,
    asked_to_stop,
    claimed,
    due_again,
    ended,
    put_off,
    renewed,
    requeued,
    retrying,
    withdrawn,
)
from timeball.ports import Conclusion, Owner, Store, Swap, Swapped

FAILED = Attempt(1, Outcome.FAILED, NOW, NOW + 1, NOW + 2, 500, "Es brach ab: ☹", "{}")
RUNNING = claimed(run(), "owner", NOW, 30_000)

JOB_MOVES: dict[str, Callable[[Job], Job]] = {
    "advanced": lambda row: advanced(row, NOW + 60_000, 1, NOW),
    "advanced to its end": lambda row: advanced(row, None, 1, NOW),
    "fixed": lambda row: fixed(row, NOW + 60_000, NOW + 120_000),
    "pushed back": lambda row: pushed_back(row, NOW + 1_000),
    "cancelled": lambda row: cancelled(row, NOW + 5),
    "cancelled and settled": lambda row: settled(cancelled(row, NOW + 5)),
    "paused": lambda row: paused(row, NOW + 5),
    "paused and settled": lambda row: settled(paused(row, NOW + 5)),
    "paused and resumed": lambda row: resumed(settled(paused(row, NOW + 5)), NOW + 9),
    "rescheduled": lambda row: _bare(revised(row, other_spec(), NOW + 5)),
    "its guard held, another parked": lambda row: guarded(row, run_id(), run_id(NOW + 1, Origin.MANUAL)),
    "its guard free again": lambda row: guarded(guarded(row, run_id(), run_id(NOW + 1)), None, None),
}

RUN_MOVES: dict[str, tuple[Run, Run]] = {
    "claimed": (run(), RUNNING),
    "claimed from the due index": (run(due_at=NOW), claimed(run(due_at=NOW), "owner", NOW, 30_000)),
    "renewed": (RUNNING, renewed(RUNNING, NOW + 10_000, 30_000)),
    "asked to stop": (RUNNING, asked_to_stop(RUNNING, Reason.JOB_CANCELLED)),
    "succeeded": (RUNNING, ended(RUNNING, RunState.SUCCEEDED, NOW + 9, last=replace(FAILED, status=200))),
    "failed": (RUNNING, ended(RUNNING, RunState.FAILED, NOW + 9, Reason.NOT_RETRIABLE, FAILED)),
    "retrying": (RUNNING, retrying(RUNNING, NOW + 5_000, FAILED)),
    "queued again": (retrying(RUNNING, NOW, FAILED), requeued(retrying(RUNNING, NOW, FAILED))),
    "withdrawn": (run(due_at=NOW), withdrawn(run(due_at=NOW))),
    "let go": (withdrawn(run()), put_off(withdrawn(run()), NOW + 7_000, NOW + 7_000, 2)),
    "out of the due index": (run(due_at=NOW), due_again(run(due_at=NOW), None)),
    "not carried": (run(), due_again(run(), NOW + 30_000, 1)),
}


def _bare(row: Job) -> Job:
    return replace(row, work=None)


def _swap(store: Store, before: Job, after: Job) -> Swapped[Job]:
    """Swap one job; whether the answer's row has its work is left to the store."""
    (answer,) = store.swap_jobs([Swap(before, after)], NOW)
    return Swapped(answer.done, answer.row and _bare(answer.row))


def test_a_job_is_created_once_and_later_ones_get_the_row_that_stands(store: Store) -> None:
    other = replace(job(), name="another", fingerprint="other")
    assert store.create_jobs([job(), job("second")], NOW) == [None, None]
    (standing, created) = store.create_jobs([other, job("third")], NOW)
    assert created is None
    assert standing is not None
    assert (_bare(standing), standing.fingerprint) == (_bare(job()), "print")
    assert store.read_jobs([KEY], with_work=True) == [job()]


def test_answers_come_in_the_order_of_the_question_and_none_means_absent(store: Store) -> None:
    store.create_jobs([job("a"), job("b")], NOW)
    absent = JobKey("acme", "absent")
    found = store.read_jobs([JobKey("acme", "b"), absent, JobKey("acme", "a"), JobKey("other", "a")])
    assert found == [_bare(job("b")), None, _bare(job("a")), None]
    store.insert_runs([run(NOW), run(NOW + 1)], NOW)
    assert store.read_runs([run_id(NOW + 1), run_id(NOW + 2), run_id(NOW)]) == [run(NOW + 1), None, run(NOW)]


def test_more_rows_than_one_request_carries_are_written_and_read(store: Store) -> None:
    runs = [run(NOW + second * 1_000) for second in range(60)]
    assert store.insert_runs(runs, NOW) == [None] * 60
    assert store.insert_runs(runs[:30], NOW + 1) == [None] * 30
    changed = [replace(row, created_at=NOW + 7) for row in runs]
    assert store.insert_runs(changed, NOW) == runs
    ids = [row.id for row in runs] * 2
    assert store.read_runs(ids) == runs * 2


def test_nothing_asked_is_nothing_answered(store: Store) -> None:
    assert store.create_jobs([], NOW) == []
    assert store.read_jobs([], with_work=True) == []
    assert store.swap_jobs([], NOW) == []
    assert store.conclude_jobs([]) == []
    assert store.insert_runs([], NOW) == []
    assert store.read_runs([]) == []
    assert store.swap_runs([], NOW) == []
    assert store.due([]) == []
    assert store.create_backfills([], NOW) == []
    assert store.read_backfills([]) == []
    assert store.swap_backfills([], NOW) == []
    assert store.save_works([], NOW) == []
    assert store.read_works([]) == []
    store.save_attempts([], NOW)


@pytest.mark.parametrize("move", JOB_MOVES)
def test_a_job_is_swapped_if_it_is_as_it_was_read(store: Store, move: str) -> None:
    store.create_jobs([job()], NOW)
    before = _bare(job())
    after = JOB_MOVES[move](before)
    assert _swap(store, before, after) == Swapped(done=True, row=after)
    assert store.read_jobs([KEY]) == [after]
    assert store.read_jobs([KEY], with_work=True) == [replace(after, work=job().work)]

    assert _swap(store, before, replace(after, name="late")) == Swapped(done=False, row=after)


@pytest.mark.parametrize("move", RUN_MOVES)
def test_a_run_is_swapped_if_it_is_as_it_was_read(store: Store, move: str) -> None:
    before, after = RUN_MOVES[move]
    store.insert_runs([before], NOW)
    assert store.swap_runs([Swap(before, after)], NOW) == [Swapped(done=True, row=after)]
    assert store.read_runs([before.id]) == [after]
    late = replace(after, owner="late")
    assert store.swap_runs([Swap(before, late)], NOW) == [Swapped(done=False, row=after)]


def _advanced(row: Backfill) -> Backfill:
    after = plan_backfill(row, None, NOW).after
    assert after is not None
    return after


BACKFILL_MOVES: dict[str, Callable[[Backfill], Backfill]] = {
    "advanced": _advanced,
    "advanced to its end": lambda row: _advanced(replace(row, next_fire_at=row.last_at)),
    "cancelled": lambda row: cancelled_backfill(row, NOW + 5),
    "cancelled and settled": lambda row: settled_backfill(cancelled_backfill(row, NOW + 5)),
}


@pytest.mark.parametrize("move", BACKFILL_MOVES)
def test_a_backfill_is_created_once_and_swapped_if_it_is_as_it_was_read(subject: Subject, move: str) -> None:
    store, before = subject.store, backfill()
    subject.lose_answer()
    assert store.create_backfills([before], NOW) == [None]
    assert subject.was_repeated()
    assert store.create_backfills([replace(before, pace_seconds=9), backfill("other")], NOW) == [before, None]
    after = BACKFILL_MOVES[move](before)
    subject.lose_answer()
    assert store.swap_backfills([Swap(before, after)], NOW) == [Swapped(done=True, row=after)]
    assert subject.was_repeated()
    late = replace(after, pace_seconds=8)
    assert store.swap_backfills([Swap(before, late)], NOW) == [Swapped(done=False, row=after)]
    absent = BackfillKey(KEY, "absent")
    assert store.read_backfills([absent, before.key]) == [None, after]
    assert store.backfills_of(KEY) == [after, backfill("other")]
    assert store.backfills_of(JobKey("acme", "another")) == []


@pytest.mark.parametrize("characters", [20, 5_000])
@pytest.mark.parametrize("characters_before", [20, 5_001])
def test_a_swap_with_work_replaces_the_work_and_one_without_leaves_it(
    subject: Subject, characters_before: int, characters: int
) -> None:
    store, before = subject.store, job(characters=characters_before)
    store.create_jobs([before], NOW)
    after = replace(before, work=work(characters), name="other", revision=2)
    if characters == 20:
        subject.lose_answer()
    assert store.swap_jobs([Swap(before, after, with_work=True)], NOW)[0].done
    assert store.read_jobs([KEY], with_work=True) == [after]
    later = replace(after, work=None, name="third", revision=3)
    assert store.swap_jobs([Swap(replace(after, work=None), later)], NOW)[0].done
    assert store.read_jobs([KEY], with_work=True) == [replace(later, work=work(characters))]
    stale = replace(before, work=work(7), revision=2)
    assert not store.swap_jobs([Swap(before, stale, with_work=True)], NOW)[0].done
    assert store.read_jobs([KEY], with_work=True) == [replace(later, work=work(characters))]


def test_work_of_a_runs_own_is_read_by_its_name(store: Store) -> None:
    names = store.save_works([(KEY, work(10)), (KEY, work(9_000))], NOW)
    assert store.save_works([(KEY, work(10))], NOW) == names[:1]
    assert store.read_works([(KEY, names[1]), (KEY, "none"), (KEY, names[0])]) == [work(9_000), None, work(10)]
    assert store.read_works([(JobKey("other", "job"), names[0])]) == [None]


def test_of_a_repeated_request_the_first_instant_is_remembered(subject: Subject) -> None:
    subject.lose_answer()
    assert subject.store.remember(KEY, "request", NOW, NOW) == NOW
    assert subject.store.remember(KEY, "request", NOW + 9, NOW + 9) == NOW
    assert subject.store.remember(KEY, "another", NOW + 9, NOW + 9) == NOW + 9
    assert subject.store.remember(JobKey("other", "job"), "request", NOW + 1, NOW + 1) == NOW + 1


def test_two_requests_of_one_instant_are_told_apart_by_their_runs(store: Store) -> None:
    mine = replace(run(origin=Origin.MANUAL), work_digest="work", request="request", fingerprint="print")
    other = replace(mine, request="another")
    assert store.insert_runs([mine], NOW) == [None]
    assert store.insert_runs([mine], NOW) == [None]
    assert store.insert_runs([other], NOW) == [mine]
    moved = replace(mine, state=RunState.RUNNING, revision=2)
    assert store.swap_runs([Swap(mine, moved)], NOW)[0].row == moved
    assert store.read_runs([mine.id]) == [moved]


def test_a_swap_of_no_row_is_refused_without_one(store: Store) -> None:
    missing = _bare(job())
    assert _swap(store, missing, advanced(missing, NOW, 1, NOW)) == Swapped(done=False, row=None)
    (answer,) = store.swap_runs([Swap(run(), RUNNING)], NOW)
    assert (answer.done, answer.row) == (False, None)
    assert store.read_jobs([KEY]) == [None]
    assert store.read_runs([run_id()]) == [None]


def test_of_many_swaps_each_is_judged_alone(store: Store) -> None:
    there = [run(NOW + step) for step in range(30)]
    store.insert_runs(there, NOW)
    moved = [claimed(row, "first", NOW, 30_000) for row in there]
    store.swap_runs([Swap(row, after) for row, after in list(zip(there, moved, strict=True))[::2]], NOW)
    late = [claimed(row, "second", NOW, 30_000) for row in there]
    answers = store.swap_runs([Swap(row, after) for row, after in zip(there, late, strict=True)], NOW)
    assert [answer.done for answer in answers] == [False, True] * 15
    assert [answer.row for answer in answers] == [moved[step] if step % 2 == 0 else late[step] for step in range(30)]


@pytest.mark.parametrize("move", JOB_MOVES)
def test_a_job_swap_whose_answer_was_lost_and_which_was_repeated_is_done(subject: Subject, move: str) -> None:
    subject.store.create_jobs([job()], NOW)
    before = _bare(job())
    after = JOB_MOVES[move](before)
    subject.lose_answer()
    assert _swap(subject.store, before, after) == Swapped(done=True, row=after)
    assert subject.was_repeated()


@pytest.mark.parametrize("move", RUN_MOVES)
def test_a_run_swap_whose_answer_was_lost_and_which_was_repeated_is_done(subject: Subject, move: str) -> None:
    before, after = RUN_MOVES[move]
    subject.store.insert_runs([before], NOW)
    subject.lose_answer()
    assert subject.store.swap_runs([Swap(before, after)], NOW) == [Swapped(done=True, row=after)]
    assert subject.was_repeated()


@pytest.mark.parametrize("characters", [20, 5_000])
def test_a_creation_whose_answer_was_lost_and_which_was_repeated_is_a_creation(
    subject: Subject, characters: int
) -> None:
    row = job(characters=characters)
    subject.lose_answer()
    assert subject.store.create_jobs([row], NOW) == [None]
    assert subject.was_repeated()
    assert subject.store.read_jobs([KEY], with_work=True) == [row]


def test_an_insert_whose_answer_was_lost_and_which_was_repeated_is_an_insert(subject: Subject) -> None:
    for row in (run(), run(NOW + 1, due_at=NOW), run(NOW + 2, RunState.SKIPPED, last_fire_at=NOW + 9)):
        subject.lose_answer()
        assert subject.store.insert_runs([row], NOW) == [None]
        assert subject.was_repeated()
        assert subject.store.read_runs([row.id]) == [row]


def test_a_conclusion_whose_answer_was_lost_and_which_was_repeated_holds(subject: Subject) -> None:
    subject.store.create_jobs([one_off()], NOW)
    subject.lose_answer()
    assert subject.store.conclude_jobs([Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW + 4)]) == [True]


def test_a_partition_taken_with_a_lost_answer_is_taken(subject: Subject) -> None:
    for owner in (Owner("2026-11-21T09:30", "a"), Owner("2026-11-21T09:31", "a")):
        subject.lose_answer()
        assert subject.store.take_partition(0, owner, [0]) == {}
        assert subject.store.take_partition(0, owner, [0]) == {}


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
    store.create_jobs([before], NOW)
    conclusion = Conclusion(KEY, fire_at, JobStatus.COMPLETED, NOW + 4)
    if is_wide:
        conclusion = replace(conclusion, open_statuses=MORE_STATUSES)
    assert store.conclude_jobs([conclusion]) == [holds]
    (row,) = store.read_jobs([KEY], with_work=True)
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
    assert store.conclude_jobs([Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW)]) == [False]
    assert store.read_jobs([KEY]) == [None]


def test_a_swap_after_a_conclusion_is_refused(store: Store) -> None:
    store.create_jobs([one_off()], NOW)
    before = _bare(one_off())
    store.conclude_jobs([Conclusion(KEY, NOW, JobStatus.COMPLETED, NOW + 4)])
    (answer,) = store.swap_jobs([Swap(before, advanced(before, None, 1, NOW))], NOW)
    assert not answer.done
    assert answer.row is not None
    assert answer.row.status is JobStatus.COMPLETED


def test_of_threads_that_race_on_one_row_exactly_one_wins(store: Store) -> None:
    for step in range(3):
        row = run(NOW + step)
        results: list[tuple[str, bool]] = []
        together = threading.Barrier(6)

        def race(
            name: str, row: Run = row, results: list[tuple[str, bool]] = results, together: threading.Barrier = together
        ) -> None:
            together.wait()
            mine = replace(row, owner=name)
            inserted = store.insert_runs([mine], NOW)[0] is None
            results.append((f"inserted by {name}", inserted))
            standing = store.read_runs([row.id])[0]
            assert standing is not None
            together.wait()
            after = claimed(row, name, NOW, 30_000)
            results.append((f"claimed by {name}", store.swap_runs([Swap(row, after)], NOW)[0].done))

        threads = [threading.Thread(target=race, args=(f"thread-{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(won for what, won in results if what.startswith("inserted")) == 1
        (winner,) = [what.rpartition(" ")[2] for what, won in results if won and what.startswith("claimed")]
        (standing,) = store.read_runs([row.id])
        assert standing is not None
        assert standing.owner == winner
