"""Lifecycle events: what a write of a run's or a job's row tells other services, and under which type.

Invariant: one write has at most one event, and the rows before and after it decide which. So a write that is read again
has the same event again.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState

SOURCE: Final = "timeball.lifecycle"
"""The source of these events on the bus. Events of tenants have another one, so no job runs on a lifecycle event."""

PREFIX: Final = "timeball."
"""The beginning of the types on the bus; settings leave it out."""

BLOCKED: Final = "blocked"
"""The word of a queued run that a failed run blocks."""
CREATED: Final = "created"
"""The word of a job that is new, or begins another generation."""
CHANGED: Final = "changed"
"""The word of a job that a user changed in another way than by its status."""

RUN_TYPES: Final = tuple(f"run.{word}" for word in (*RunState, BLOCKED))
"""The types about runs."""
JOB_TYPES: Final = tuple(f"job.{word}" for word in (CREATED, CHANGED, *JobStatus))
"""The types about jobs."""
TYPES: Final = (*RUN_TYPES, *JOB_TYPES)
"""All types, as settings name them."""

_STATES: Final = {**{f"run.{state}": state for state in RunState}, f"run.{BLOCKED}": RunState.QUEUED}
_ALL_OF: Final = {"*": TYPES, "run.*": RUN_TYPES, "job.*": JOB_TYPES}
_NOTICE: Final = re.compile(r"notice-[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class LifecycleEvent:
    """An event about a run or a job, ready for the bus."""

    type: str
    """Its type on the bus, such as `timeball.run.failed`."""
    detail: str
    """The CloudEvent, as JSON."""


def parse_types(text: str) -> frozenset[str]:
    """Return the types that a setting names, with `*` for all of a kind. Raises ValueError with a sentence's end."""
    wanted: set[str] = set()
    for word in filter(None, (part.strip() for part in text.split(","))):
        if word not in _ALL_OF and word not in TYPES:
            raise ValueError(f"must be types of events, separated by commas: {', '.join((*_ALL_OF, *TYPES))}")
        wanted.update(_ALL_OF.get(word, (word,)))
    return frozenset(wanted)


def type_of_run(before: Run | None, after: Run) -> str | None:
    """Return the type of the event about a write of a run; None: its status and its attempt are as they were."""
    if before is not None and (_word(before), before.attempt) == (_word(after), after.attempt):
        return None
    return f"run.{_word(after)}"


def type_of_job(before: Job | None, after: Job) -> str | None:
    """Return the type of the event about a write of a job; None: a plan wrote it, and its status is as it was."""
    if before is None or before.generation != after.generation:
        return f"job.{CREATED}"
    if before.listed_status is not after.listed_status:
        return f"job.{after.listed_status}"
    return f"job.{CHANGED}" if before.version != after.version else None


def is_of_notice(job_id: str) -> bool:
    """Say whether a job with this id is a notice. A user's job with an id of this form is taken for one."""
    return _NOTICE.fullmatch(job_id) is not None


def states_of(types: Iterable[str]) -> list[str]:
    """Return the states in which a run's row may have an event of one of some types."""
    return sorted({_STATES[name] for name in types if name in _STATES})


def _word(run: Run) -> str:
    return BLOCKED if run.state is RunState.QUEUED and run.blocked is not None else run.state
