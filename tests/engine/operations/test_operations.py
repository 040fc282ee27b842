"""What an operation does, to which jobs, how fast, and how it ends."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.operations.operations import (
    BY,
    keys_of,
    operation,
    scan_to_its_end,
    standing,
    store_many,
)
from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service
from timeball.domain.model.ids import JobKey, Origin, RunId, TaskKey
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.policies import RetryPolicy
from timeball.domain.model.run import RunState
from timeball.domain.model.task_use import TaskUse
from timeball.domain.operations.operation import (
    MAX_FAILURES,
    Failure,
    Fault,
    Match,
    Operation,
    OperationAction,
    OperationStatus,
)
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.changes.history import AuditFilter, list_audit
from timeball.engine.operations.operation import cancel_operation, create_operation, move_on
from timeball.ports.errors import UnavailableError
from timeball.testing.faults import with_outages

PAUSE, RESUME, CANCEL = OperationAction.PAUSE, OperationAction.RESUME, OperationAction.CANCEL
TRIGGER, RETRY = OperationAction.TRIGGER, OperationAction.RETRY
NO_RETRIES = RetryPolicy(max_retries=0)


def _through(play: Play, asked: Operation) -> Operation:
    assert create_operation(play.context(), asked) is None
    return scan_to_its_end(play, asked.key.name)


def _statuses(play: Play, jobs: list[Job]) -> list[JobStatus]:
    return [play.job(job.key).status for job in jobs]


@pytest.mark.parametrize(
    ("action", "status"),
    [(PAUSE, JobStatus.PAUSED), (RESUME, JobStatus.PENDING), (CANCEL, JobStatus.CANCELLED)],
)
def test_every_open_job_is_changed_and_one_that_is_so_already_counts(
    action: OperationAction, status: JobStatus
) -> None:
    play = Play()
    jobs = store_many(play, 5)
    pause(play.context(), [(job.key, None) for job in jobs[:2]])
    over = _through(play, operation(action, NOW))
    assert _statuses(play, jobs) == [status] * 5
    assert (over.status, over.matched, over.done, over.failed) == (OperationStatus.SUCCEEDED, 5, 5, 0)
    assert (over.due_at, over.batch) == (None, ())


def test_where_nothing_matches_it_ends_at_once() -> None:
    play = Play()
    store_many(play, 3)
    create_operation(play.context(), operation(PAUSE, NOW, Match({"team": "blue"})))
    over = standing(play)
    assert (over.status, over.matched, over.done, over.due_at) == (OperationStatus.SUCCEEDED, 0, 0, None)


def test_all_is_done_in_the_request_if_it_is_little() -> None:
    play = Play()
    jobs = store_many(play, 50)
    create_operation(play.context(), operation(PAUSE, NOW))
    assert _statuses(play, jobs) == [JobStatus.PAUSED] * 50


# Of each: the match, and which of the jobs that `_various` stores are meant by a pause.
MATCHES = {
    "all": (Match(), ["plain", "blue", "both", "of a task", "paused"]),
    "a tag": (Match({"team": "blue"}), ["blue", "both"]),
    "all of some tags": (Match({"team": "blue", "env": "test"}), ["both"]),
    "a tag of another value": (Match({"team": "red"}), []),
    "a task": (Match(task_id="mail"), ["of a task"]),
    "a status": (Match(status="paused"), ["paused"]),
    "a status and a tag": (Match({"team": "blue"}, status="pending"), ["blue", "both"]),
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
def test_the_jobs_that_are_meant_are_those_that_match_as_they_are(case: str) -> None:
    match, meant = MATCHES[case]
    play = Play()
    _various(play)
    over = _through(play, operation(PAUSE, NOW, match))
    assert (over.matched, over.done, over.failed) == (len(meant), len(meant), 0)
    paused = {key.job_id for key, job in play.store.jobs.items() if job.status is JobStatus.PAUSED}  # type: ignore[attr-defined]
    assert paused == {name.replace(" ", "-") for name in [*meant, "paused"]}


def test_a_job_that_was_created_later_is_not_meant() -> None:
    play = Play()
    store_many(play, 3)
    play.store_jobs([spec("later", Every(60, NOW + DAY_MS))], NOW + 1)
    over = _through(play, operation(PAUSE, NOW))
    assert over.matched == 3
    assert play.job(JobKey("acme", "later")).status is JobStatus.PENDING


def test_what_is_not_possible_is_told_of_the_first_hundred_and_stops_nothing() -> None:
    play = Play()
    jobs = store_many(play, 130)
    cancel(play.context(), [(job.key, None) for job in jobs])
    over = _through(play, operation(PAUSE, NOW, Match(status="cancelled")))
    assert (over.status, over.matched, over.done, over.failed) == (OperationStatus.FAILED, 130, 0, 130)
    assert over.failures == tuple(Failure(job.key.job_id, Fault.JOB_ENDED) for job in jobs[:MAX_FAILURES])


def test_a_job_that_is_cancelled_before_its_turn_is_not_triggered() -> None:
    play = Play()
    jobs = store_many(play, 3)
    create_operation(play.context(), operation(TRIGGER, NOW, per_second=1))
    cancel(play.context(), [(jobs[2].key, None)])
    over = scan_to_its_end(play)
    assert (over.done, over.failures) == (2, (Failure(jobs[2].key.job_id, Fault.JOB_CANCELLED),))
    assert play.runs(jobs[2].key) == []


def test_each_second_as_many_jobs_have_their_turn_as_were_asked_for() -> None:
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


def test_after_an_outage_of_the_scans_nothing_is_made_up_for_at_once() -> None:
    play = Play()
    store_many(play, 40)
    create_operation(play.context(), operation(TRIGGER, NOW, per_second=7))
    play.clock.advance(60 * SECOND_MS)
    play.scan()
    play.scan()
    assert standing(play).done == 14


def test_a_trigger_makes_one_run_of_each_job_in_the_name_of_who_asked() -> None:
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


def test_the_audit_log_names_who_asked_and_the_operation() -> None:
    play = Play()
    store_many(play, 3)
    _through(play, operation(PAUSE, NOW))
    logged = list_audit(play.context(), AuditFilter("acme", key_id="key_1"), 10).items
    assert [(one.action, one.by) for one in logged] == [("pause", replace(BY, operation="op1"))] * 3


def test_a_cancelled_operation_deals_with_no_more_jobs() -> None:
    play = Play()
    jobs = store_many(play, 30)
    create_operation(play.context(), operation(PAUSE, NOW, per_second=5))
    cancelled = cancel_operation(play.context(), standing(play))
    assert (cancelled.status, cancelled.version, cancelled.due_at) == (OperationStatus.CANCELLED, 2, None)
    for _ in range(5):
        play.clock.advance(SECOND_MS)
        play.scan()
    assert _statuses(play, jobs) == [JobStatus.PAUSED] * 5 + [JobStatus.PENDING] * 25
    assert cancel_operation(play.context(), cancelled) == cancelled == standing(play)


def test_what_was_under_way_when_it_was_cancelled_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    jobs = store_many(play, 3)
    play.store.operations.insert([operation(PAUSE, NOW)], NOW)
    context = play.context()
    move_on(context, [standing(play)], NOW)  # the first look
    swap = context.store.operations.swap

    def cancelled_meanwhile(*asked: object) -> object:
        patch.undo()
        cancel_operation(context, standing(play))
        return swap(*asked)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(context.store.operations, "swap", cancelled_meanwhile)
        move_on(context, [standing(play)], NOW + 1)
    assert _statuses(play, jobs) == [JobStatus.PAUSED] * 3
    assert (standing(play).status, standing(play).done) == (OperationStatus.CANCELLED, 3)


def _repeat(play: Play, begun: Operation) -> None:
    """Let somebody who has read the operation long ago do what it saw."""
    move_on(play.context(), [begun], play.clock.now() + 1)


# What a user does after the turn of a job, by the operation that it undoes.
UNDOING: dict[OperationAction, Callable[[Play, JobKey], object]] = {
    PAUSE: lambda play, key: resume(play.context(), [(key, None)]),
    RESUME: lambda play, key: pause(play.context(), [(key, None)]),
}


@pytest.mark.parametrize("action", UNDOING)
@pytest.mark.parametrize("times", [1, 15])
def test_what_a_user_makes_of_a_job_after_its_turn_stays(action: OperationAction, times: int) -> None:
    play = Play()
    jobs = store_many(play, 3)
    if action is RESUME:
        pause(play.context(), [(job.key, None) for job in jobs])
    play.store.operations.insert([operation(action, NOW)], NOW)
    move_on(play.context(), [standing(play)], NOW)
    begun = standing(play)
    assert len(begun.batch) == 3
    move_on(play.context(), [begun], NOW + 1)
    for _ in range(times):
        play.clock.advance(SECOND_MS)
        UNDOING[PAUSE if play.job(jobs[0].key).status is JobStatus.PAUSED else RESUME](play, jobs[0].key)
    left_as = play.job(jobs[0].key)
    _repeat(play, begun)
    assert play.job(jobs[0].key) == left_as
    assert standing(play).done == 3


def _dead_jobs(service: Service, count: int) -> list[JobKey]:
    """Let one-offs fail for good, and a recurring job's newest run."""
    play = service.play
    service.target.statuses = [400] * (count + 1)
    specs = [spec(f"once-{n}", At(NOW + SECOND_MS), retry=NO_RETRIES) for n in range(count)]
    specs.append(spec("recurring", Every(3600, NOW + SECOND_MS), retry=NO_RETRIES))
    play.store_jobs(specs)
    service.until(NOW + 5 * SECOND_MS)
    return [one.key for one in specs]


