"""Inserts and swaps: what wins, what is refused, what a refusal tells, and what becomes of a lost answer."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, job, other_spec, run, run_id
from timeball.domain.attempt import Attempt, Outcome
from timeball.domain.callback import handed_over
from timeball.domain.change import cancelled, paused, resumed, revised
from timeball.domain.ids import JobKey, Origin
from timeball.domain.job import Job, advanced, fixed, guarded, pushed_back, settled
from timeball.domain.reach import noted
from timeball.domain.reason import Reason
from timeball.domain.run import (
    Run,
    RunState,
    asked_to_stop,
    claimed,
    discarded,
    due_again,
    ended,
    held_back,
    put_off,
    renewed,
    renewed_by_hand,
    requeued,
    retrying,
    withdrawn,
)
from timeball.ports import Owner, Store, Swap, Swapped

FAILED = Attempt(1, Outcome.FAILED, NOW, NOW + 1, NOW + 2, 500, "Es brach ab: ☹", "{}")
RUNNING = claimed(run(), "owner", NOW, 30_000)

HANDED_OVER = handed_over(RUNNING, replace(job(), heartbeat_seconds=30, timeout_seconds=600), NOW + 1, NOW + 2, 5_000)
DEAD = ended(RUNNING, RunState.FAILED, NOW + 9, Reason.NOT_RETRIABLE, FAILED)

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
    "one of its runs tried again by hand": lambda row: noted(noted(row, NOW - 5, NOW), NOW - 3, NOW + 1),
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
    "held back": (run(), held_back(run(), NOW + 30_000, Reason.CIRCUIT_OPEN, NOW)),
    "handed over": (RUNNING, HANDED_OVER),
    "heard of": (HANDED_OVER, replace(HANDED_OVER, revision=9, lease_until=NOW + 60_000)),
    "ended by its target's word": (HANDED_OVER, due_again(ended(HANDED_OVER, RunState.SUCCEEDED, NOW + 9), NOW + 9)),
    "tried again by hand": (DEAD, renewed_by_hand(DEAD, NOW + 99)),
    "discarded": (DEAD, discarded(DEAD, NOW + 9)),
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
    assert store.read_hosts([]) == []
    assert store.create_hosts([], NOW) == []
    assert store.swap_hosts([], NOW) == []
    assert store.save_attempts([], NOW) == []
    store.replace_attempts([], NOW)


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


def test_a_partition_taken_with_a_lost_answer_is_taken(subject: Subject) -> None:
    for owner in (Owner("2026-11-21T09:30", "a"), Owner("2026-11-21T09:31", "a")):
        subject.lose_answer()
        assert subject.store.take_partition(0, owner)
        assert subject.store.take_partition(0, owner)


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
