"""How a job uses a task: which one it names, and what it says itself of what the task says too."""

from dataclasses import dataclass
from enum import StrEnum


class Override(StrEnum):
    """What a job may say itself of what its task says too."""

    PRIORITY = "priority"
    MAX_RETRIES = "maxRetries"
    RETRY_POLICY = "retryPolicy"
    TIMEOUT = "timeoutSeconds"
    COMPLETION = "completion"
    HEARTBEAT = "heartbeatSeconds"


@dataclass(frozen=True)
class TaskUse:
    """The task that a job names, and what the job says itself; the rest of an `Override` its row does not decide.

    In a job that is resolved (resolve.py) `version` is the task's, and `life_ms` how long a run of any version so far
    may live. Its row has neither.
    """

    task_id: str
    own: tuple[Override, ...] = ()
    version: int | None = None
    life_ms: int = 0
