"""The targets that runs call."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.verdict import Verdict
from timeball.domain.model.terms.work import Work


@dataclass(frozen=True)
class Call:
    """One attempt's call of its target."""

    run: RunId
    """The run."""
    attempt: int
    """The number of the attempt."""
    work: Work
    """The target and the payload."""
    timeout_seconds: float
    """How long the call may take."""
    retry_on: tuple[str, ...]
    """The causes and statuses that the retry policy retries."""
    takes_report: bool
    """The target may take the attempt over and report later."""
    depth: int = 0
    """The generation of the run (generations.py)."""
    has_parents: bool = False
    """The payload contains the results of the job's parents beside the user's payload."""
    task_id: str | None = None
    """The task that the job names; None: it names none."""
    starts_as: int | None = None
    """The attempt under whose name it starts an execution; None: the call's own."""
    origin: Origin | None = None
    """Why the run exists, if its identity does not say so; None: its identity does."""


@dataclass(frozen=True)
class Answer:
    """The result of a call: the verdict, and the evidence that its run shows. Instants are in ms."""

    verdict: Verdict
    """What the adapter concludes."""
    called_at: int | None
    """When the call left; None: it never did."""
    finished_at: int
    """When the call ended."""
    status: int | None = None
    """The status of the target's protocol; None: it has none, or none was received."""
    body: str = ""
    """The answer, cut at 16 KB."""
    error: str | None = None
    """The failure, as a sentence; None: there was none."""
    timed_out: bool = False
    """No answer came in time."""
    is_down: bool | None = None
    """Whether the resource is down, for its circuit; None: the call does not show it."""


class Caller(Protocol):
    """Calls targets. Never raises because of a target or a user's URL."""

    async def prepare(self, call: Call) -> None:
        """Fetch, before a call's instant, what the call needs from other services, such as secrets.

        Nothing goes to the target.

        Never raises: whatever cannot be fetched is left to the call.
        """

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
