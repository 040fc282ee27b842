"""A task: registered work that jobs name. It says what to call, and fills in the policies that its jobs leave open.

Invariant: the content of a version never changes. A deleted task keeps its last version, and counts on if it is created
again. So runs find the version that they need, and no two contents have the same number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.model.terms.target import Target


@dataclass(frozen=True)
class TaskSpec:
    """What a user says of a task."""

    key: TaskKey
    """The tenant and the task's id."""
    target: Target
    """What the runs of its jobs call."""
    name: str | None = None
    """A label for people; None: unnamed."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What it is filtered by."""
    priority: Priority = Priority.NORMAL
    """The queue of the runs, unless the job names one."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    """How often and how long a run is retried, unless the job says so."""
    timeout_seconds: int = 300
    """How long an attempt may take, unless the job says so."""
    completion: Completion = Completion.ANSWER
    """The event that ends an attempt, unless the job says so."""
    heartbeat_seconds: int | None = None
    """The longest silence of a target after a 202; None: no heartbeat is expected."""
    payload_schema: str | None = None
    """The JSON schema of payloads, as JSON text; None: any payload."""
    fingerprint: str | None = None
    """A digest of the request that made it; None: not known."""


@dataclass(frozen=True)
class Task:
    """A version of a task: the current one, or an earlier one that runs may still use. Instants are in ms."""

    spec: TaskSpec
    """What its user said of it."""
    created_at: int
    """When the task was created."""
    updated_at: int
    """When the task was last changed."""
    version: int = 1
    """Counts the changes of users."""
    life_ms: int = 0
    """How long a run of any version so far may live (ms)."""
    deleted_at: int | None = None
    """When it was deleted; None: it is not deleted."""
    replaced_at: int | None = None
    """When the next version replaced this one; None: it is the current one."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def key(self) -> TaskKey:
        """The tenant and the id of this task."""
        return self.spec.key

    @property
    def ref(self) -> "TaskRef":
        """The name of this version of the task."""
        return TaskRef(self.key, self.version)

    @property
    def is_deleted(self) -> bool:
        """Whether jobs can no longer name it."""
        return self.deleted_at is not None


@dataclass(frozen=True, order=True)
class TaskRef:
    """The name of a version of a task."""

    key: TaskKey
    """The tenant and the task's id."""
    version: int | None = None
    """The number of the version; None: the current one."""
