"""What must hold of each single write, told from the history: no promise breaks at once where one of these is broken.

Each rule is a generator of complaints. Who wrote is told by its process's name: `executor-2.1` works in the second
executor's first life, and owns what `executor-2.1/7` has claimed.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tests.simulation.history import Write
from tests.simulation.operation_rules import is_retried_by_an_operation
from tests.simulation.reruns import is_of_a_rerun
from tests.simulation.story import MOST_SKEW_MS, TARGET, Story
from timeball.domain.backfills.backfill import BackfillStatus
from timeball.domain.ends.effects import final_status, releases
from timeball.domain.model.attempt import Outcome
from timeball.domain.model.ids import BackfillKey, JobKey, Origin, RunId
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.policies import PACE_MS, OverlapPolicy, RetryPolicy
from timeball.domain.model.reason import WAITS_IN_LINE, Reason
from timeball.domain.model.run import MOVES, Run, RunState
from timeball.domain.model.work import Work
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.domain.time.schedule import OnEvents, fires, is_occurrence
from timeball.engine.execution.waves import CLAIM_AHEAD_MS, TOGETHER_MS
from timeball.engine.runs.overlap_lock import LOCKED


def _each_move_is_legal(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None:
            if after.state not in (RunState.QUEUED, RunState.SKIPPED):
                yield f"born as {after.state}: {write}"
        elif before.state is not after.state and after.state not in MOVES[before.state]:
            yield f"{before.state} -> {after.state}: {write}"
        elif before.state is RunState.SKIPPED and after.state is RunState.QUEUED and not before.is_superseded:
            if is_of_a_rerun(story, write):
                continue
            yield f"only a superseded run is revived: {write}"


def _what_is_over_changes_no_more(story: Story) -> Iterator[str]:
    """But for its due key, a dead letter that a person discards or tries again, what is superseded, or run again."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or not before.is_terminal or before.is_superseded:
            continue
        is_retried = before.state is RunState.FAILED and after.state is RunState.QUEUED
        is_mended = is_retried or (before.state is RunState.FAILED and after.pardon is not None)
        by_operation = is_retried and is_retried_by_an_operation(story, write)
        if is_of_a_rerun(story, write) and (after.state is not before.state or after.stamp > before.stamp):
            continue
        is_with_others = before.id.origin is Origin.DEPENDENCY and is_retried
        if is_with_others or (before.fan is not None and after.state is RunState.SUCCEEDED):
            continue  # the items of a run that was retried; and one whose items were mended
        if is_mended and (write.by.startswith("user") or by_operation):
            continue
        same = replace(after, due_at=before.due_at, discarded_at=before.discarded_at, revision=before.revision)
        if same != before:
            yield str(write)


def _only_the_scan_drops_the_due_key_of_a_run_that_is_over(story: Story) -> Iterator[str]:
    """And only a run that was over when it came to it."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or not after.is_terminal or before.due_at is None or after.due_at is not None:
            continue
        if not before.is_terminal or not write.by.startswith("scanner"):
            yield str(write)


def _a_due_key_is_dropped_after_the_effects(story: Story) -> Iterator[str]:
    """Its job was as the end would have it by then. One whose ledger goes on, or that is paused, need not be."""
    history = story.store.history
    for write in history.runs:
        before, after = write.before, write.after
        if before is None or not before.is_terminal or before.due_at is None or after.due_at is not None:
            continue
        jobs = history.jobs_between(after.id.job, (before.finished_at or 0) - MOST_SKEW_MS, write.at)
        if all(final_status(before, job) is not None or releases(before, job) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


def _an_end_without_a_message_is_due_at_once(story: Story) -> Iterator[str]:
    """A target, a user and the scan hold none. What a plan or a change ends is found by its job.

    What a backfill ends entails nothing.
    """
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.is_terminal or not after.is_terminal:
            continue
        if after.id.origin is Origin.BACKFILL or after.reason in _REASONS_OF_A_JOB:
            continue
        is_due = after.due_at is not None and after.due_at <= write.at + MOST_SKEW_MS
        if write.by.startswith((TARGET, "user", "scanner")) and not is_due:
            yield str(write)


_REASONS_OF_A_JOB = frozenset(
    {
        Reason.JOB_CANCELLED,
        Reason.SUPERSEDED,
        Reason.MISFIRED,
        Reason.CALENDAR,
        Reason.FROZEN,
        Reason.SKIPPED_BY_HAND,
    }
)


def _whoever_finishes_an_attempt_holds_it(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.state is not RunState.RUNNING or after.last is None or after.last == before.last:
            continue
        if after.last.number != before.attempt:
            yield f"attempt {after.last.number} was written as the end of attempt {before.attempt}: {write}"
        if write.by.startswith(TARGET) and write.by != f"{TARGET}{before.attempt}":
            yield f"{write.by} ended attempt {before.attempt}: {write}"


def _nobody_cuts_a_lease_short(story: Story) -> Iterator[str]:
    """A running run is ended by its owner, or by its target's word; by others, and claimed, when its lease is out."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.state is not RunState.RUNNING:
            continue
        if after.state is RunState.RUNNING and after.attempt == before.attempt:
            continue
        if _is_out(story, before, write.at) or _is_entitled(write, before):
            continue
        yield f"{write.by} ended an attempt whose lease holds until {before.lease_until}: {write}"


