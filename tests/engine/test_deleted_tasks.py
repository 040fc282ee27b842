"""Deleted tasks, and jobs that arrive at the same time: no run is left without a target."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play
from tests.engine.tasks import KEY, SAYS, TASK, begin, of_task, put, the_run, urls
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.changes.change import cancel
from timeball.engine.filtered_pages import MAX_EXAMINED
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.tasks import MOST_PAGES, TaskOutcome, create_task, delete_task, list_tasks


def test_a_task_that_open_jobs_name_is_not_deleted() -> None:
    play, _ = begin(at=NOW + MINUTE_MS)
    play.store_jobs([of_task(name=f"other-{n}", at=NOW + MINUTE_MS) for n in range(2)])
    refused = delete_task(play.context(), TASK)
    assert (refused.outcome, refused.users and (refused.users.count, refused.users.is_more)) == (
        TaskOutcome.IN_USE,
        (3, False),
    )
    cancel(play.context(), [(JobKey("acme", name), None) for name in ("job", "other-0", "other-1")])
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.DONE
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.NOT_FOUND
    assert list_tasks(play.context(), "acme", 10).items == ()


def test_with_very_many_jobs_the_answer_is_a_lower_bound() -> None:
    play = Play()
    put(play)
    play.store_jobs([of_task(name=f"job-{n}", at=NOW + MINUTE_MS) for n in range(130)])
    users = delete_task(play.context(), TASK).users
    assert users is not None
    assert (users.count, users.is_more) == (100, True)


def test_an_open_job_after_a_thousand_ended_ones_keeps_its_task() -> None:
    play, job = begin(at=NOW + MINUTE_MS)
    _store_ended(play, job, 1_100)
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.IN_USE
    cancel(play.context(), [(KEY, None)])
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.DONE


def _store_ended(play: Play, job: Job, many: int) -> None:
    ended = replace(job, status=JobStatus.COMPLETED, due_at=None)
    rows = [evolve(ended, created_at=job.created_at + 1 + number) for number in range(many)]
    play.store.jobs.insert([with_spec(one, key=JobKey("acme", f"ended-{n}")) for n, one in enumerate(rows)], NOW)


def test_a_deletion_reads_each_ended_job_once_and_the_newest_twice() -> None:
    play, job = begin(at=NOW + MINUTE_MS)
    _store_ended(play, job, 3_000)
    cancel(play.context(), [(KEY, None)])
    read, count = play.store.jobs.read, list[int]()

    def counted(keys: Sequence[JobKey], *, strong: bool = True) -> list[Job | None]:
        count.append(len(keys))
        return read(keys, strong=strong)

    play.store.jobs.read = counted  # type: ignore[method-assign,assignment]
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.DONE
    assert 3_001 <= sum(count) <= 3_001 + MAX_EXAMINED + 100


@pytest.mark.more
def test_a_task_with_more_ended_jobs_than_a_deletion_reads_is_not_deleted() -> None:
    play, job = begin(at=NOW + MINUTE_MS)
    _store_ended(play, job, MOST_PAGES * MAX_EXAMINED + 1)
    refused = delete_task(play.context(), TASK)
    assert refused.outcome is TaskOutcome.IN_USE
    assert refused.users is not None
    assert (refused.users.one, refused.users.ended) == (None, MOST_PAGES * MAX_EXAMINED)


def test_a_job_that_arrives_during_the_deletion_of_its_task_keeps_the_task() -> None:
    play, _ = begin(at=NOW + MINUTE_MS)
    store, asked = play.store, list[object]()
    of = store.jobs.of_task

    def lagging(*args: object, **how: object) -> object:
        asked.append(args)
        return [] if len(asked) == 1 else of(*args, **how)  # type: ignore[arg-type]

    store.jobs.of_task = lagging  # type: ignore[method-assign,assignment]
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.IN_USE
    (task,) = store.tasks.read([TASK])
    assert task is not None
    assert (task.is_deleted, task.version) == (False, 1)


def test_a_job_that_the_deletion_misses_goes_on_with_the_last_version() -> None:
    play, _ = begin(at=NOW + MINUTE_MS)
    store = play.store
    of = store.jobs.of_task
    store.jobs.of_task = lambda *_, **__: []  # type: ignore[method-assign]
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.DONE
    store.jobs.of_task = of  # type: ignore[method-assign]
    play.clock.advance(MINUTE_MS)
    play.run_on(KEY)
    assert (urls(play), the_run(play).state) == (["one"], RunState.SUCCEEDED)


def test_a_finished_job_that_is_triggered_uses_its_deleted_task_and_then_a_new_one_of_that_name() -> None:
    play, _ = begin()
    play.run_on(KEY)
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.DONE
    trigger(play.context(), [Trigger(KEY, fingerprint="f")])
    play.execute_next()
    third = create_task(play.context(), replace(SAYS, target=HttpTarget("https://new.example")))
    assert (third.outcome, third.task and third.task.version) == (TaskOutcome.CREATED, 2)
    trigger(play.context(), [Trigger(KEY, fingerprint="g")])
    play.execute_next()
    assert urls(play) == ["one", "one", "new"]
