"""What runs call."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.ids import RunId
from timeball.domain.job import Work


@dataclass(frozen=True)
class Call:
    """One attempt's call of its target."""

    run: RunId
    attempt: int
    work: Work
    timeout_seconds: float


@dataclass(frozen=True)
class Answer:
    """What came of a call. `status` None: no answer, and `error` is a sentence. `body` is cut at 16 KB.

    `called_at` is the moment the call left (ms), None if it never did. `was_cut`: it was ended here, not there.
    """

    called_at: int | None
    finished_at: int
    status: int | None = None
    body: str = ""
    error: str | None = None
    timed_out: bool = False
    retry_after_seconds: float | None = None
    was_cut: bool = False


class Caller(Protocol):
    """What calls a target. Never raises for what a target or a user's url does."""

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
