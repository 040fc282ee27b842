"""The targets that runs call.

A trial is a call of a target that belongs to no run: nothing of it is stored, and it is never repeated. An execution
continues after the call that started it: of a state machine, or an ECS task. Its name is its ARN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.values import Verdict
from timeball.domain.model.terms.policies import Work


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
    """The depth of the run (depths.py)."""
    has_parents: bool = False
    """The payload contains the results of the job's parents beside the user's payload."""
    task_id: str | None = None
    """The task that the job names; None: it names none."""
    starts_as: int | None = None
    """The attempt under whose name it starts an execution; None: the call's own."""
    origin: Origin | None = None
    """Why the run exists, if its identity does not say so; None: its identity does."""
    traceparent: str | None = None
    """The trace context that it hands on, with the attempt as its span; None: none."""


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


TRIAL_JOB = "timeball-trial"
"""The job id that a target receives in a trial: there is no job."""


@dataclass(frozen=True)
class Trial:
    """A trial."""

    tenant: str
    """The tenant whose target is called."""
    work: Work
    """The target and the payload."""
    timeout_seconds: int
    """How long the call may take."""


@dataclass(frozen=True)
class Tried:
    """The result of a trial."""

    verdict: str
    """The name of the verdict."""
    may_retry: bool
    """A run that failed like this would be retried."""
    status: int | None
    """The status of the target's protocol; None: it has none, or none was received."""
    body: str
    """The answer."""
    error: str | None
    """The failure, as a sentence; None: there was none."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """The request in the target's protocol, without secrets: users' headers have no values."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers of the answer."""
    took_ms: Mapping[str, int] = field(default_factory=dict)
    """The parts of the call that could be measured, in their order (ms)."""
    signatures: int = 0
    """How many keys signed the request."""


class Trials(Protocol):
    """Makes trials where runs are called, with the same rights and guards."""

    def make(self, trial: Trial) -> Tried:
        """Call the target once. Raises UnavailableError if the outcome is unknown."""


@dataclass(frozen=True)
class ExecutionStatus:
    """The state of an execution."""

    is_over: bool
    """It has ended."""
    error: str | None = None
    """Why it failed, as a sentence; None: it succeeded, or is under way."""
    body: str | None = None
    """Its output, cut at 16 KB; None: there is none."""


UNDER_WAY = ExecutionStatus(is_over=False)
UNKNOWN = ExecutionStatus(is_over=True, error="AWS does not know the execution.")
"""AWS does not know it yet, or no longer: AWS may report a new execution only minutes after its start."""


class Executions(Protocol):
    """The executions that calls have started. Never raises: unknown states are polled again later."""

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return the state of each execution; None: unknown at present."""

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Stop each execution that is under way, and return whether that is done. May be repeated.

        An execution that AWS does not know is not stopped: it may be about to begin.
        """


class Unknown:
    """The executions for a process that cannot ask: all states are unknown, and none is stopped."""

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return that all states are unknown."""
        return [None] * len(arns)

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Return that none is stopped."""
        return [False] * len(arns)
