"""Promises about followed executions, by what AWS did and what was written.

Each rule is a generator of complaints.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.executions import Execution
from tests.simulation.world.history import Write
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.runs.overlap_lock import LOCKED

_SEEN_WITHIN_MS = 90 * SECOND_MS
"""The longest time between two polls, the margin, and a scan or two."""

_STOPPED_WITHIN_MS = 20 * SECOND_MS


def _followed(story: Story) -> Iterator[tuple[Write[Run], Run, Execution]]:
    """Yield each write of a run that followed an execution, the run as it was before, and the execution."""
    for write in story.store.history.runs:
        before = write.before
        if before is not None and before.callback is not None and before.callback.execution is not None:
            yield write, before, story.executions.all[before.callback.execution]


def _ends(story: Story) -> Iterator[tuple[Write[Run], Run, Execution]]:
    """Yield the writes that ended the attempt."""
    return ((write, before, one) for write, before, one in _followed(story) if write.after.callback is None)


def _is_unheard_of(story: Story, one: Execution, at: int) -> bool:
    """Return whether an execution's run was not under way at an instant: its last attempt was lost, or not answered."""
    run = story.store.history.run_at(one.run, at)
    is_under_way = run is not None and run.state in (RunState.RUNNING, RunState.RETRYING)
    return run is not None and not is_under_way and run.last is not None and run.last.unheard_from is not None


def _each_started_execution_is_followed(story: Story) -> Iterator[str]:
    started = {(one.run, one.attempt) for one in story.executions.all.values()}
    for write in story.store.history.runs:
        run, callback = write.after, write.after.callback
        if callback is None or (run.id, run.attempt) not in started:
            continue
        if callback.execution is None or story.executions.all[callback.execution].run != run.id:
            yield str(write)


def _an_attempt_ends_as_its_execution_did(story: Story) -> Iterator[str]:
    """An execution that was stopped for its time has timed out. A cancelled run may have either end."""
    for write, before, one in _ends(story):
        last = write.after.last
        if last is None or last.number != before.attempt or before.callback is None:
            yield f"{write} records no end of {one}"
            continue
        is_out = write.at + MOST_SKEW_MS >= before.callback.until
        was_out = one.over_at >= before.callback.until + MOST_SKEW_MS and one.was_stopped
        is_right = (last.outcome is Outcome.SUCCEEDED) is one.has_succeeded
        is_right &= is_out or last.outcome is not Outcome.TIMED_OUT
        is_right &= before.cancel_requested or not was_out or last.outcome is Outcome.TIMED_OUT
        if not is_right or (one.has_succeeded and last.body != one.end.get("output", last.body)):
            yield f"{write}, and this was: {one}"


def _no_attempt_ends_before_its_execution(story: Story) -> Iterator[str]:
    for write, _, one in _ends(story):
        if write.at < one.over_at:
            yield f"{write}, and {one} goes on"


def _an_end_is_seen(story: Story) -> Iterator[str]:
    """The next successful poll of AWS sees the end."""
    for write, before, one in _ends(story):
        since = before.callback.called_at if before.callback is not None else 0
        late_ms = write.at - max(one.over_at, since, _calm_from(story)) - _SEEN_WITHIN_MS
        if late_ms > 0:
            yield f"{write} came {late_ms} ms late for {one}"


def _each_execution_whose_run_is_cancelled_is_stopped(story: Story) -> Iterator[str]:
    asked: dict[str, int] = {}
    for write, before, one in _followed(story):
        if write.after.cancel_requested:
            asked.setdefault(one.arn, write.at)
        if before.cancel_requested:
            asked.setdefault(one.arn, one.started_at)
    for arn, at in asked.items():
        one = story.executions.all[arn]
        told_at = min(one.stop_asked_at, one.over_at, story.clock.now())
        late_ms = told_at - max(at, one.seen_from, _calm_from(story)) - _STOPPED_WITHIN_MS
        if late_ms > 0:
            yield f"{one} should have been stopped {late_ms} ms sooner"


def _calm_from(story: Story) -> int:
    """Return from when on scans run each second, and all works: no call of the storm hangs any more."""
    return max(story.storm_ends_at + 45 * SECOND_MS, *(process.frozen_until for process in story.scanners))


def _is_left(story: Story, one: Execution, at: int) -> bool:
    """Return whether no process knew an execution by an instant, and a later attempt called another target."""
    calls = story.receiver.calls().get(one.run, ())
    has_another = any(it.at <= at and it.attempt > one.attempt and it.url != one.resource for it in calls)
    rows = (write.after for write in story.store.history.of_run(one.run) if write.at <= at)
    return has_another and all(row.followed != one.arn for row in rows)


def _no_execution_goes_on_without_a_run_that_follows_it(story: Story) -> Iterator[str]:
    now = story.clock.now()
    for one in story.executions.all.values():
        run = story.store.runs[one.run]
        is_free = _is_unheard_of(story, one, now) or _is_left(story, one, now)
        if run.is_terminal and one.over_at > now and not is_free:
            yield f"{one} goes on, of {run}"


def _no_run_has_two_executions_at_once(story: Story) -> Iterator[str]:
    of_runs = defaultdict(list)
    for one in story.executions.all.values():
        of_runs[one.run].append(one)
    for executions in of_runs.values():
        for one, other in combinations(executions, 2):
            if _meet(story, one, other):
                yield f"{one} goes on beside {other}"


def _executions_of_a_guarded_job_come_one_by_one(story: Story) -> Iterator[str]:
    """Exceptions are jobs that ever allowed overlap, and executions whose start was not answered."""
    allowed = {write.after.key for write in story.store.history.jobs if write.after.spec.overlap is OverlapPolicy.ALLOW}
    of_jobs = defaultdict(list)
    for one in story.executions.all.values():
        if one.run.origin in LOCKED and one.run.job not in allowed:
            of_jobs[one.run.job].append(one)
    for executions in of_jobs.values():
        for one, other in combinations(sorted(executions, key=lambda one: one.started_at), 2):
            if _meet(story, one, other) and not _is_unheard_of(story, one, other.started_at):
                yield f"{one} goes on beside {other}"


def _meet(story: Story, one: Execution, other: Execution) -> bool:
    """Return whether two executions were under way at once, and neither was abandoned by then."""
    at = max(one.started_at, other.started_at)
    is_one_left = _is_left(story, one, at) or _is_left(story, other, at)
    return at < min(one.over_at, other.over_at) and not is_one_left


def _no_executor_claims_a_run_that_follows_an_execution(story: Story) -> Iterator[str]:
    """Followed runs cost no executor's time: executors write nothing of them, except to stop one for a newer run."""
    for write, before, _ in _followed(story):
        asks_to_stop = write.after.cancel_requested is not before.cancel_requested
        if write.by.startswith("executor") and not asks_to_stop:
            yield str(write)


PROMISES = (
    _each_started_execution_is_followed,
    _an_attempt_ends_as_its_execution_did,
    _no_attempt_ends_before_its_execution,
    _an_end_is_seen,
    _each_execution_whose_run_is_cancelled_is_stopped,
    _no_execution_goes_on_without_a_run_that_follows_it,
    _no_run_has_two_executions_at_once,
    _executions_of_a_guarded_job_come_one_by_one,
    _no_executor_claims_a_run_that_follows_an_execution,
)
