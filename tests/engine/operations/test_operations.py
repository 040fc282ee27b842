"""Bulk operations: what they do, to which jobs, how fast, and how they end."""

from dataclasses import replace

import pytest

from tests.engine.operations.operations import (
    BY,
    CANCEL,
    PAUSE,
    RESUME,
    TRIGGER,
    keys_of,
    operation,
    repeat,
    scan_to_its_end,
    standing,
    statuses,
    store_many,
    through,
)
from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service
from timeball.domain.model.ids import JobKey, Origin, RunId, TaskKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.operation import (
    MAX_FAILURES,
    Failure,
    JobFault,
    JobMatch,
    OperationAction,
    OperationStatus,
)
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import cancel, pause
from timeball.engine.changes.history import ChangeFilter, list_changes
from timeball.engine.operations.operation import advance_operations, cancel_operation, create_operation


@pytest.mark.parametrize(
    ("action", "status"),
    [(PAUSE, JobStatus.PAUSED), (RESUME, JobStatus.PENDING), (CANCEL, JobStatus.CANCELLED)],
)
def test_every_open_job_is_changed_and_one_already_in_the_wanted_state_counts(
    action: OperationAction, status: JobStatus
) -> None:
    play = Play()
    jobs = store_many(play, 5)
    pause(play.context(), [(job.key, None) for job in jobs[:2]])
    over = through(play, operation(action, NOW))
    assert statuses(play, jobs) == [status] * 5
    assert (over.status, over.matched, over.done, over.failed) == (OperationStatus.SUCCEEDED, 5, 5, 0)
    assert (over.due_at, over.batch) == (None, ())


def test_an_operation_that_matches_nothing_ends_as_soon_as_each_job_is_sure_to_be_listed() -> None:
    play = Play()
    store_many(play, 3)
    create_operation(play.context(), operation(PAUSE, NOW, JobMatch({"team": "blue"})))
    assert standing(play).is_running
    over = scan_to_its_end(play, most=3)
    assert (over.status, over.matched, over.done, over.due_at) == (OperationStatus.SUCCEEDED, 0, 0, None)


def test_a_small_operation_is_done_within_the_request() -> None:
    play = Play()
    jobs = store_many(play, 50)
    create_operation(play.context(), operation(PAUSE, NOW))
    assert statuses(play, jobs) == [JobStatus.PAUSED] * 50


# Columns: the match, and which of the jobs that `_various` stores a pause matches.
MATCHES = {
    "all": (JobMatch(), ["plain", "blue", "both", "of a task", "paused"]),
    "a tag": (JobMatch({"team": "blue"}), ["blue", "both"]),
    "all of some tags": (JobMatch({"team": "blue", "env": "test"}), ["both"]),
    "a tag of another value": (JobMatch({"team": "red"}), []),
    "a task": (JobMatch(task_id="mail"), ["of a task"]),
    "a status": (JobMatch(status="paused"), ["paused"]),
    "a status and a tag": (JobMatch({"team": "blue"}, status="pending"), ["blue", "both"]),
}


def _various(play: Play) -> None:
    def one(name: str, **fields: object) -> None:
        made = replace(spec(name.replace(" ", "-"), Every(60, NOW + DAY_MS)), **fields)  # type: ignore[arg-type]
        play.store_jobs([made], NOW - 10)

    one("plain")
    one("blue", tags={"team": "blue"})
    one("both", tags={"team": "blue", "env": "test"})
    one("of a task", task=TaskUse("mail"))
    one("paused")
    one("cancelled", tags={"team": "blue"})
    play.store_jobs([replace(spec("foreign", Every(60, NOW + DAY_MS)), key=JobKey("other", "foreign"))], NOW - 10)
    pause(play.context(), [(JobKey("acme", "paused"), None)])
    cancel(play.context(), [(JobKey("acme", "cancelled"), None)])


@pytest.mark.parametrize("case", MATCHES)
def test_the_matching_jobs_are_those_that_match_in_their_current_state(case: str) -> None:
    match, meant = MATCHES[case]
    play = Play()
    _various(play)
    over = through(play, operation(PAUSE, NOW, match))
    assert (over.matched, over.done, over.failed) == (len(meant), len(meant), 0)
    paused = {key.job_id for key, job in play.store.jobs.items() if job.status is JobStatus.PAUSED}  # type: ignore[attr-defined]
    assert paused == {name.replace(" ", "-") for name in [*meant, "paused"]}


def test_a_job_that_was_created_later_does_not_match() -> None:
    play = Play()
    store_many(play, 3)
    play.store_jobs([spec("later", Every(60, NOW + DAY_MS))], NOW + 1)
    over = through(play, operation(PAUSE, NOW))
    assert over.matched == 3
    assert play.job(JobKey("acme", "later")).status is JobStatus.PENDING


def test_the_first_hundred_failures_are_recorded_and_stop_nothing() -> None:
    play = Play()
    jobs = store_many(play, 130)
    cancel(play.context(), [(job.key, None) for job in jobs])
    over = through(play, operation(PAUSE, NOW, JobMatch(status="cancelled")))
    assert (over.status, over.matched, over.done, over.failed) == (OperationStatus.FAILED, 130, 0, 130)
    assert over.failures == tuple(Failure(job.key.job_id, JobFault.JOB_ENDED) for job in jobs[:MAX_FAILURES])


