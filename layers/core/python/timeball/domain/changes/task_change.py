"""Users' changes of a task: each function returns the row after one change."""

from timeball.domain.attempts.retry import longest_life_ms
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.task import Task, TaskSpec


def new_task(spec: TaskSpec, now: int) -> Task:
    """Return a task as it is first stored."""
    return Task(spec, now, now, life_ms=_life_ms(spec))


def revised_task(task: Task, spec: TaskSpec, now: int) -> Task:
    """Return a task with the values of a new request: the same row if nothing differs. A deleted task is restored."""
    if not task.is_deleted:
        spec = evolve(spec, fingerprint=task.spec.fingerprint)
        if spec == task.spec:
            return task
    return evolve(
        task,
        spec=spec,
        created_at=now if task.is_deleted else task.created_at,
        updated_at=now,
        deleted_at=None,
        version=task.version + 1,
        life_ms=max(task.life_ms, _life_ms(spec)),
    )


def deleted_task(task: Task, now: int) -> Task:
    """Return a task that no job may name any more."""
    return task if task.is_deleted else evolve(task, deleted_at=now, updated_at=now)


def restored_task(task: Task, now: int) -> Task:
    """Return a deleted task as restored, because it was in use after all."""
    return evolve(task, deleted_at=None, updated_at=now)


def replaced_task(task: Task, now: int) -> Task:
    """Return a version as it is kept for the runs that use it, after another version replaced it."""
    return evolve(task, replaced_at=now)


def _life_ms(spec: TaskSpec) -> int:
    return longest_life_ms(spec.retry, spec.timeout_seconds)