def _is_out(story: Story, run: Run, at: int) -> bool:
    """Say whether, by the clock of a process that is as fast as any, a lease's end and its margin were over."""
    return at + MOST_SKEW_MS >= (run.lease_until or 0) + story.rules.margin_ms


def _is_entitled(write: Write[Run], before: Run) -> bool:
    after = write.after
    if after.attempt != before.attempt or after.last is None or after.last == before.last:
        return False
    if after.last.outcome is Outcome.LOST:
        return False
    return write.by.startswith("user") or write.by == (before.owner or "").split("/")[0]


def _a_heartbeat_revives_no_lease(story: Story) -> Iterator[str]:
    """The new lease tells when that was decided, unless the end of the attempt's time cuts it short."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.callback is None or before.callback.heartbeat_ms is None:
            continue
        held_until, holds_until = before.lease_until or 0, after.lease_until or 0
        if after.callback == before.callback and held_until < holds_until < before.callback.until:
            late_ms = holds_until - before.callback.heartbeat_ms - held_until
            if late_ms > 0:
                yield f"it came {late_ms} ms after the lease's end: {write}"


def _an_attempt_is_one_more(story: Story) -> Iterator[str]:
    for write, before in story.store.history.claims():
        after = write.after
        if after.attempt != before.attempt + 1 or after.owner == before.owner or after.state is not RunState.RUNNING:
            yield str(write)


def _what_is_asked_to_stop_is_not_claimed(story: Story) -> Iterator[str]:
    for write, before in story.store.history.claims():
        if before.cancel_requested:
            yield str(write)


def _nothing_is_called_before_its_instant(story: Story) -> Iterator[str]:
    """No first call and no retry: the row says before the claim from when the call may leave."""
    claims = {(write.after.id, write.after.attempt): before for write, before in story.store.history.claims()}
    for arrival in story.receiver.arrivals:
        claimed = claims.get((arrival.run, arrival.attempt))
        if claimed is None:
            yield f"{arrival} was never claimed"
        elif arrival.at + MOST_SKEW_MS < claimed.not_before:
            yield f"{arrival} came {claimed.not_before - arrival.at} ms early: {claimed}"


def _no_attempt_is_beyond_what_the_policy_allows(story: Story) -> Iterator[str]:
    """Neither by their number nor by its age; any version of the job may have decided.

    What waits for a quota, or for a key, is not lost, however old it becomes.
    """
    history = story.store.history
    for write, before in history.claims():
        start_at = (write.after.claimed_at or 0) if before.state is RunState.RUNNING else before.not_before
        written = [one.after for one in history.of_job(before.id.job) if one.at <= write.at]
        jobs = [seen for job in written for seen in history.seen_until(job, write.at)]
        waited = (one.after for one in history.of_run(before.id) if one.after.attempt == before.attempt)
        if any(one.reason in WAITS_IN_LINE for one in waited):
            continue
        if before.attempts_spent > 0 and not any(_allows(job.spec.retry, before, start_at) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


def _allows(policy: RetryPolicy, run: Run, start_at: int) -> bool:
    age_ms = start_at - run.aging_since
    is_young = policy.max_age_seconds is None or age_ms <= policy.max_age_seconds * SECOND_MS
    return is_young and run.attempts_spent <= policy.max_retries


def _what_is_called_is_what_was_asked_for(story: Story) -> Iterator[str]:
    """The run's own payload, or one that its job had during the claim."""
    history = story.store.history
    claims = {(write.after.id, write.after.attempt): write for write, _ in history.claims()}
    for arrival in story.receiver.arrivals:
        write = claims.get((arrival.run, arrival.attempt))
        if write is None:
            continue
        run, key = write.after, arrival.run.job
        if run.work_digest is not None:
            works: list[Work | None] = [story.store.works[key, run.work_digest]]
        else:
            since_at = (run.claimed_at or 0) - MOST_SKEW_MS
            works = [job.spec.work for job in history.jobs_between(key, since_at, write.at)]
        payloads = [work.payload for work in works if work is not None]
        if own_payload(arrival.payload) not in payloads:
            yield f"{arrival}, asked for: {payloads}"


