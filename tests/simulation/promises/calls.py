"""Promises about calls: which runs are called, in which order, and with which payload."""

import json
from collections.abc import Iterator

from tests.simulation.promises.features.reruns import is_of_a_rerun
from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.changes.resolve import with_event
from timeball.domain.model.jobs.job import Guarantee
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import Work


def _each_call_has_the_work_that_was_asked_for(story: Story) -> Iterator[str]:
    """The payload is the run's own, or one that its job had during the claim; and the run's event, if it has one."""
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
        if run.event_digest is not None:
            event = story.store.works[key, run.event_digest]
            works = [None if work is None else with_event(work, event) for work in works]
        payloads = [work.payload for work in works if work is not None]
        if own_payload(arrival.payload) not in payloads:
            yield f"{arrival}, asked for: {payloads}"


def own_payload(payload: str | None) -> str | None:
    """Return the payload of a call without the results of the job's parents."""
    is_wrapped = payload is not None and payload.startswith('{"payload":')
    return json.dumps(json.loads(payload or "")["payload"]) if is_wrapped else payload


def _a_skipped_run_was_not_called(story: Story) -> Iterator[str]:
    """The call may have come before its cycle was rerun."""
    calls = story.receiver.calls()
    for run in story.store.runs.values():
        is_again = any(is_of_a_rerun(story, write) for write in story.store.history.of_run(run.id))
        if run.state is RunState.SKIPPED and run.id in calls and not is_again:
            yield f"{run.id} was called and is skipped ({run.reason})"
    for run_id in calls:
        if run_id not in story.store.runs:
            yield f"{run_id} was called and has no row"


def _attempts_of_a_run_come_in_order(story: Story) -> Iterator[str]:
    for run_id, arrivals in story.receiver.calls().items():
        numbers = [arrival.attempt for arrival in arrivals]
        if numbers != sorted(set(numbers)):
            yield f"{run_id} was called as attempts {numbers}"
        run = story.store.runs.get(run_id)
        if run is not None and numbers[-1] > run.attempt:
            yield f"{run_id} was called as attempt {numbers[-1]}, its row knows {run.attempt}"


def _a_run_that_succeeded_was_called(story: Story) -> Iterator[str]:
    """A target may report about an attempt whose claim was lost: the attempt that follows has its number."""
    calls = {*story.receiver.calls(), *(one.run for loss in story.losses for one in loss.arrivals)}
    for run in story.store.runs.values():
        if run.state is RunState.SUCCEEDED and run.marked_succeeded is None and run.fan is None and run.id not in calls:
            yield f"{run.id} succeeded without a call"


def _an_at_most_once_run_is_called_at_most_once(story: Story) -> Iterator[str]:
    """This holds for jobs that were at most once from their beginning. Each manual retry allows one more call."""
    history = story.store.history
    for run_id, arrivals in story.receiver.calls().items():
        jobs = [write.after for write in history.of_job_and_lost(run_id.job)]
        if any(job.spec.delivery is Guarantee.AT_LEAST_ONCE for job in jobs):
            continue
        writes = history.of_run(run_id)
        by_hand = sum(one.before is not None and one.after.budget_at != one.before.budget_at for one in writes)
        if len(arrivals) > 1 + by_hand:
            yield f"{run_id} was called as {[arrival.attempt for arrival in arrivals]}, {by_hand} of them by hand"


PROMISES = (
    _each_call_has_the_work_that_was_asked_for,
    _a_skipped_run_was_not_called,
    _attempts_of_a_run_come_in_order,
    _a_run_that_succeeded_was_called,
    _an_at_most_once_run_is_called_at_most_once,
)
