"""A task: registered work that jobs name. It says what to call, and what its jobs leave open of their policies.

Invariant: a version has one content for ever. A deleted task keeps its last one, and counts on if it comes again: runs
that need a version find it, and no two contents have the same number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.model.terms.target import Target


@dataclass(frozen=True)
class TaskSpec:
    """What a user says of a task. `payload_schema` is JSON text; `fingerprint` a digest of the request that made it."""

    key: TaskKey
    target: Target
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    priority: Priority = Priority.NORMAL
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: int = 300
    completion: Completion = Completion.ANSWER
    heartbeat_seconds: int | None = None
    payload_schema: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class Task:
    """A version of a task: the current one, or (`replaced_at`) one of before that runs may still use.

    `version` counts users' changes, `revision` every write. `life_ms` is how long a run of any version so far may live.
    """

    spec: TaskSpec
    created_at: int
    updated_at: int
    version: int = 1
    life_ms: int = 0
    deleted_at: int | None = None
    replaced_at: int | None = None
    revision: int = 1

    @property
    def key(self) -> TaskKey:
        """Which task this is."""
        return self.spec.key

    @property
    def ref(self) -> "TaskRef":
        """Which version of which task this is."""
        return TaskRef(self.key, self.version)

    @property
    def is_deleted(self) -> bool:
        """Whether jobs may name it no more."""
        return self.deleted_at is not None


@dataclass(frozen=True, order=True)
class TaskRef:
    """A version of a task; None: the current one."""

    key: TaskKey
    version: int | None = None
