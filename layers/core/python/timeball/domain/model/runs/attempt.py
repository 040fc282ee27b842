"""An attempt: one try of a run, from its claim to what became of it."""

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
    """One finished try of a run: its number, instants (ms), outcome, and what the target answered.

    `started_at` is the moment of the call; None if the attempt was lost and nobody knows. `worker` is the executor that
    had claimed it; None if the target itself reported how it ended. `unheard_from` is the first of the attempts, up to
    this one, of which nobody heard what they have started, if anything.
    """

    number: int
    outcome: Outcome
    claimed_at: int
    started_at: int | None = None
    finished_at: int | None = None
    status: int | None = None
    error: str | None = None
    body: str | None = None
    worker: str | None = None
    unheard_from: int | None = None
