"""Jobs that wait for jobs: a job's parents, its trigger rule, and the failed run that blocks it meanwhile."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import NamedTuple

from timeball.domain.model.ids import JobKey, RunId

DEPENDENCY_TIMEOUT_SECONDS = 86_400
"""How long a cycle waits for its parents, unless its job says otherwise."""

MOST_PARENTS = 3_000
"""The most parents of a job, whatever the settings allow."""

MOST_PARENT_BYTES = 360 * 1024
"""The most bytes of a job's row that its parents may take. A row of DynamoDB has at most 400 KB."""

_SHOWN_OF_A_PATH = 16
_BYTES_OF_A_PARENT = 90
"""The bytes that a parent takes beside its id, which a row may have three times, and its name."""


class TriggerRule(StrEnum):
    """Which ends of its parents let a job run."""

    ALL_SUCCEEDED = "allSucceeded"
    ALL_DONE = "allDone"
    ANY_SUCCEEDED = "anySucceeded"
    ANY_FAILED = "anyFailed"


class ParentEnd(StrEnum):
    """Which end of a parent counts as the one that a child waits for."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DONE = "done"
    LATEST = "latest"
    """The success of its latest cycle that has ended: the child has fire times of its own."""


class State(StrEnum):
    """The state of a parent in a cycle of its child."""

    GOING = auto()
    """It will run, or is running."""
    BLOCKED = auto()
    """It waits for a dead run itself."""
    SUCCEEDED = auto()
    DEAD = auto()
    """It failed for good; a user may still bring it to success."""
    SKIPPED = auto()
    CANCELLED = auto()
    OUTSIDE = auto()
    """It has no run in a named cycle: the child does not wait for it."""


class Children(StrEnum):
    """The effect of a cancel on the open jobs that depend on the cancelled one."""

    DETACH = "detach"
    """They no longer depend on it."""
    CANCEL = "cancel"
    """They are cancelled too, and so are their children, unless another parent may still let them run."""


@dataclass(frozen=True)
class Parent:
    """A job that a child waits for."""

    job_id: str
    """The parent's id."""
    name: str | None = None
    """The name that the child has for it; None: no name."""
    on: ParentEnd = ParentEnd.SUCCEEDED
    """The end of the parent that counts."""

    @property
    def is_latest(self) -> bool:
        """Whether its latest cycle counts, and not its run in the cycle of the child."""
        return self.on is ParentEnd.LATEST


def parent_bytes(parents: Iterable[Parent]) -> int:
    """Return the most bytes that parents take in the row of a job: as parents, as proposed ones, and as ended ones."""
    return sum(_BYTES_OF_A_PARENT + 3 * len(one.job_id) + len(one.name or "") for one in parents)


@dataclass(frozen=True)
class Proposed:
    """Parents that a change is about to add to a job: a search for circles counts them."""

    at: int
    """When they were proposed (ms)."""
    parents: tuple[str, ...]
    """The ids of the parents."""


@dataclass(frozen=True)
class Blocked:
    """The reason why a job is blocked."""

    by: RunId
    """The dead run that keeps the job from running."""
    path: tuple[str, ...]
    """The job ids from the dead run's job to the parent; of a long path, the first and the last ones."""

    def through(self, job_id: str) -> "Blocked":
        """Return the entry for the children of a blocked job."""
        half = _SHOWN_OF_A_PATH // 2
        path = self.path if len(self.path) < _SHOWN_OF_A_PATH else (*self.path[:half], *self.path[half + 1 :])
        return Blocked(self.by, (*path, job_id))


@dataclass(frozen=True)
class Ended:
    """How a parent ended. A child that still waits stores it, because the parent's row may expire first."""

    job_id: str
    """The parent's id."""
    state: State
    """How it ended."""
    fire_at: int
    """Its fire time (ms); 0: unknown."""
    created_at: int
    """When the parent was created (ms): a later job with the same id is another parent."""
    generation: int = 1
    """The generation of the parent that ended."""


class Edge(NamedTuple):
    """A note that a child has named a parent; the child's row says whether it still does."""

    parent: JobKey
    """The job that is waited for."""
    child: JobKey
    """The job that waits."""
