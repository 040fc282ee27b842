"""What a run does: whom it calls, and with what."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HttpTarget:
    """A webhook: where to send the payload, how, and with which headers of the user's."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


TASKS_TARGET = HttpTarget("")
"""The target of a job that names a task, until it is resolved."""


@dataclass(frozen=True)
class Work:
    """What a run does: a target, and the payload (JSON text, or None) that it is handed."""

    target: HttpTarget = TASKS_TARGET
    payload: str | None = None