def test_a_retry_is_for_the_newest_run_of_each_job_if_that_is_a_dead_letter() -> None:
    with Service(Play()) as service:
        play = service.play
        keys = _dead_jobs(service, 4)
        (lively,) = play.store_jobs([spec("lively", Every(2, NOW))], NOW + 5 * SECOND_MS)
        play.clock.advance(1)
        create_operation(play.context(), operation(RETRY, play.clock.now()))
        service.until(NOW + 20 * SECOND_MS)
        over = standing(play)
        assert (over.status, over.matched, over.done) == (OperationStatus.SUCCEEDED, 6, 6)
        assert [[run.state for run in play.runs(key)] for key in keys] == [[RunState.SUCCEEDED]] * 5
        assert play.job(keys[0]).status is JobStatus.COMPLETED
        assert all(run.attempt <= 1 for run in play.runs(lively.key))


def test_a_run_that_fails_again_is_not_tried_again_by_the_same_operation() -> None:
    with Service(Play()) as service:
        play = service.play
        (key, _) = _dead_jobs(service, 1)
        at = play.clock.now()
        play.store.operations.insert([operation(RETRY, at, Match(status="failed"))], at)
        move_on(play.context(), [standing(play)], at)
        begun = standing(play)
        service.target.statuses = [400]
        service.until(at + 5 * SECOND_MS)
        assert [(run.state, run.attempt) for run in play.runs(key)] == [(RunState.FAILED, 2)]
        _repeat(play, begun)
        service.until(at + 10 * SECOND_MS)
        assert [(run.state, run.attempt) for run in play.runs(key)] == [(RunState.FAILED, 2)]
        assert standing(play).done == 1


