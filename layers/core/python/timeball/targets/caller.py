"""Call targets of every type, for runs and for trials: each call goes to the adapter of its target's type."""

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.values import Failed
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import TRIAL_JOB, Answer, Call, Caller, Trial, Tried
from timeball.targets.answers import Trace


class TargetCaller:
    """Calls webhooks with one adapter, and resources of AWS with another."""

    def __init__(self, http: Caller, aws: Caller) -> None:
        self._http = http
        self._aws = aws

    async def prepare(self, call: Call) -> None:
        """Fetch in advance what the call needs."""
        await self._adapter(call).prepare(call)

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        return await self._adapter(call).call(call)

    def _adapter(self, call: Call) -> Caller:
        return self._http if isinstance(call.work.target, HttpTarget) else self._aws


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
