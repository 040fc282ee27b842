"""Operations as tests request them."""

from dataclasses import replace

from tests.engine.play import Play, spec
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.operation import JobMatch, Operation, OperationAction
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.operations.operation import advance_operations, create_operation

ALL = JobMatch()
BY = Actor("key_1", "editor", "192.0.2.1")


def operation(
    action: OperationAction, at: int, match: JobMatch = ALL, name: str = "op1", per_second: int = 100
) -> Operation:
    """Return an operation that is requested at an instant (ms)."""
    return Operation(
        OperationKey("acme", name), action, match, per_second, 0, at, at, by=BY, fingerprint=name, due_at=at
    )


def standing(play: Play, name: str = "op1") -> Operation:
    """Return the stored operation."""
    row = play.store.operations.read([OperationKey("acme", name)])[0]
    assert row is not None
    return row


def scan_to_its_end(play: Play, name: str = "op1", most: int = 1_000) -> Operation:
    """Scan each second until an operation is over."""
    for _ in range(most):
        if not standing(play, name).is_running:
            return standing(play, name)
        play.clock.advance(SECOND_MS)
        play.scan()
    raise AssertionError(f"the operation is not over: {standing(play, name)}")


def store_many(play: Play, count: int, tags: dict[str, str] | None = None) -> list[Job]:
    """Store jobs that have no fire for a day, a millisecond apart."""
    now = play.clock.now()
    specs = [replace(spec(f"job-{n:05}", Every(60, now + DAY_MS)), tags=tags or {}) for n in range(count)]
    return [play.store_jobs([one], now - count + n)[0] for n, one in enumerate(specs)]


def keys_of(jobs: list[Job]) -> list[JobKey]:
    """Return the keys of jobs."""
    return [job.key for job in jobs]


PAUSE, RESUME, CANCEL = OperationAction.PAUSE, OperationAction.RESUME, OperationAction.CANCEL
TRIGGER, RETRY = OperationAction.TRIGGER, OperationAction.RETRY


def through(play: Play, asked: Operation) -> Operation:
    assert create_operation(play.context(), asked) is None
    return scan_to_its_end(play, asked.key.name)


def statuses(play: Play, jobs: list[Job]) -> list[JobStatus]:
    return [play.job(job.key).status for job in jobs]


def repeat(play: Play, begun: Operation) -> None:
    """Repeat what a process does that has read the operation long ago."""
    advance_operations(play.context(), [begun], play.clock.now() + 1)