def test_a_discarded_dead_letter_is_left_alone() -> None:
    with Service(Play()) as service:
        play = service.play
        (key, _) = _dead_jobs(service, 1)
        (run,) = play.runs(key)
        play.store.runs[run.id] = replace(run, discarded_at=play.clock.now())  # type: ignore[index]
        create_operation(play.context(), operation(RETRY, play.clock.now(), Match(status="failed")))
        service.until(play.clock.now() + 5 * SECOND_MS)
        assert [run.state for run in play.runs(key)] == [RunState.FAILED]


@pytest.mark.parametrize(("count", "missed"), [(5, 2), (5, 4), (1, 0)])
def test_a_job_that_moves_between_two_statuses_while_the_listing_is_read_is_found(
    monkeypatch: pytest.MonkeyPatch, count: int, missed: int
) -> None:
    play = Play()
    jobs = store_many(play, count)
    listed = play.store.jobs.listed

    def moving(*asked: object) -> object:
        patch.undo()
        return [one for one in listed(*asked) if one[1] != jobs[missed].key]  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(play.store.jobs, "listed", moving)
        create_operation(play.context(), operation(CANCEL, NOW))
    over = scan_to_its_end(play)
    assert _statuses(play, jobs) == [JobStatus.CANCELLED] * count
    assert (over.matched, over.done) == (count, count)


