"""Jobs that wait for jobs: whom a job waits for, by which rule, and what keeps it from running meanwhile."""

from dataclasses import dataclass
from enum import StrEnum, auto

from timeball.domain.model.ids import JobKey, RunId

DEPENDENCY_TIMEOUT_SECONDS = 86_400
"""How long a cycle waits for its parents, unless its job says otherwise."""

_SHOWN_OF_A_PATH = 16


class TriggerRule(StrEnum):
    """Which ends of its parents let a job run."""

    ALL_SUCCEEDED = "allSucceeded"
    ALL_DONE = "allDone"
    ANY_SUCCEEDED = "anySucceeded"
    ANY_FAILED = "anyFailed"


class End(StrEnum):
    """Which end of a parent counts as the one that a child waits for."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DONE = "done"


class State(StrEnum):
    """How a parent stands in a cycle of its child."""

    GOING = auto()
    """It is to run, or does."""
    BLOCKED = auto()
    """It waits for a dead one itself."""
    SUCCEEDED = auto()
    DEAD = auto()
    """It failed for good: it may be mended."""
    SKIPPED = auto()
    CANCELLED = auto()


@dataclass(frozen=True)
class Parent:
    """A job that is waited for, the name that the child has for it, if any, and which end of it counts."""

    job_id: str
    name: str | None = None
    on: End = End.SUCCEEDED


@dataclass(frozen=True)
class Proposed:
    """Parents that a change is about to give a job, and since when: whoever looks for a cycle counts them."""

    at: int
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Blocked:
    """The dead run that keeps a job from running, and the jobs from the dead one's to the parent through which it does.

    Of a long path the first and the last ones are kept: a row stays small.
    """

    by: RunId
    path: tuple[str, ...]

    def through(self, job_id: str) -> "Blocked":
        """Return what blocks those that wait for a blocked job."""
        half = _SHOWN_OF_A_PATH // 2
        path = self.path if len(self.path) < _SHOWN_OF_A_PATH else (*self.path[:half], *self.path[half + 1 :])
        return Blocked(self.by, (*path, job_id))


@dataclass(frozen=True)
class Ended:
    """How a parent ended, kept by a child that waits on: the parent's row may expire before the child is decided.

    `created_at` is the parent's: a job that gets the same id later is another one.
    """

    job_id: str
    state: State
    fire_at: int
    created_at: int


@dataclass(frozen=True)
class Edge:
    """That a child has named a parent; its own row says whether it does."""

    parent: JobKey
    child: JobKey
