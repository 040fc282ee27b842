"""A bulk operation is stopped at every point of its creation, a step and its cancel: each job once, none left out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.crash.stage import Stage
from tests.engine.operations.operations import operation
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey, OperationKey, Origin
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.operation import JobMatch, Operation, OperationAction, OperationStatus
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import resume
from timeball.engine.operations.operation import cancel_operation, create_operation

PAUSE, CANCEL = OperationAction.PAUSE, OperationAction.CANCEL
TRIGGER, RETRY = OperationAction.TRIGGER, OperationAction.RETRY
KEYS = [JobKey("acme", f"job-{n}") for n in range(3)]
BUSY = KEYS[0]

_SECONDS_TO_END = 5
"""Seconds in which everything that an operation has begun ends: at most three runs are executed, one by one."""


def _standing(play: Play) -> Operation | None:
    return play.store.operations.read([OperationKey("acme", "op1")])[0]


def _create(action: OperationAction) -> Callable[[Play], None]:
    def create(play: Play) -> None:
        create_operation(play.context(), operation(action, play.clock.now(), JobMatch(status=_STATUS.get(action))))

    return create


_STATUS = {PAUSE: "pending", RETRY: "failed"}


def _cancel(play: Play) -> None:
    standing = _standing(play)
    assert standing is not None
    cancel_operation(play.context(), standing)


def _step(play: Play) -> None:
    """Let the scan process the next job."""
    play.scan()


def _begun(action: OperationAction) -> Callable[[Play], None]:
    """Return a function that begins an operation, which then waits for its next second."""

    def prepare(play: Play) -> None:
        at = play.clock.now()
        one = operation(action, at, JobMatch(status=_STATUS.get(action)), per_second=1)
        create_operation(play.context(), one)
        play.clock.advance(SECOND_MS)

    return prepare


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, its points, and its effect."""

    action: OperationAction
    act: Callable[[Play], object]
    points: int
    prepare: Callable[[Play], object] = lambda _: None


CASES = {
    "asking for a pause": Case(PAUSE, _create(PAUSE), 20),
    "asking for a cancel": Case(CANCEL, _create(CANCEL), 20),
    "asking for triggers": Case(TRIGGER, _create(TRIGGER), 20),
    "a step of a pause": Case(PAUSE, _step, 6, _begun(PAUSE)),
    "a step of triggers": Case(TRIGGER, _step, 6, _begun(TRIGGER)),
    "cancelling a pause": Case(PAUSE, _cancel, 2, _begun(PAUSE)),
}


@pytest.mark.on_moto("asking for a pause", "cancelling a pause")
@pytest.mark.parametrize("name", CASES)
def test_an_operation_stopped_anywhere_ends_complete_and_has_processed_each_job_once(stage: Stage, name: str) -> None:
    case, play = CASES[name], stage.play(NOW)
    play.store_jobs(
        [spec(key.job_id, Every(3 if key == BUSY else 60, NOW if key == BUSY else NOW + DAY_MS)) for key in KEYS]
    )
    play.clock.advance(1)
    case.prepare(play)
    for left in stage.crashes(play, case.act, case.points):
        if case.act is _cancel or _standing(left) is None:
            case.act(left)  # the client got no answer and repeats its request
        left.clock.advance(stage.later_ms)
        over = _run_on(left)
        if case.act is _cancel:
            assert over.status is OperationStatus.CANCELLED
            continue
        assert (over.status, over.matched, over.done, over.failed) == (OperationStatus.SUCCEEDED, 3, 3, 0)
        _assert_each_is_dealt_with_once(left, case.action)


@pytest.mark.on_moto
def test_a_job_that_its_user_resumes_stays_so_wherever_the_pause_of_all_was_stopped(stage: Stage) -> None:
    play = stage.play(NOW)
    play.store_jobs([spec(key.job_id, Every(60, NOW + DAY_MS)) for key in KEYS])
    play.clock.advance(1)
    for left in stage.crashes(play, _create(PAUSE), 20):
        is_paused = left.job(BUSY).status is JobStatus.PAUSED
        resume(left.context(), [(BUSY, None)])
        if _standing(left) is None:
            _create(PAUSE)(left)
        over = _run_on(left)
        assert (over.matched, over.done) == (3, 3)
        assert left.job(BUSY).status is (JobStatus.PENDING if is_paused else JobStatus.PAUSED)


@pytest.mark.on_moto
def test_each_dead_letter_is_retried_once_wherever_the_retry_of_all_was_stopped(stage: Stage) -> None:
    play = stage.play(NOW)
    play.store_jobs([spec(key.job_id, At(NOW), replace(spec("x", At(NOW)).retry, max_retries=0)) for key in KEYS])
    play.caller.statuses = [400] * 6  # the retries fail, too
    play.scan()
    play.drain()
    play.clock.advance(1)
    for left in stage.crashes(play, _create(RETRY), 20):
        if _standing(left) is None:
            _create(RETRY)(left)
        over = _run_on(left)
        assert (over.matched, over.done, over.failed) == (3, 3, 0)
        assert [(run.state, run.attempt) for key in KEYS for run in left.runs(key)] == [(RunState.FAILED, 2)] * 3


def _run_on(play: Play) -> Operation:
    """Scan and execute until the operation and everything that it has begun are over."""
    for _ in range(30):
        _go_on(play, 1)
        standing = _standing(play)
        if standing is not None and not standing.is_running:
            assert standing.due_at is None
            _go_on(play, _SECONDS_TO_END)
            return standing
    raise AssertionError("the operation went on for half a minute")


def _go_on(play: Play, seconds: int) -> None:
    for _ in range(seconds):
        play.scan_all()
        play.execute_next()
        play.clock.advance(SECOND_MS)


def _assert_each_is_dealt_with_once(play: Play, action: OperationAction) -> None:
    jobs = [play.job(key) for key in KEYS]
    assert [job.intent for job in jobs] == [None] * 3
    if action is TRIGGER:
        manual = [[run for run in play.runs(key) if run.id.origin is Origin.MANUAL] for key in KEYS]
        assert [len(runs) for runs in manual] == [1, 1, 1]
        assert all(run.due_at is None for runs in manual for run in runs)
        return
    status = JobStatus.PAUSED if action is PAUSE else JobStatus.CANCELLED
    assert [(job.status, job.version, job.change.by.operation) for job in jobs] == [(status, 2, "op1")] * 3