def own_payload(payload: str | None) -> str | None:
    """Return the payload of a call without what it is handed of the job's parents."""
    is_wrapped = payload is not None and payload.startswith('{"payload":')
    return json.dumps(json.loads(payload or "")["payload"]) if is_wrapped else payload


def _cancelled_stays_cancelled(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        if write.before is None or write.before.status is not JobStatus.CANCELLED:
            continue
        if write.after.status is not JobStatus.CANCELLED:
            yield str(write)


def _guarded_runs_come_one_by_one(story: Story) -> Iterator[str]:
    """While a run of a job is under way, or waits for its retry, no other starts, unless the job ever allowed it."""
    history = story.store.history
    allowed = {write.after.key for write in history.jobs if write.after.spec.overlap is OverlapPolicy.ALLOW}
    under_way: dict[JobKey, dict[RunId, Run]] = defaultdict(dict)
    for write in history.runs:
        before, after = write.before, write.after
        if after.id.origin not in LOCKED or after.id.job in allowed:
            continue
        live = under_way[after.id.job]
        if before is not None and after.attempt > before.attempt and live.keys() - {after.id}:
            yield f"{after.id} starts beside {live}: {write}"
        if after.state in (RunState.RUNNING, RunState.RETRYING):
            live[after.id] = after
        elif after.state is not RunState.QUEUED:
            live.pop(after.id, None)


def _who_waits_for_the_guard_does_not_misfire(story: Story) -> Iterator[str]:
    history = story.store.history
    for write in history.runs:
        before, after = write.before, write.after
        if before is None or before.state is not RunState.QUEUED or after.reason is not Reason.MISFIRED:
            continue
        decided_at = (after.finished_at or 0) - MOST_SKEW_MS
        jobs = history.jobs_between(after.id.job, decided_at, write.at)
        if all(after.id in (job.holder, job.parked) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


def _what_is_superseded_is_decided_about_by_no_older_version(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        if write.before is not None and write.before.is_superseded and write.after.stamp < write.before.stamp:
            yield str(write)


def _written_to(writes: Sequence[Write[Job]]) -> int:
    """Return up to where a job's fires were to be planned: one that is paused waits, and a cancel ends its plan."""
    last = next(
        (one.before for one in writes if one.before is not None and one.after.status is JobStatus.CANCELLED), None
    )
    job = last or writes[-1].after
    return (job.next_fire_at or LATEST) if last is not None or job.status is JobStatus.PAUSED else LATEST


def _is_timeless(job: Job) -> bool:
    """Say whether a job runs on events alone."""
    return isinstance(job.spec.schedule.timing, OnEvents)


def _what_stays_superseded_is_no_fire_any_more(story: Story) -> Iterator[str]:
    """A job that is changed and changed back loses no fire: whoever had it, some later schedule has it not."""
    history = story.store.history
    for run in story.store.runs.values():
        if not run.is_superseded or run.id.origin is not Origin.SCHEDULE:
            continue
        if any(write.after.waits for write in history.of_job(run.id.job)):
            continue  # its parents say when it fires
        at = run.id.fire_at
        written_to = _written_to(history.of_job(run.id.job))
        lacking = False
        timeless_at = [write.after.updated_at for write in history.of_job(run.id.job) if _is_timeless(write.after)]
        for reign in reversed(list(history.reigns(run.id.job, story.ends_at))):
            lacking = lacking or any(reign.ended_at <= at for at in timeless_at)
            lacking = lacking or not is_occurrence(reign.schedule, at) or reign.schedule.max_runs is not None
            if not lacking and reign.has(at, -1) and at < written_to:
                yield f"{run} is a fire of {reign}"


def _nobody_claims_long_before_the_instant(story: Story) -> Iterator[str]:
    """Asked of first attempts whose instant was never moved: older messages hint at the one before."""
    for write, before in story.store.history.claims():
        moved = any(one.after.not_before != before.not_before for one in story.store.history.of_run(before.id))
        earliest_at = before.not_before - CLAIM_AHEAD_MS - TOGETHER_MS
        if before.is_unstarted and not moved and (write.after.claimed_at or LATEST) < earliest_at:
            yield str(write)


_WAITS = frozenset({Reason.CIRCUIT_OPEN, Reason.HOST_PACED, *WAITS_IN_LINE})


def _late_starts_are_as_few_as_catching_up_allows(story: Story) -> Iterator[str]:
    """Of the fires that were missed when one was let start, it is among the newest, as many as the policy says.

    Asked of jobs without a guard and a calendar, and of runs that waited for no host, quota or parents. Any version
    of the job may have decided.
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


def _no_more_backfills_run_than_may(story: Story) -> Iterator[str]:
    running: dict[str, set[BackfillKey]] = defaultdict(set)
    for write in story.store.history.backfills:
        key = write.after.key
        of_tenant = running[key.job.tenant]
        if write.after.status is BackfillStatus.RUNNING:
            of_tenant.add(key)
        else:
            of_tenant.discard(key)
        if len(of_tenant) > story.rules.running_backfills:
            yield f"{write} beside {of_tenant - {key}}"


def _nobody_waits_for_a_hundred_of_another(story: Story) -> Iterator[str]:
    """Of those that one scan starts, the first hundred are of all their tenants."""
    for runs in story.store.history.inserted_by_scans():
        first = {run.id.job.tenant for run in runs[:100]}
        yield from (f"{run.id} of {run.id.job.tenant}" for run in runs[100:] if run.id.job.tenant not in first)


def _whose_last_message_goes_is_found_again(story: Story) -> Iterator[str]:
    """By the due index, a plan or its limiter, at the end of the run before it, at a resume; or it is over."""
    for gone in story.queue.deletions:
        if not gone.others and not any(_is_found_again(story, gone.run, at) for at in (gone.at - 1, gone.at)):
            run, job = story.store.runs[gone.run], story.store.jobs[gone.run.job]
            yield f"{gone}; now: {run}, {job}"


def _is_found_again(story: Story, run_id: RunId, at: int) -> bool:
    run, job = story.store.history.run_at(run_id, at), story.store.history.job_at(run_id.job, at)
    if run is None or job is None or run.is_terminal:
        return True
    is_planned_anew = run.id.origin is Origin.SCHEDULE and (job.next_fire_at or LATEST) <= run.id.fire_at
    waits = run.due_at is not None or run.state is RunState.WITHDRAWN or job.parked == run.id
    return waits or run.stands_in_line or is_planned_anew


def _a_request_skips_one_fire(story: Story) -> Iterator[str]:
    """Whoever has no answer asks again, under the same name. What is skipped was never claimed."""
    skipped: Counter[JobKey] = Counter()
    for run in story.store.runs.values():
        if run.reason is Reason.SKIPPED_BY_HAND:
            skipped[run.id.job] += 1
            if run.attempt > 0:
                yield f"{run} had begun"
    for key, count in skipped.items():
        if count > story.skips[key]:
            yield f"{count} fires of {key} are skipped, {story.skips[key]} were to be"


RULES = (
    _a_request_skips_one_fire,
    _each_move_is_legal,
    _what_is_over_changes_no_more,
    _only_the_scan_drops_the_due_key_of_a_run_that_is_over,
    _a_due_key_is_dropped_after_the_effects,
    _an_end_without_a_message_is_due_at_once,
    _whoever_finishes_an_attempt_holds_it,
    _nobody_cuts_a_lease_short,
    _a_heartbeat_revives_no_lease,
    _an_attempt_is_one_more,
    _what_is_asked_to_stop_is_not_claimed,
    _nothing_is_called_before_its_instant,
    _no_attempt_is_beyond_what_the_policy_allows,
    _what_is_called_is_what_was_asked_for,
    _cancelled_stays_cancelled,
    _guarded_runs_come_one_by_one,
    _who_waits_for_the_guard_does_not_misfire,
    _what_is_superseded_is_decided_about_by_no_older_version,
    _what_stays_superseded_is_no_fire_any_more,
    _nobody_claims_long_before_the_instant,
    _late_starts_are_as_few_as_catching_up_allows,
    _no_more_backfills_run_than_may,
    _nobody_waits_for_a_hundred_of_another,
    _whose_last_message_goes_is_found_again,
)
