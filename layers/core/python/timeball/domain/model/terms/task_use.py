"""How a job uses a task: the task that it names, and the fields that it sets itself."""

from dataclasses import dataclass
from enum import StrEnum


class Override(StrEnum):
    """The fields of a task that a job may set itself."""

    PRIORITY = "priority"
    MAX_RETRIES = "maxRetries"
    RETRY_POLICY = "retryPolicy"
    TIMEOUT = "timeoutSeconds"
    COMPLETION = "completion"
    HEARTBEAT = "heartbeatSeconds"


@dataclass(frozen=True)
class TaskUse:
    """The task that a job names, and the fields that the job sets itself.

    The job's row decides no other field of `Override`. `version` and `life_ms` are set only in a resolved job
    (resolve.py), never on a row.
    """

    task_id: str
    """The task's id within the job's tenant."""
    own: tuple[Override, ...] = ()
    """The fields that the job sets itself."""
    version: int | None = None
    """The version of the task; None: the job is not resolved."""
    life_ms: int = 0
    """How long a run of any version so far may live (ms); 0: the job is not resolved."""
