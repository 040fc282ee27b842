"""Call targets of every type, for runs and for trials: each call goes to the adapter of its target's type.

The adapters share the results of calls without an answer. A result says whether a retry is worthwhile, and whether the
target is down. The adapter that makes a trial's call records the details in a trace. Invariant: nothing that is
recorded is secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.values import Failed
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT, Cause
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import TRIAL_JOB, Answer, Call, Caller, Trial, Tried


@dataclass(frozen=True)
class TargetCaller:
    """Calls webhooks with one adapter, and resources of AWS with another."""

    http: Caller
    aws: Caller

    async def prepare(self, call: Call) -> None:
        """Fetch in advance what the call needs."""
        await self._adapter(call).prepare(call)

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        return await self._adapter(call).call(call)

    def _adapter(self, call: Call) -> Caller:
        return self.http if isinstance(call.work.target, HttpTarget) else self.aws


@dataclass
class Trace:
    """The request and the answer's headers of one call, when it was sent, and how long each phase took (ms)."""

    request: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    took_ms: Mapping[str, int] = field(default_factory=dict)
    signatures: int = 0
    sent_at: int | None = None


async def make_trial(caller: Caller, trace: Trace, trial: Trial, now: int) -> Tried:
    """Call the target of a trial once, at `now` (ms), with a caller that records the call in a trace."""
    run = RunId(JobKey(trial.tenant, TRIAL_JOB), now, Origin.MANUAL)
    call = Call(run, 1, trial.work, trial.timeout_seconds, RETRIED_BY_DEFAULT, takes_report=False)
    answer = await caller.call(call)
    verdict = answer.verdict
    return Tried(
        type(verdict).__name__.lower(),
        isinstance(verdict, Failed) and verdict.may_retry,
        answer.status,
        answer.body,
        answer.error,
        trace.request,
        trace.headers,
        {**trace.took_ms, "total": answer.finished_at - now},
        trace.signatures,
    )


def is_retried(call: Call, status: int) -> bool:
    """Return whether the retry policy of a call includes a status, or its class."""
    return str(status) in call.retry_on or f"{status // 100}xx" in call.retry_on


def unanswered(call: Call, called_at: int | None, finished_at: int, error: str, *, timed_out: bool = False) -> Answer:
    """Return the result of a call without an answer, either in time or at all."""
    cause = Cause.TIMEOUT if timed_out else Cause.CONNECTION
    verdict = Failed(may_retry=cause in call.retry_on)
    return Answer(verdict, called_at, finished_at, error=error, timed_out=timed_out, is_down=True)


def unsent(now: int, error: str, *, may_retry: bool = False) -> Answer:
    """Return the result of a call that could not be sent, for no fault of the target."""
    return Answer(Failed(may_retry), None, now, error=error)
