"""Promises about attempts: each has one owner, which holds its lease, and there are as many as the policy allows.

The name of its process identifies a writer: `executor-2.1` works in the second executor's first life, and owns what
`executor-2.1/7` has claimed.
"""

from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, TARGET, Story
from tests.simulation.world.history import Write
from tests.simulation.world.receiver import REFUSED
from timeball.domain.model.reason import WAITS_IN_LINE
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.targets.http.verdict import ACCEPTED


def _only_the_holder_of_an_attempt_finishes_it(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.state is not RunState.RUNNING or after.last is None or after.last == before.last:
            continue
        if after.last.number != before.attempt:
            yield f"attempt {after.last.number} was written as the end of attempt {before.attempt}: {write}"
        if write.by.startswith(TARGET) and write.by != f"{TARGET}{before.attempt}":
            yield f"{write.by} ended attempt {before.attempt}: {write}"


def _no_lease_is_cut_short(story: Story) -> Iterator[str]:
    """A running run is ended by its owner, or by its target's report. Others end or claim it only after its lease."""
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
    """Return whether a lease and its margin were over by the clock of a process that is as fast as any."""
    return at + MOST_SKEW_MS >= (run.lease_until or 0) + story.rules.margin_ms


def _is_entitled(write: Write[Run], before: Run) -> bool:
    after = write.after
    if after.attempt != before.attempt or after.last is None or after.last == before.last:
        return False
    if after.last.outcome is Outcome.LOST:
        return False
    return write.by.startswith("user") or write.by == (before.owner or "").split("/")[0]


def _a_heartbeat_revives_no_lease(story: Story) -> Iterator[str]:
    """The new lease shows when it was decided, unless the end of the attempt's time cuts it short."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.callback is None or before.callback.heartbeat_ms is None:
            continue
        deferred_until, holds_until = before.lease_until or 0, after.lease_until or 0
        if after.callback == before.callback and deferred_until < holds_until < before.callback.until:
            late_ms = holds_until - before.callback.heartbeat_ms - deferred_until
            if late_ms > 0:
                yield f"it came {late_ms} ms after the lease's end: {write}"


def _an_attempt_is_one_more(story: Story) -> Iterator[str]:
    for write, before in story.store.history.claims():
        after = write.after
        if after.attempt != before.attempt + 1 or after.owner == before.owner or after.state is not RunState.RUNNING:
            yield str(write)


def _no_run_is_claimed_after_a_cancel_was_requested(story: Story) -> Iterator[str]:
    for write, before in story.store.history.claims():
        if before.cancel_requested:
            yield str(write)


def _no_run_has_more_attempts_than_its_policy_allows(story: Story) -> Iterator[str]:
    """Neither the number of attempts nor the age exceeds the policy. Any version of the job may have decided.

    A run that waits for a quota, or for a limiter, is not lost, however old it becomes.
    """
    history = story.store.history
    for write, before in history.claims():
        start_at = (write.after.claimed_at or 0) if before.state is RunState.RUNNING else before.not_before
        written = [one.after for one in history.of_job_and_lost(before.id.job) if one.at <= write.at]
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


def _each_verdict_moves_its_run_to_the_state_that_it_names(story: Story) -> Iterator[str]:
    """A target that has accepted an attempt has not ended it, and a target that refuses is not called again."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or after.last is None or after.last == before.last:
            continue
        if after.last.status == ACCEPTED:
            yield f"ended by the answer that took it over: {write}"
        if after.last.status == REFUSED and after.state is RunState.RETRYING:
            yield f"tried again after it was refused: {write}"


PROMISES = (
    _only_the_holder_of_an_attempt_finishes_it,
    _no_lease_is_cut_short,
    _a_heartbeat_revives_no_lease,
    _an_attempt_is_one_more,
    _no_run_is_claimed_after_a_cancel_was_requested,
    _no_run_has_more_attempts_than_its_policy_allows,
    _each_verdict_moves_its_run_to_the_state_that_it_names,
)
