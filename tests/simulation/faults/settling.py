"""Faults of users' changes: of the intent, and of what is done to the runs."""

from dataclasses import replace
from typing import Any

import timeball.domain.policy.change as rules
import timeball.engine.changes.change as changing
import timeball.engine.changes.reconcile as settling
import timeball.engine.execution.claim as claims
import timeball.engine.scanning.scan as scanning
from tests.simulation.faults.patching import Fault, Patch
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.job import Intent, Job, JobStatus, settled
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState, superseded
from timeball.domain.policy.claim import Action, ClaimRules, Decision, decide_claim
from timeball.domain.time.schedule import is_occurrence
from timeball.engine.context import Context


def _live_runs_are_not_settled(patch: Patch) -> None:
    patch.setattr(settling, "_aligned", lambda *_: None)


def _a_cancel_writes_the_job_only(patch: Patch) -> None:
    """The claim ends what comes to it of a cancelled job; nothing comes of what is withdrawn, or was never inserted."""
    aligned, refuse = settling._aligned, settling._close

    def aligning(context: Context, job: Job, run: Run, now: int) -> Run | None:
        return None if job.status is JobStatus.CANCELLED else aligned(context, job, run, now)

    def refusing(context: Context, job: Job, *args: Any) -> None:
        if job.status is not JobStatus.CANCELLED:
            refuse(context, job, *args)

    patch.setattr(settling, "_aligned", aligning)
    patch.setattr(settling, "_close", refusing)
    patch.setattr(settling, "stop_backfill", lambda *_: ())


def _what_is_cancelled_starts(patch: Patch) -> None:
    """Either the cancel or the claim ends it: so here neither does."""

    def decide(run: Run | None, job: Job | None, now: int, rules: ClaimRules) -> Decision:
        return decide_claim(run, job and replace(job, status=JobStatus.PENDING), now, rules)

    _a_cancel_writes_the_job_only(patch)
    patch.setattr(claims, "decide_claim", decide)


def _no_fence_against_late_inserts(patch: Patch) -> None:
    patch.setattr(settling, "_close", lambda *_: None)


def _no_closing_row_where_the_new_schedule_has_the_fire(patch: Patch) -> None:
    close = settling._close

    def sparing(context: Context, job: Job, intent: Intent, now: int) -> None:
        if intent.next_fire_at is None or not is_occurrence(job.spec.schedule, intent.next_fire_at):
            close(context, job, intent, now)

    patch.setattr(settling, "_close", sparing)


def _what_is_superseded_keeps_its_stamp(patch: Patch) -> None:
    patch.setattr(settling, "_close_superseded", lambda *_: None)


def _the_fence_reaches_no_further_than_the_margin(patch: Patch) -> None:
    patch.setattr(rules, "LONGEST_REQUEST_SECONDS", 0)


def _no_intent(patch: Patch) -> None:
    """Whoever asked knows what it is about, and does it; the row tells nobody else."""
    asked: dict[JobKey, Intent | None] = {}

    def silently(verb: Any) -> Any:
        def changed(job: Job, *args: Any) -> Job | None:
            after: Job | None = verb(job, *args)
            if after is None or after.intent is None:
                return after
            asked[job.key] = after.intent
            return settled(after)

        return changed

    reconcile = settling.reconcile

    def settling_from_memory(context: Context, jobs: list[Job]) -> Any:
        return reconcile(context, [replace(job, intent=asked.get(job.key)) for job in jobs])

    for name in ("_cancel", "_pause", "_resume", "revised"):
        patch.setattr(changing, name, silently(getattr(changing, name)))
    patch.setattr(changing, "settle", settling_from_memory)


def _the_scan_settles_nothing(patch: Patch) -> None:
    patch.setattr(scanning, "_settle", lambda *_: (0, False))


def _withdraws_without_the_stamp(patch: Patch) -> None:
    """A run's revision keeps nothing here: who is refused reads the run again, and decides by the job that it knows."""
    aligned = settling._aligned

    def whatever_its_stamp_is(context: Context, job: Job, run: Run, now: int) -> Run | None:
        after = aligned(context, job, replace(run, stamp=min(run.stamp, job.schedule_version)), now)
        return after and replace(after, stamp=max(after.stamp, run.stamp))

    patch.setattr(settling, "_aligned", whatever_its_stamp_is)


def _supersedes_by_stamp(patch: Patch) -> None:
    """Each instant has a row all the same, so no promise breaks: a rule asks whether it was the right one."""
    aligned = settling._aligned

    def is_old(run: Run | None, job: Job | None) -> bool:
        if run is None or job is None or run.id.origin is not Origin.SCHEDULE or not run.is_unstarted:
            return False
        waits = run.state in (RunState.QUEUED, RunState.WITHDRAWN)
        return waits and job.status is not JobStatus.CANCELLED and run.stamp < job.schedule_version

    def by_stamp(context: Context, job: Job, run: Run, now: int) -> Run | None:
        if is_old(run, job):
            return superseded(run, job.schedule_version, now, Guarantor.OWNER)
        return aligned(context, job, run, now)

    def decide(run: Run | None, job: Job | None, now: int, rules: ClaimRules) -> Decision:
        if is_old(run, job) and run is not None and run.state is RunState.QUEUED:
            return Decision(Action.END, RunState.SKIPPED, Reason.SUPERSEDED)
        return decide_claim(run, job, now, rules)

    patch.setattr(settling, "_aligned", by_stamp)
    patch.setattr(claims, "decide_claim", decide)


FAULTS = {
    "live runs are not settled": Fault(_live_runs_are_not_settled, "a cancel reaches every run", 2),
    "a cancel writes the job's row only": Fault(_a_cancel_writes_the_job_only, "a cancel reaches every run", 2),
    "what is cancelled starts": Fault(_what_is_cancelled_starts, "nothing is called after its cancel", 2),
    "no fence against a late insert": Fault(_no_fence_against_late_inserts, "each due instant has one row", 4),
    "no closing row where the new schedule has the fire": Fault(
        _no_closing_row_where_the_new_schedule_has_the_fire,
        "each due instant has one row",
        meeting="another schedule that takes long, and a slow plan of a fire that both have",
    ),
    "what is superseded keeps its stamp": Fault(
        _what_is_superseded_keeps_its_stamp,
        "a cancelled job has no new fire",
        meeting="a schedule that comes back, and a cancel",
    ),
    "a fence reaches no further than the margin": Fault(
        _the_fence_reaches_no_further_than_the_margin,
        "a cancelled job has no new fire",
        meeting="a cancel that takes long, and a slow plan",
    ),
    "a change leaves no intent": Fault(_no_intent, "nothing is stuck", meeting="a resume that breaks off"),
    "a settling is not repeated by the scan": Fault(_the_scan_settles_nothing, "nothing is stuck", 7),
    "withdrawn without the stamp": Fault(
        _withdraws_without_the_stamp, "nothing is stuck", meeting="a pause, and a resume"
    ),
    "superseded by stamp instead of by schedule": Fault(
        _supersedes_by_stamp, "what stays superseded is no fire any more", 5
    ),
}
