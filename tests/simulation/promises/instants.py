"""Promises about starts: no run starts before its instant, and late starts follow the policy."""

from collections.abc import Iterator
from itertools import islice

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.attempts.claim import CLAIM_AHEAD_MS
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import WAITS_IN_LINE, Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import PACE_MS, OverlapPolicy
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.domain.time.schedule import fires
from timeball.engine.execution.acknowledge import TOGETHER_MS


def _nothing_is_early(story: Story) -> Iterator[str]:
    for run_id, arrivals in story.receiver.calls().items():
        if run_id.origin is Origin.SCHEDULE and arrivals[0].at < run_id.fire_at - MOST_SKEW_MS:
            yield f"{run_id} was called {run_id.fire_at - arrivals[0].at} ms early"


def _nothing_is_called_before_its_instant(story: Story) -> Iterator[str]:
    """This holds for first calls and retries: the row shows before the claim from when the call may leave."""
    claims = {(write.after.id, write.after.attempt): before for write, before in story.store.history.claims()}
    for arrival in story.receiver.arrivals:
        claimed = claims.get((arrival.run, arrival.attempt))
        if claimed is None:
            yield f"{arrival} was never claimed"
        elif arrival.at + MOST_SKEW_MS < claimed.not_before:
            yield f"{arrival} came {claimed.not_before - arrival.at} ms early: {claimed}"


def _no_run_is_claimed_long_before_its_instant(story: Story) -> Iterator[str]:
    """Checked are first attempts whose instant was never moved: older messages carry the former instant.

    Also checked are runs that collect, for which the claim decides by the row alone.
    """
    for write, before in story.store.history.claims():
        moved = any(one.after.not_before != before.not_before for one in story.store.history.of_run(before.id))
        collects = before.collected is not None
        earliest_at = before.not_before - CLAIM_AHEAD_MS - (0 if collects else TOGETHER_MS)
        if before.is_unstarted and (collects or not moved) and (write.after.claimed_at or LATEST) < earliest_at:
            yield str(write)


_WAITS = frozenset({Reason.CIRCUIT_OPEN, Reason.HOST_PACED, *WAITS_IN_LINE})


def _no_more_runs_start_late_than_the_catch_up_policy_allows(story: Story) -> Iterator[str]:
    """A late start is among the newest fires missed by then, as many as the policy allows.

    Checked are jobs without an overlap lock and a calendar, and runs that waited for no host, quota or parents. Any
    version of the job may have decided.
    """
    history = story.store.history
    for write, before in history.claims():
        waited = any(one.after.reason in _WAITS for one in history.of_run(before.id))
        if before.id.origin is not Origin.SCHEDULE or not before.is_unstarted or waited or before.joined:
            continue
        jobs = [one.after for one in history.of_job(before.id.job) if one.at <= write.at]
        if any(job.spec.overlap is not OverlapPolicy.ALLOW or job.spec.schedule.is_one_off for job in jobs):
            continue
        if any(job.spec.calendar is not None for job in jobs):
            continue
        if not any(_may_be_late(story, job, before, write.after.claimed_at or write.at) for job in jobs):
            yield f"{write} is too late for {jobs[-1]}"


def _may_be_late(story: Story, job: Job, run: Run, claimed_at: int) -> bool:
    regular_at = run.id.fire_at + job.spec.jitter_seconds * SECOND_MS
    was_put_off = run.not_before > regular_at
    if not was_put_off and claimed_at <= regular_at + story.rules.misfire_ms:
        return True
    allowed = job.spec.catch_up.limit
    decided_at = run.not_before - max(allowed - 1, 0) * PACE_MS if was_put_off else claimed_at
    missed_before = decided_at - story.rules.misfire_ms - job.spec.jitter_seconds * SECOND_MS
    missed = islice(fires(job.spec.schedule, run.id.fire_at, missed_before - 1), allowed + 1)
    return sum(1 for _ in missed) <= allowed


def _a_run_does_not_wait_for_failures_of_another_path(story: Story) -> Iterator[str]:
    """A webhook's run waits for an open circuit only if its own path failed before, or several others of its host."""
    for write in story.store.history.runs:
        run, before = write.after, write.before
        if run.reason is not Reason.CIRCUIT_OPEN or (before is not None and before.reason is Reason.CIRCUIT_OPEN):
            continue
        specs = [one.after.spec for one in story.store.history.of_job(run.id.job)]
        works = [spec.work for spec in specs if spec.work is not None and spec.task is None]
        targets = [work.target for work in works if isinstance(work.target, HttpTarget)]
        if len(targets) < len(specs):
            continue  # a task names the target, or the target is no webhook
        failing = [one for one in story.receiver.failing if one.at <= write.at and one.tenant == run.id.job.tenant]
        paths = {(one.host, one.segment) for one in failing}
        of_hosts = [{path for path in paths if path[0] == target.resource} for target in targets]
        own = {(target.resource, target.segment) for target in targets}
        if not paths & own and all(len(of_host) < story.rules.circuits.open_segments for of_host in of_hosts):
            yield f"{write}, of {own}, beside failures of {paths}"


def _lateness_counts_from_the_end_of_the_last_hold(story: Story) -> Iterator[str]:
    """No gate ends after the start, and the waits lead from the start of the schedule to the end of the last gate."""
    for run in story.store.runs.values():
        held = run.gate_waits
        if run.first_started_at is None or not held.until or run.id.origin is not Origin.SCHEDULE:
            continue
        if held.until > run.first_started_at + 2 * MOST_SKEW_MS:
            yield f"{run} began {held.until - run.first_started_at} ms before its last gate ended"
        begins_at = held.until - held.at_work_ms - held.frozen
        jobs = [write.after for write in story.store.history.of_job(run.id.job)]
        moved = {one.after.regular_at for one in story.store.history.of_run(run.id)}
        most_jitter_ms = max(job.spec.jitter_seconds for job in jobs) * SECOND_MS
        if not any(at <= begins_at <= at + most_jitter_ms for at in moved):
            yield f"{run} was held from {begins_at} on"


PROMISES = (
    _a_run_does_not_wait_for_failures_of_another_path,
    _nothing_is_early,
    _nothing_is_called_before_its_instant,
    _lateness_counts_from_the_end_of_the_last_hold,
    _no_run_is_claimed_long_before_its_instant,
    _no_more_runs_start_late_than_the_catch_up_policy_allows,
)
