"""Retry a run, cancel it, mark it as succeeded: what a person does to a single run, whatever its schedule says.

A retried run has a due key before its message is sent, and an ended run has one until the scan has carried out the
effects; so a crash in between loses neither. An edited payload is stored beside the job before the run names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, due_again, ended, marked_as_succeeded, reopened
from timeball.domain.model.runs.values import Guarantor
from timeball.engine.context import Context
from timeball.engine.runs.due_runs import resend_if_possible
from timeball.engine.runs.effects import Answered, Refusal, change_run

_RENEWABLE = frozenset({RunState.FAILED, RunState.RETRYING})


@dataclass(frozen=True)
class Edit:
    """Another payload for a retried run: JSON text, or None for no payload."""

    payload: str | None


def retry_runs(context: Context, ids: Sequence[RunId], edit: Edit | None = None) -> list[Answered]:
    """Retry each run now, with a fresh retry budget: it has failed, or waits for its next retry.

    Its attempts continue to count, and its history stays. A queued run is sent again; the payload of a run that is
    being tried cannot be edited. Raises UnavailableError; the caller may then repeat it.

    Order of writes of retry a run, replay:

    1. Swap the run to `queued`, with a due key at its start.
    2. The scan sends it, and drops the key.

    Safe: as for a trigger; the claim of an old run is noted on its job, so a cancel finds it.
    """
    return [_retry(context, run_id, edit) for run_id in ids]


def is_to_be_retried(run: Run, since: int, *, even_discarded: bool = False) -> bool:
    """Return whether a run is (or, if discarded, was) a dead letter that was not retried since an instant (ms)."""
    is_dead = run.state is RunState.FAILED if even_discarded else run.is_dead_letter
    return is_dead and (run.budget_at or 0) < since


def had_ended_by(run: Run, at: int) -> bool:
    """Return whether a run had ended at an instant (ms), even if a person or an operation has retried it since."""
    return (run.budget_at or 0) >= at or (run.finished_at is not None and run.finished_at <= at)


def retry_dead(context: Context, ids: Sequence[RunId], since: int, *, even_discarded: bool = False) -> list[Answered]:
    """Retry each dead letter now, as `retry_runs` does, unless it was retried since an instant (ms).

    So a repeat with the same instant retries none of them again, whatever has become of it. Raises UnavailableError.
    """

    def renewed(run: Run, job: Job | None, now: int) -> Run | Refusal:
        is_meant = is_to_be_retried(run, since, even_discarded=even_discarded)
        return _renewed(run, job, max(now, since)) if is_meant else run

    answers = [change_run(context, run_id, renewed) for run_id in ids]
    for refusal, run in answers:
        if refusal is None and run is not None and not run.is_terminal:
            resend_if_possible(context, [run])
    return answers


def cancel_runs(context: Context, ids: Sequence[RunId]) -> list[Answered]:
    """Cancel each run: a waiting run ends, a run that is under way is asked to stop. Raises UnavailableError."""
    return [change_run(context, run_id, _cancelled) for run_id in ids]


def succeed_runs(context: Context, ids: Sequence[RunId], why: str) -> list[Answered]:
    """Mark each run that failed for good as succeeded; its history stays. Raises UnavailableError."""

    def mark_succeeded(run: Run, _: Job | None, now: int) -> Run | Refusal:
        if run.marked_succeeded is not None and run.state is RunState.SUCCEEDED:
            return run
        return marked_as_succeeded(run, now, why) if run.state is RunState.FAILED else Refusal.WRONG_STATE

    return [change_run(context, run_id, mark_succeeded) for run_id in ids]


def _retry(context: Context, run_id: RunId, edit: Edit | None) -> Answered:
    digest = None if edit is None else _save(context, run_id, edit)

    def edited(run: Run, job: Job | None, now: int) -> Run | Refusal:
        if digest is None or run.work_digest == digest:
            return _renewed(run, job, now)
        if run.state not in _RENEWABLE:
            return Refusal.WRONG_STATE
        after = _renewed(run, job, now)
        return evolve(after, work_digest=digest, payload_edited_at=now) if isinstance(after, Run) else after

    refusal, run = change_run(context, run_id, edited)
    if refusal is None and run is not None:
        resend_if_possible(context, [run])
    return refusal, run


def _save(context: Context, run_id: RunId, edit: Edit) -> str | None:
    """Store a payload beside its job, if the job exists; return its name."""
    (job,) = context.store.jobs.read([run_id.job], with_work=True)
    if job is None or job.spec.work is None:
        return None
    work = evolve(job.spec.work, payload=edit.payload)
    return context.store.works.save([(job.key, work)], context.clock.now())[0]


def _renewed(run: Run, job: Job | None, now: int) -> Run | Refusal:
    if job is None or job.status is JobStatus.CANCELLED or not job.owns(run.id):
        return Refusal.JOB_CANCELLED
    if run.state is RunState.QUEUED and run.due_at is None:
        return due_again(run, max(run.not_before, now))  # its message may be lost: a queue keeps one for 14 days
    if run.cancel_requested:
        return Refusal.WRONG_STATE
    if run.state in (RunState.QUEUED, RunState.RUNNING):
        return run  # it is being tried already
    return reopened(run, now) if run.state in _RENEWABLE else Refusal.WRONG_STATE


def _cancelled(run: Run, job: Job | None, now: int) -> Run | Refusal:  # noqa: ARG001 - a run may be cancelled without its job
    if run.state is RunState.CANCELLED or run.cancel_requested:
        return run
    if run.is_terminal:
        return Refusal.WRONG_STATE
    if run.state is RunState.RUNNING:
        asked = asked_to_stop(run, Reason.RUN_CANCELLED)
        return asked if run.fan is None else due_again(asked, now)
    return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.RUN_CANCELLED)