def test_a_job_of_which_the_listing_does_not_know_yet_is_found() -> None:
    play = Play()
    store_many(play, 3)
    create_operation(play.context(), operation(PAUSE, NOW))
    play.store_jobs([spec("just-created", Every(60, NOW + DAY_MS))], NOW)
    assert scan_to_its_end(play).matched == 4


def test_a_job_that_cannot_be_changed_just_now_is_tried_again_and_then_left() -> None:
    play = Play()
    jobs = store_many(play, 3)
    store = play.store
    play.store = with_outages(store, lambda name, item: name == "jobs.swap" and "job-00001" in repr(item))
    create_operation(play.context(), operation(PAUSE, NOW))
    assert standing(play).done == 1
    over = scan_to_its_end(play)
    assert (over.done, over.failures) == (2, (Failure("job-00001", Fault.UNAVAILABLE),))
    assert _statuses(play, jobs) == [JobStatus.PAUSED, JobStatus.PENDING, JobStatus.PAUSED]
    assert play.clock.now() - NOW > 4 * 60 * SECOND_MS


def test_after_a_short_outage_every_job_is_done() -> None:
    play = Play()
    jobs = store_many(play, 3)
    store = play.store
    play.store = with_outages(store, lambda name, _: name == "jobs.swap")
    create_operation(play.context(), operation(PAUSE, NOW))
    play.store = store
    over = scan_to_its_end(play)
    assert (over.status, over.done) == (OperationStatus.SUCCEEDED, 3)
    assert _statuses(play, jobs) == [JobStatus.PAUSED] * 3


def test_an_operation_is_stored_although_nothing_can_be_done_just_now(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    jobs = store_many(play, 3)

    def unavailable(*_: object) -> None:
        raise UnavailableError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(play.store.jobs, "listed", unavailable)
        assert create_operation(play.context(), operation(PAUSE, NOW)) is None
    assert scan_to_its_end(play).done == 3
    assert _statuses(play, jobs) == [JobStatus.PAUSED] * 3


def test_a_status_that_the_operation_itself_changes_hides_no_job_from_it() -> None:
    play = Play()
    jobs = store_many(play, 350)
    over = _through(play, operation(PAUSE, NOW, Match(status="pending")))
    assert (over.matched, over.done) == (350, 350)
    assert _statuses(play, jobs) == [JobStatus.PAUSED] * 350


def test_the_task_of_another_tenant_or_name_means_no_job() -> None:
    play = Play()
    _various(play)
    assert _through(play, operation(PAUSE, NOW, Match(task_id="letter"))).matched == 0
    assert TaskKey("acme", "letter") not in play.store.tasks  # type: ignore[operator]


def test_a_triggered_run_stands_at_the_instant_that_its_request_has_noted() -> None:
    play = Play()
    (job,) = store_many(play, 1)
    play.store.operations.insert([operation(TRIGGER, NOW)], NOW)
    move_on(play.context(), [standing(play)], NOW)
    begun = standing(play)
    for _ in range(3):
        play.clock.advance(SECOND_MS)
        _repeat(play, begun)
    assert [run.id for run in play.runs(job.key)] == [RunId(job.key, NOW + SECOND_MS, Origin.MANUAL)]
