"""Runs of jobs with tasks: a change of a task applies to later runs, and a run keeps the version of its first claim."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from tests.engine.tasks import KEY, SAYS, TASK, begin, of_task, put, the_run, urls
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import Jitter, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, Override, TaskUse
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import cancel
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.dead_letters import DeadFilter, list_dead
from timeball.engine.runs.manual import retry_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.tasks import TaskOutcome, create_task, delete_task, revise_task
from timeball.testing.memory_store import MemoryStore


def test_a_run_calls_its_tasks_target_with_its_jobs_payload_and_shows_the_version_it_used() -> None:
    play, _ = begin()
    play.run_on(KEY)
    ((_, call),) = play.caller.calls
    assert (call.work, call.timeout_seconds) == (Work(SAYS.target, '{"n": 1}'), 60)
    assert (the_run(play).task_id, the_run(play).task_version) == ("mail", 1)


def test_a_change_of_the_task_applies_to_later_runs() -> None:
    play, _ = begin(at=NOW + MINUTE_MS)
    put(play)
    play.clock.advance(MINUTE_MS)
    play.run_on(KEY)
    assert (urls(play), the_run(play).task_version) == (["two"], 2)


def test_a_change_of_the_task_applies_to_a_run_that_is_sent_but_not_claimed_yet() -> None:
    play, _ = begin()
    play.scan_all()
    assert (the_run(play).task_id, the_run(play).task_version) == ("mail", None)
    put(play)
    play.run_on(KEY)
    assert urls(play) == ["two"]


def test_a_retry_keeps_the_version_of_the_first_attempt() -> None:
    play, _ = begin()
    play.caller.statuses = [500, 500]
    play.caller.meanwhile = lambda: put(play, retry=RetryPolicy(max_retries=0), timeout_seconds=7)
    play.run_on(KEY)
    assert [call.timeout_seconds for _, call in play.caller.calls] == [60, 60, 60]
    assert (urls(play), the_run(play).state, the_run(play).task_version) == (["one"] * 3, RunState.SUCCEEDED, 1)


def test_a_manual_retry_uses_the_current_version_of_the_task() -> None:
    play, _ = begin()
    play.caller.statuses = [400]
    play.run_on(KEY)
    put(play)
    retry_runs(play.context(), [the_run(play).id])
    play.run_on(KEY)
    assert (urls(play), the_run(play).task_version) == (["one", "two"], 2)


def test_the_retries_after_a_manual_one_keep_its_version() -> None:
    play, _ = begin()
    play.caller.statuses = [400, 200]
    play.run_on(KEY)
    second = put(play)
    retry_runs(play.context(), [the_run(play).id])
    play.caller.statuses = [500, 200]
    play.scan_all()
    play.execute_next()
    put(play, "https://three.example/hook")
    play.run_on(KEY)
    assert (urls(play), the_run(play).task_version) == (["one", "two", "two"], second.version)


def test_the_jobs_own_values_stay_whatever_becomes_of_the_task() -> None:
    play, _ = begin(Override.TIMEOUT, at=NOW + MINUTE_MS)
    put(play, timeout_seconds=7)
    play.clock.advance(MINUTE_MS)
    play.run_on(KEY)
    ((_, call),) = play.caller.calls
    assert call.timeout_seconds == 300


@pytest.mark.parametrize(("own", "priority"), [((), Priority.HIGH), ((Override.PRIORITY,), Priority.NORMAL)])
def test_the_queue_is_that_of_the_task_when_the_run_is_made(own: tuple[Override, ...], priority: Priority) -> None:
    play, _ = begin(*own, at=NOW + MINUTE_MS)
    put(play, priority=Priority.HIGH)
    play.clock.advance(MINUTE_MS)
    play.scan_all()
    assert the_run(play).priority == priority


def test_a_triggered_run_uses_the_task_too() -> None:
    play, _ = begin(at=NOW + 10 * MINUTE_MS, priority=Priority.HIGH)
    (made,) = trigger(play.context(), [Trigger(KEY, '"own"', has_payload=True, fingerprint="f")])
    assert made.run is not None
    assert (made.run.priority, made.run.task_id) == (Priority.HIGH, "mail")
    play.execute_next()
    ((_, call),) = play.caller.calls
    assert call.work == Work(SAYS.target, '"own"')


@pytest.mark.parametrize(("retries", "state"), [(0, RunState.FAILED), (2, RunState.RETRYING)])
def test_a_later_report_is_judged_by_the_version_that_called_the_target(retries: int, state: RunState) -> None:
    play, _ = begin(completion=Completion.CALLBACK, heartbeat_seconds=30, retry=RetryPolicy(retries))
    play.caller.statuses = [202]
    play.scan_all()
    play.execute_next()
    put(play, completion=Completion.ANSWER, retry=RetryPolicy(2 - retries))
    ((refusal, _),) = report(play.context(), [Report(the_run(play).id, 1, error="It broke.")])
    assert refusal is None
    assert the_run(play).state is state


@pytest.mark.parametrize(("retries", "called"), [(0, ["one"]), (2, ["one", "one"])])
def test_a_run_whose_heartbeats_cease_is_retried_by_the_version_that_called_it(retries: int, called: list[str]) -> None:
    play, _ = begin(completion=Completion.CALLBACK, heartbeat_seconds=30, retry=RetryPolicy(retries))
    play.caller.statuses = [202]
    play.scan_all()
    play.execute_next()
    put(play, retry=RetryPolicy(2 - retries))
    play.run_on(KEY)
    assert (urls(play), the_run(play).attempt) == (called, len(called))


def test_an_expired_version_is_replaced_by_the_current_one() -> None:
    play, _ = begin()
    play.caller.statuses = [500]
    play.scan_all()
    play.execute_next()
    put(play)
    assert isinstance(play.store, MemoryStore)
    play.store.tasks.replaced.clear()
    play.run_on(KEY)
    assert (urls(play), the_run(play).task_version) == (["one", "two"], 2)


def test_a_job_that_is_given_another_task_runs_that_from_its_next_attempt_on() -> None:
    play, job = begin()
    other = replace(SAYS, key=TaskKey("acme", "other"), target=HttpTarget("https://other.example"))
    create_task(play.context(), other)
    play.caller.statuses = [500]
    play.scan_all()
    play.execute_next()
    row = play.job(job.key)
    play.store.jobs.write(KEY, replace(row, spec=replace(job.spec, task=TaskUse("other"))), NOW)  # type: ignore[attr-defined]
    play.run_on(KEY)
    assert urls(play) == ["one", "other"]
    assert (the_run(play).task_id, the_run(play).task_version) == ("other", 1)


def test_a_dead_letter_is_found_by_its_task() -> None:
    play, _ = begin()
    create_task(play.context(), replace(SAYS, key=TaskKey("acme", "other")))
    play.store_jobs([of_task(name="second", task="other")])
    play.caller.statuses = [400, 400]
    play.run_on(KEY)
    assert play.runs(JobKey("acme", "second"))[0].state is RunState.FAILED
    found = list_dead(play.context(), DeadFilter("acme", task_id="other"), 10)
    assert [run.id.job.job_id for run in found.runs] == ["second"]


def test_a_job_of_another_tenant_uses_another_task() -> None:
    play = Play()
    put(play)
    play.store_jobs([replace(of_task(), key=JobKey("other", "job"))])
    assert delete_task(play.context(), TASK).outcome is TaskOutcome.DONE


def test_of_two_writers_of_a_task_one_is_refused_and_versions_keep_their_content() -> None:
    play, _ = begin()
    (standing,) = play.store.tasks.read([TASK])
    assert standing is not None
    first = revise_task(play.context(), standing, replace(SAYS, timeout_seconds=1))
    second = revise_task(play.context(), standing, replace(SAYS, timeout_seconds=2))
    assert (first.outcome, second.outcome) == (TaskOutcome.DONE, TaskOutcome.STALE)
    assert second.task == first.task
    assert revise_task(play.context(), first.task or standing, replace(SAYS, timeout_seconds=1)).task == first.task
    _, (one, two) = play.store.jobs.read_with_tasks([], [standing.ref, replace(standing.ref, version=2)])
    assert [task and task.spec.timeout_seconds for task in (one, two)] == [60, 1]


def test_a_cancel_searches_as_far_back_as_any_version_of_the_task_lets_a_run_live() -> None:
    play = Play()
    put(play, retry=RetryPolicy(100, base_seconds=86_400, factor=1.0, max_seconds=86_400, jitter=Jitter.NONE))
    play.store_jobs([replace(spec("job", Every(10 * 86_400, NOW)), work=Work(), task=TaskUse("mail"))])
    play.caller.statuses = [500]
    play.scan_all()
    play.execute_next()
    put(play, retry=RetryPolicy(max_retries=0), timeout_seconds=1)
    first = the_run(play)
    assert first.state is RunState.RETRYING
    play.clock.advance(40 * 86_400 * SECOND_MS)
    cancel(play.context(), [(KEY, None)])
    (found,) = play.store.runs.read([first.id])
    assert found is not None
    assert found.state is RunState.CANCELLED
