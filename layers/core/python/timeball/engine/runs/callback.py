"""Complete, fail, heartbeat: what the target of a callback run says of the attempt that it was called with.

The attempt number is the fence: a report about an older attempt is refused. The run's end is written with a due key,
for no message is left that would bring its effects about: only the scan drops the key, after it has seen to them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.attempt import Attempt, Outcome
from timeball.domain.model.evolve import evolve
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import RunId
from timeball.domain.model.job import Job
from timeball.domain.model.policies import Cause
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.verdict import Failed, Succeeded
from timeball.domain.policy.callback import awaits_report, extended, reported_attempt, takes_report
from timeball.domain.policy.outcome import after_attempt
from timeball.engine.context import Context
from timeball.engine.runs.attempts import inline, keep_attempts, needs_a_row
from timeball.engine.runs.on_run_end import change_run


class CallbackOutcome(StrEnum):
    """What became of a target's report, or of its heartbeat.

    It was taken (or had been, the first time it came); no such run; the attempt is not the one that is under way; its
    lease is out; the run's job takes no report.
    """

    DONE = "done"
    NOT_FOUND = "not_found"
    STALE = "stale"
    EXPIRED = "expired"
    NOT_EXPECTED = "not_expected"


@dataclass(frozen=True)
class Report:
    """What a target says of an attempt: that it succeeded, or (`error`) that it failed, and whether to try again.

    `body` is the result, as text.
    """

    run: RunId
    attempt: int
    error: str | None = None
    body: str | None = None
    may_retry: bool = True

    @property
    def outcome(self) -> Outcome:
        """How the attempt ended."""
        return Outcome.SUCCEEDED if self.error is None else Outcome.FAILED


@dataclass(frozen=True)
class Answered:
    """The outcome, and the run as it stands."""

    outcome: CallbackOutcome
    run: Run | None


def report(context: Context, reports: Sequence[Report]) -> list[Answered]:
    """Finish each attempt as its target says. A report that was taken before is taken again, and changes nothing.

    Raises UnavailableError if it is unknown whether it was taken; it may then be repeated.
    """
    return [_report(context, one) for one in reports]


def heartbeat(context: Context, beats: Sequence[tuple[RunId, int]]) -> list[Answered]:
    """Extend the lease of each attempt, if it still holds. The run that comes back says if it is asked to stop.

    Raises UnavailableError.
    """
    return [_heartbeat(context, run, attempt) for run, attempt in beats]


def _report(context: Context, report: Report) -> Answered:
    def after(run: Run, job: Job, now: int) -> Run:
        failed = Failed(report.may_retry and job.spec.retry.retries(Cause.REPORTED))
        verdict = Succeeded() if report.error is None else failed
        return after_attempt(run, job, inline(_said(run, report, now)), verdict, now, Guarantor.SCAN)

    answered = _change(context, report.run, report.attempt, after)
    run = answered.run
    unheeded = answered.outcome in (CallbackOutcome.STALE, CallbackOutcome.NOT_EXPECTED)
    if run is not None and unheeded and _was_taken(context, run, report):
        answered = Answered(CallbackOutcome.DONE, run)  # its first answer was lost
    if run is not None and answered.outcome is CallbackOutcome.DONE:
        _keep(context, run, report)
    return answered


def _keep(context: Context, run: Run, report: Report) -> None:
    """Keep what the row does not, which only the target can repeat."""
    if run.last is None:
        return
    now = context.clock.now()
    told = _said(run, report, run.last.finished_at or now)
    told = evolve(told, claimed_at=run.last.claimed_at, started_at=run.last.started_at)
    if needs_a_row(told) and inline(told) == run.last:
        keep_attempts(context, [(run.id, told)], now)


def _said(run: Run, report: Report, now: int) -> Attempt:
    return reported_attempt(run, now, report.error, report.body)


def _was_taken(context: Context, run: Run, report: Report) -> bool:
    """Say whether the run stands as this report left it. An answer of the target, which has a status, is no report."""
    last = run.last
    if last is None or not run.attempt == last.number == report.attempt:
        return False
    said = _said(run, report, 0)
    if _told(last) != _told(inline(said)) or (run.state is RunState.RETRYING and not report.may_retry):
        return False
    stored = [one for one in context.store.attempts.of_run(run.id) if one.number == last.number and inline(one) == last]
    return not stored or _told(stored[0]) == _told(said)


def _told(attempt: Attempt) -> tuple[object, ...]:
    return attempt.outcome, attempt.status, attempt.error, attempt.body


def _heartbeat(context: Context, run_id: RunId, attempt: int) -> Answered:
    return _change(context, run_id, attempt, lambda run, _, now: extended(run, now))


def _change(context: Context, run_id: RunId, attempt: int, change: Callable[[Run, Job, int], Run | None]) -> Answered:
    """Write what a change makes of a run whose attempt is under way; None of it: its lease is out."""

    def after(run: Run, job: Job | None, now: int) -> Run | CallbackOutcome:
        if job is None:
            return CallbackOutcome.NOT_FOUND
        if not takes_report(run, job):
            return CallbackOutcome.NOT_EXPECTED
        if not awaits_report(run, attempt):
            return CallbackOutcome.STALE
        return change(run, job, now) or CallbackOutcome.EXPIRED

    refusal, run = change_run(context, run_id, after)
    return Answered(refusal or (CallbackOutcome.DONE if run else CallbackOutcome.NOT_FOUND), run)
