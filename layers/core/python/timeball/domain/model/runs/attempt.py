"""An attempt: one try of a run, from its claim to its outcome."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How one attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"


@dataclass(frozen=True)
class Attempt:
    """One finished try of a run. Instants are in ms."""

    number: int
    """Counts the attempts of the run, from 1; it is the fencing token."""
    outcome: Outcome
    """How it ended."""
    claimed_at: int
    """When an executor claimed it."""
    started_at: int | None = None
    """When the call left; None: it never left, or the attempt was lost and this is unknown."""
    finished_at: int | None = None
    """When it ended; None: the attempt was lost and this is unknown."""
    status: int | None = None
    """The status that the target's protocol answered with; None: there is none."""
    error: str | None = None
    """The failure, as a sentence; None: there was none."""
    body: str | None = None
    """The target's answer, cut at 16 KB; None: there was none."""
    worker: str | None = None
    """The executor that claimed it; None: the target itself reported how it ended."""
    unheard_from: int | None = None
    """The first attempt, up to this one, that may have started something unknown to Timeball; None: none."""
