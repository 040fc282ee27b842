"""What a run does: whom it calls, and with what."""

from dataclasses import dataclass

from timeball.domain.model.terms.target import HttpTarget, Target

TASKS_TARGET = HttpTarget("")
"""The target of a job that names a task, until it is resolved."""


@dataclass(frozen=True)
class Work:
    """What a run does: a target, and the payload (JSON text, or None) that it is handed."""

    target: Target = TASKS_TARGET
    payload: str | None = None
