"""Faults of users' changes: of the intent, and of the reconciliation of runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import timeball.domain.changes.change as rules
import timeball.engine.scanning.scan as scanning
from tests.simulation.faults.hands import Fault, answered, both, given, handed, instead, lost, swapped, through
from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision, decide_claim
from timeball.domain.changes.change import fenced_through
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.job_states import settled
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import closed
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.time.schedule import is_occurrence
from timeball.engine.changes.reconcile import Reconciled, reconcile
from timeball.engine.context import Context
from timeball.ports.collections import LedgerPage
from timeball.ports.rows import Swap


def _settles_the_row_alone(context: Context, job: Job) -> Reconciled:
    """The claim still ends queued runs of a cancelled job, but nothing ends withdrawn runs, or fires never inserted."""
    return _without_intent(context, job) if job.status is JobStatus.CANCELLED else reconcile(context, job)


def _without_intent(context: Context, job: Job) -> Reconciled:
    context.store.jobs.swap([Swap(job, settled(job))], context.clock.now())
    return Reconciled(settled(job), ())


def _claims_cancelled_runs(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    return decide_claim(run, job and replace(job, status=JobStatus.PENDING), now, rules, excluded)


def _leaving_open_fires_of_the_new_schedule(context: Context) -> Context:
    """The job's row shows which schedule closes the fires of the previous one."""

    def insert(rows: Sequence[Run], now: int) -> list[Run | None]:
        kept = [row for row in rows if not (row.is_superseded and is_shared(row))]
        standing = iter(context.store.runs.insert(kept, now) if kept else [])
        return [next(standing) if row in kept else None for row in rows]

    def is_shared(row: Run) -> bool:
        job = context.store.jobs.read([row.id.job])[0]
        return job is not None and is_occurrence(job.spec.schedule, row.id.fire_at)

    return through(context, "runs.insert", insert)


def _sends_no_notice(swap: Swap[Job]) -> Job:
    """The process of the change knows the intent, and reconciles. No other process finds it on the row."""
    return swap.after if swap.after.intent is None else settled(swap.after)


def _of_unknown_stamps(page: LedgerPage) -> LedgerPage:
    """A run's revision is no protection: a refused process reads the run again, and decides by the job it knows."""
    return replace(page, runs=tuple(replace(run, decided_at_version=0) for run in page.runs))


def _supersedes_by_stamp(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    """Each instant still has a row, so no promise breaks: a rule checks whether it is the right row."""
    if run is None or job is None or job.status is JobStatus.CANCELLED:
        return decide_claim(run, job, now, rules, excluded)
    is_planned = run.id.origin is Origin.SCHEDULE and run.is_unstarted and run.state is RunState.QUEUED
    if is_planned and run.decided_at_version < job.schedule_version:
        return Decision(ClaimAction.END, RunState.SKIPPED, Reason.SUPERSEDED)
    return decide_claim(run, job, now, rules, excluded)


def _empty(page: LedgerPage) -> LedgerPage:
    return replace(page, runs=())


def _remembers_nothing(context: Context) -> Context:
    """A repeated request to skip the next fire means the same fire."""
    return through(context, "requests.note", lambda notes, _: [at for _, at in notes])


def _nothing(*_: Any) -> list[Any]:
    return []


FAULTS = {
    "live runs are not settled": Fault(
        answered("runs.ledger", _empty), "a cancel reaches every run", meeting="a pause, and a cancel"
    ),
    "a cancel writes the job's row only": Fault(
        instead(reconcile, _settles_the_row_alone), "a cancel reaches every run", meeting="a pause, and a cancel"
    ),
    "a cancelled run starts": Fault(  # the cancel or the claim would end it, so here neither does
        both(instead(reconcile, _settles_the_row_alone), instead(decide_claim, _claims_cancelled_runs)),
        "nothing is called after its cancel",
        meeting="a resume, and a cancel",
    ),
    "no fence against a late insert": Fault(instead(fenced_through, lambda *_: 0), "each due instant has one row", 13),
    "no closing row where the new schedule has the fire": Fault(
        handed(_leaving_open_fires_of_the_new_schedule),
        "each due instant has one row",
        meeting="another schedule that takes long, and a slow plan of a fire that both have",
    ),
    "a superseded run keeps its stamp": Fault(
        instead(closed, lambda run, _: run),
        "a cancelled job has no new fire",
        meeting="a schedule that comes back, and a cancel",
    ),
    "a fence reaches no further than the margin": Fault(
        given(rules, "LONGEST_REQUEST_SECONDS", 0),
        "a cancelled job has no new fire",
        meeting="a cancel that takes long, and a slow plan",
    ),
    "a change leaves no intent": Fault(
        swapped("jobs.swap", _sends_no_notice), "nothing is stuck", meeting="a resume that breaks off"
    ),
    "a settling is not repeated by the scan": Fault(
        instead(reconcile, _nothing, within=scanning), "nothing is stuck", meeting="a resume that breaks off"
    ),
    "a pause withdraws a run without its stamp": Fault(
        answered("runs.ledger", _of_unknown_stamps), "nothing is stuck", meeting="a pause, and a resume"
    ),
    "a request to skip is not remembered": Fault(
        handed(_remembers_nothing), "a request skips one fire", scene="a fire that is skipped by hand"
    ),
    "a skipped fire has no row": Fault(
        lost("runs.insert", lambda row: row.reason is Reason.SKIPPED_MANUALLY),
        "each due instant has one row",
        scene="a fire that is skipped by hand",
    ),
    "runs are superseded by their stamp instead of by the schedule": Fault(
        instead(decide_claim, _supersedes_by_stamp),
        "a superseded run is no fire of the newest schedule",
        meeting="another schedule that breaks off",
    ),
}
