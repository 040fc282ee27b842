"""What runs call."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.verdict import Verdict
from timeball.domain.model.terms.work import Work


@dataclass(frozen=True)
class Call:
    """One attempt's call of its target.

    `retry_on` is what its retry policy holds for worth another try. `takes_report`: the target may take the attempt
    over. `depth` is the run's generation. `has_parents`: the payload is beside what came of the job's
    parents. `task_id` is the task that the job names. `starts_as` is the attempt by whose name it starts what is
    followed. `origin` is why the run exists, if its identity does not say so.
    """

    run: RunId
    attempt: int
    work: Work
    timeout_seconds: float
    retry_on: tuple[str, ...]
    takes_report: bool
    depth: int = 0
    has_parents: bool = False
    task_id: str | None = None
    starts_as: int | None = None
    origin: Origin | None = None


@dataclass(frozen=True)
class Answer:
    """What came of a call: the verdict, and the evidence that its run shows.

    `called_at` is the moment the call left (ms), None if it never did. `status` is a word of the target's protocol, if
    that has one, `error` a sentence. `body` is cut at 16 KB. `is_down`: whether the resource itself is, as the circuit
    breaker counts; None: this tells nothing of it.
    """

    verdict: Verdict
    called_at: int | None
    finished_at: int
    status: int | None = None
    body: str = ""
    error: str | None = None
    timed_out: bool = False
    is_down: bool | None = None


class Caller(Protocol):
    """What calls a target. Never raises for what a target or a user's url does."""

    async def prepare(self, call: Call) -> None:
        """Fetch before a call's instant what the call needs of others, such as secrets; the target is sent nothing.

        Never raises: what cannot be had is left to the call.
        """

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