def test_a_job_that_is_cancelled_before_the_operation_reaches_it_is_not_triggered() -> None:
    play = Play()
    jobs = store_many(play, 3)
    create_operation(play.context(), operation(TRIGGER, NOW, per_second=1))
    cancel(play.context(), [(jobs[2].key, None)])
    over = scan_to_its_end(play)
    assert (over.done, over.failures) == (2, (Failure(jobs[2].key.job_id, JobFault.JOB_CANCELLED),))
    assert play.runs(jobs[2].key) == []


def test_each_second_as_many_jobs_are_processed_as_the_request_allows() -> None:
    play = Play()
    jobs = store_many(play, 40)
    create_operation(play.context(), operation(TRIGGER, NOW, per_second=7))
    for second in range(1, 6):
        assert standing(play).done == min(7 * second, 40)
        play.clock.advance(SECOND_MS)
        for _ in range(3):  # more scans make it no faster
            play.scan()
    scan_to_its_end(play)
    starts = sorted(run.id.fire_at for job in jobs for run in play.runs(job.key))
    assert len(starts) == 40
    assert max(sum(at <= start < at + SECOND_MS for start in starts) for at in starts) <= 7


def test_after_an_outage_of_the_scans_the_operation_keeps_its_pace() -> None:
    play = Play()
    store_many(play, 40)
    create_operation(play.context(), operation(TRIGGER, NOW, per_second=7))
    play.clock.advance(60 * SECOND_MS)
    play.scan()
    play.scan()
    assert standing(play).done == 14


def test_a_trigger_makes_one_run_of_each_job_in_the_name_of_the_requester() -> None:
    with Service(Play()) as service:
        play = service.play
        jobs = store_many(play, 12)
        create_operation(play.context(), operation(TRIGGER, NOW, per_second=5))
        service.until(NOW + 10 * SECOND_MS)
        runs = [run for job in jobs for run in play.runs(job.key)]
    assert [run.id.job for run in runs] == keys_of(jobs)
    assert {(run.id.origin, run.state, run.triggered_by) for run in runs} == {
        (Origin.MANUAL, RunState.SUCCEEDED, replace(BY, operation="op1"))
    }


def test_the_log_of_changes_names_the_requester_and_the_operation() -> None:
    play = Play()
    store_many(play, 3)
    through(play, operation(PAUSE, NOW))
    logged = list_changes(play.context(), ChangeFilter("acme", key_id="key_1"), 10).items
    assert [(one.action, one.by) for one in logged] == [("pause", replace(BY, operation="op1"))] * 3


def test_a_cancelled_operation_processes_no_more_jobs() -> None:
    play = Play()
    jobs = store_many(play, 30)
    create_operation(play.context(), operation(PAUSE, NOW, per_second=5))
    cancelled = cancel_operation(play.context(), standing(play))
    assert (cancelled.status, cancelled.version, cancelled.due_at) == (OperationStatus.CANCELLED, 2, None)
    for _ in range(5):
        play.clock.advance(SECOND_MS)
        play.scan()
    assert statuses(play, jobs) == [JobStatus.PAUSED] * 5 + [JobStatus.PENDING] * 25
    assert cancel_operation(play.context(), cancelled) == cancelled == standing(play)


def test_a_batch_under_way_at_the_cancel_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    jobs = store_many(play, 3)
    play.store.operations.insert([operation(PAUSE, NOW)], NOW)
    context = play.context()
    advance_operations(context, [standing(play)], NOW)  # the first search for jobs
    swap = context.store.operations.swap

    def cancelled_meanwhile(*asked: object) -> object:
        patch.undo()
        cancel_operation(context, standing(play))
        return swap(*asked)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(context.store.operations, "swap", cancelled_meanwhile)
        advance_operations(context, [standing(play)], NOW + 1)
    assert statuses(play, jobs) == [JobStatus.PAUSED] * 3
    assert (standing(play).status, standing(play).done) == (OperationStatus.CANCELLED, 3)


def test_a_task_of_another_tenant_or_name_matches_no_job() -> None:
    play = Play()
    _various(play)
    assert through(play, operation(PAUSE, NOW, JobMatch(task_id="letter"))).matched == 0
    assert TaskKey("acme", "letter") not in play.store.tasks  # type: ignore[operator]


def test_a_repeated_trigger_makes_one_run_at_the_instant_that_its_request_noted() -> None:
    play = Play()
    (job,) = store_many(play, 1)
    play.store.operations.insert([operation(TRIGGER, NOW)], NOW)
    advance_operations(play.context(), [standing(play)], NOW)
    begun = standing(play)
    for _ in range(3):
        play.clock.advance(SECOND_MS)
        repeat(play, begun)
    assert [run.id for run in play.runs(job.key)] == [RunId(job.key, NOW + SECOND_MS, Origin.MANUAL)]
