"""Make a trial with the caller that calls runs' targets."""

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.verdict import Failed
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT
from timeball.ports.target import Call, Caller
from timeball.ports.trials import TRIAL_JOB, Trial, Tried
from timeball.targets.trace import Trace


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
