"""The work of a run: the target that it calls, and the payload."""

from dataclasses import dataclass

from timeball.domain.model.terms.target import HttpTarget, Target

TASKS_TARGET = HttpTarget("")
"""The target of a job that names a task, until the job is resolved."""


@dataclass(frozen=True)
class Work:
    """The work of a run."""

    target: Target = TASKS_TARGET
    """The target that it calls."""
    payload: str | None = None
    """The payload, as JSON text; None: no payload."""
