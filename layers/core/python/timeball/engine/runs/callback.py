"""Reports of a run's target about the attempt that is under way: it ended, it still works, or it names items.

The attempt number is the fence: a report about an older attempt is refused. The run's end is written with a due key,
because no message is left that would carry out the effects: the scan carries them out, and then drops the key.

A child of the job with `forEach` has a run for each item. A new attempt starts with an empty list.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.attempts.callback import awaits_report, extended, follows, reported_attempt, takes_report
from timeball.domain.dependencies.fan_out import answered_items
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.sharing.fairness import MOST_OF_A_REQUEST
from timeball.engine.context import Context
from timeball.engine.runs.attempts import after_report, inline, keep_attempts, needs_a_row
from timeball.engine.runs.effects import Answered, Refusal, change_run
from timeball.engine.runs.fan_out import named_by, save_named


@dataclass(frozen=True)
class Report:
    """A target's report that an attempt has ended."""

    run: RunId
    """The run."""
    attempt: int
    """The number of the attempt."""
    error: str | None = None
    """How it failed; None: it succeeded."""
    body: str | None = None
    """The result, as text."""
    may_retry: bool = True
    """Whether a failed attempt may be retried."""
    execution: str | None = None
    """The execution that is reported; None: the target itself reports."""

    @property
    def outcome(self) -> Outcome:
        """Return how the attempt ended."""
        return Outcome.SUCCEEDED if self.error is None else Outcome.FAILED


@dataclass(frozen=True)
class Naming:
    """Items, as JSON texts, that an attempt names; `request` identifies repeats, `fingerprint` their content."""

    run: RunId
    attempt: int
    items: tuple[str, ...]
    request: str
    fingerprint: str


def report(context: Context, reports: Sequence[Report]) -> list[Answered]:
    """Finish each attempt as its target reports. A repeated report is accepted again, and changes nothing.

    Raises UnavailableError if it is unknown whether it was accepted; the caller may then repeat it.

    Order of writes of report (the target's complete or fail), reap (the target's lease has expired), cancel a run:

    1. Swap the run: its end, or `retrying`, with a due key.
    2. Effects.
    3. The attempt's own row.

    Safe: no message is left, so the scan repeats step 2 for an ended run in the due index, and only then drops the key.
    """
    return [_report(context, one) for one in reports]


def heartbeat(context: Context, beats: Sequence[tuple[RunId, int]]) -> list[Answered]:
    """Extend the lease of each attempt, if it still holds. The returned run says whether it is asked to stop.

    Raises UnavailableError.
    """
    return [_heartbeat(context, run, attempt) for run, attempt in beats]


def name_items(context: Context, namings: Sequence[Naming]) -> list[Answered]:
    """Name items; a repeat changes nothing. Raises UnavailableError if it is unknown whether they are named.

    Order of writes of name (items, at work):

    1. Store the whole list so far, under its digest.
    2. Swap the run: it names that list.

    Safe: a list never changes, and only the attempt under way can name one; items that the same request names again
    count once.
    """
    return [_name(context, one) for one in namings]


def count_runs_of_each(context: Context, job: JobKey, least: int = 1) -> int:
    """Return how many jobs have a run for each item that runs of a job name; 0 if less than `least` depend on it.

    Raises UnavailableError.
    """
    (children,) = context.store.edges.children([job])
    rows = context.store.jobs.read(children) if len(children) >= least else []
    return sum(row is not None and row.is_open and row.spec.for_each == job.job_id for row in rows)


def _report(context: Context, report: Report) -> Answered:
    def after(run: Run, job: Job | None, now: int) -> Run | Refusal:
        if _was_taken(context, run, report):
            return run  # the answer to the first report was lost
        if report.execution is not None and not follows(run, report.execution):
            return Refusal.NOT_EXPECTED
        waiting = _waiting(run, job, report.attempt)
        if isinstance(waiting, Refusal):
            return waiting
        if report.execution is None and _names_too_much(context, run, report):
            return Refusal.TOO_MANY_RUNS
        attempt = reported_attempt(run, now, report.error, report.body)
        return after_report(run, waiting, attempt, now, may_retry=report.may_retry)

    refusal, run = change_run(context, report.run, after)
    if refusal is None and run is not None and run.last is not None:
        reported = _as_reported(run.last, report)
        if (
            needs_a_row(reported) and inline(reported) == run.last
        ):  # only the target can repeat what the row does not keep
            keep_attempts(context, [(run.id, reported)], context.clock.now())
    return refusal, run


def _heartbeat(context: Context, run_id: RunId, attempt: int) -> Answered:
    def after(run: Run, job: Job | None, now: int) -> Run | Refusal:
        waiting = _waiting(run, job, attempt)
        return waiting if isinstance(waiting, Refusal) else extended(run, now) or Refusal.EXPIRED

    return change_run(context, run_id, after)


def _name(context: Context, one: Naming) -> Answered:
    def after(run: Run, job: Job | None, now: int) -> Run | Refusal:
        if not awaits_report(run, one.attempt) or (job is not None and not job.owns(run.id)):
            return Refusal.STALE
        if not one.items:
            return run
        known = named_by(context, run)
        if one.request in known.requests:
            return run if known.requests[one.request] == one.fingerprint else Refusal.CONFLICT
        named = known.with_more(one.items, {one.request: one.fingerprint})
        if named.is_too_many:
            return Refusal.TOO_MANY
        if named.is_too_large:
            return Refusal.TOO_LARGE
        if makes_too_many_runs(context, run.id.job, len(named.items)):
            return Refusal.TOO_MANY_RUNS
        return evolve(run, named=save_named(context, run.id, named, now))

    return change_run(context, one.run, after)


def makes_too_many_runs(context: Context, job: JobKey, items: int) -> bool:
    """Say whether so many items of one attempt would make more runs than it may ask for. Raises UnavailableError.

    If the settings let no job have as many children as that takes, nothing is read.
    """
    enough = MOST_OF_A_REQUEST // max(items, 1)
    return context.rules.max_children > enough and count_runs_of_each(context, job, enough + 1) > enough


def _waiting(run: Run, job: Job | None, attempt: int) -> Job | Refusal:
    """Return the job of a run whose attempt is under way and may be reported, or why it may not be."""
    if job is not None and not takes_report(run, job):
        return Refusal.NOT_EXPECTED
    return job if job is not None and job.owns(run.id) and awaits_report(run, attempt) else Refusal.STALE


def _names_too_much(context: Context, run: Run, report: Report) -> bool:
    """Say whether the items of a result, behind those that were named at work, would make too many runs."""
    answered = len(answered_items(report.body) or ())
    return answered > 0 and makes_too_many_runs(context, run.id.job, answered + len(named_by(context, run).items))


def _was_taken(context: Context, run: Run, report: Report) -> bool:
    """Return whether the run is as this report left it. An answer of the target, which has a status, is no report."""
    last = run.last
    if last is None or not run.attempt == last.number == report.attempt:
        return False
    reported = _as_reported(last, report)
    if inline(reported) != last or (run.state is RunState.RETRYING and not report.may_retry):
        return False
    stored = [one for one in context.store.attempts.of_run(run.id) if one.number == last.number and inline(one) == last]
    return stored in ([], [reported])


def _as_reported(last: Attempt, report: Report) -> Attempt:
    """Return the attempt that a run's row keeps, with everything that a report says of it."""
    is_out = last.outcome is Outcome.TIMED_OUT and report.error is not None
    outcome = last.outcome if is_out else report.outcome
    return evolve(last, outcome=outcome, status=None, error=report.error, body=report.body)
