"""Retry a run manually, and cancel one: what a person does to a single run, whatever its schedule says.

A run that is tried again has a due key before its message is sent, and one that is ended has one until the scan has
seen to the effects; so a crash in between loses neither.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import RunId
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import asked_to_stop, due_again, ended, reopened
from timeball.engine.context import Context
from timeball.engine.runs.due_runs import resend
from timeball.engine.runs.on_run_end import change_run
from timeball.engine.runs.reopen import note_reopened
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)


class Manual(StrEnum):
    """What became of it.

    Done, or true already; no such run; its state does not allow it; its job is cancelled, or gone.
    """

    DONE = "done"
    NOT_FOUND = "not_found"
    WRONG_STATE = "wrong_state"
    JOB_CANCELLED = "job_cancelled"


@dataclass(frozen=True)
class Handled:
    """The outcome, and the run as it stands."""

    outcome: Manual
    run: Run | None


_RENEWABLE = frozenset({RunState.FAILED, RunState.RETRYING})

_Verb = Callable[[Run, Job | None, int], Run | Manual]
"""From a run, its job and an instant to the run as it is to be, the same one if it is so; or to why it cannot be."""


def retry_runs(context: Context, ids: Sequence[RunId]) -> list[Handled]:
    """Try each run again now, with a fresh budget of retries: one that has failed, or waits for its next retry.

    Its attempts go on counting, and its history stays. One that is queued is sent again. Raises UnavailableError; it
    may then be repeated.
    """
    return [_retry(context, run_id) for run_id in ids]


def cancel_runs(context: Context, ids: Sequence[RunId]) -> list[Handled]:
    """Cancel each run: one that waits ends, one that is under way is asked to stop. Raises UnavailableError."""
    return [_handled(context, run_id, _cancelled) for run_id in ids]


def _retry(context: Context, run_id: RunId) -> Handled:
    def renewed(run: Run, job: Job | None, now: int) -> Run | Manual:
        after = _renewed(run, job, now)
        if isinstance(after, Run) and after != run:
            note_reopened(context, [run_id])
        return after

    handled = _handled(context, run_id, renewed)
    if handled.outcome is Manual.DONE and handled.run is not None and _is_due(context, handled.run):
        try:
            resend(context, [handled.run])
        except UnavailableError as unavailable:
            log.warning("to be tried again, and left to the scan: %s", unavailable)
    return handled


def _is_due(context: Context, run: Run) -> bool:
    """Say whether to send it at once. One that waits for a later turn is the scan's, and keeps its turn."""
    return run.due_at is not None and run.due_at <= context.clock.now() + context.rules.lookahead_ms


def _renewed(run: Run, job: Job | None, now: int) -> Run | Manual:
    if job is None or job.status is JobStatus.CANCELLED:
        return Manual.JOB_CANCELLED
    if run.state is RunState.QUEUED and run.due_at is None:
        return due_again(run, max(run.not_before, now))  # its message may be lost: a queue keeps one for 14 days
    if run.cancel_requested:
        return Manual.WRONG_STATE
    if run.state in (RunState.QUEUED, RunState.RUNNING):
        return run  # it is being tried
    return reopened(run, now) if run.state in _RENEWABLE else Manual.WRONG_STATE


def _cancelled(run: Run, job: Job | None, now: int) -> Run | Manual:  # noqa: ARG001 - a run may be cancelled without its job
    if run.state is RunState.CANCELLED or run.cancel_requested:
        return run
    if run.is_terminal:
        return Manual.WRONG_STATE
    if run.state is RunState.RUNNING:
        return asked_to_stop(run, Reason.RUN_CANCELLED)
    return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.RUN_CANCELLED)


def _handled(context: Context, run_id: RunId, verb: _Verb) -> Handled:
    refusal, run = change_run(context, run_id, verb)
    return Handled(refusal or (Manual.DONE if run else Manual.NOT_FOUND), run)
