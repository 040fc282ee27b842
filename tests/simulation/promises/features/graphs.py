"""Promises about jobs that wait for others. reckoning.py computes how a graph must stand at its end."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.simulation.promises.features.reckoning import AS_JOBS
from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.unfinished import unjoined, with_news_for_children
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.dependencies.evaluation import AHEAD_MS
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action
from timeball.domain.model.terms.dependency import TriggerRule

_DONE = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.SKIPPED, JobStatus.CANCELLED)


def _parents(job: Job) -> list[JobKey]:
    return [JobKey(job.key.tenant, parent.job_id) for parent in job.spec.depends_on]


def _nothing_waits_for_itself(story: Story) -> Iterator[str]:
    """No job waits for itself at any time, not even through others."""
    above: dict[JobKey, list[JobKey]] = {}
    for write in story.store.history.jobs:
        key, parents = write.after.key, _parents(write.after)
        if above.get(key) == parents:
            continue
        above[key] = parents
        seen, left = set[JobKey](), [*parents]
        while left:
            one = left.pop()
            left += above.get(one, []) if one not in seen else []
            seen.add(one)
        if key in seen:
            yield str(write)


def _a_job_starts_only_if_its_rule_holds(story: Story) -> Iterator[str]:
    """The rule holds for the job's parents at some time since the previous write of its row."""
    history = story.store.history
    last_at: dict[JobKey, int] = {}
    for write in history.jobs:
        before, after = write.before, write.after
        since_at, last_at[after.key] = last_at.get(after.key, write.at), write.at
        if before is None or not before.waits or after.waits or after.version != before.version:
            continue
        if after.status is not JobStatus.PENDING or after.next_fire_at is None:
            continue
        states = [{one.status for one in history.jobs_between(key, since_at, write.at)} for key in _parents(before)]
        if after.skips is None and not may_hold(before.spec.trigger_rule, states):
            yield f"{write}, its parents: {states}"
        if after.skips is not None and after.skips.value != "dependency_timeout" and not may_hold(_ANY_END, states):
            yield f"{write} was skipped, its parents: {states}"


_ANY_END = TriggerRule.ALL_DONE


def _a_cycle_starts_only_if_its_rule_holds(story: Story) -> Iterator[str]:
    """The rule holds for the rows of its parents, and its one-off parents, at some time since its previous write."""
    history = story.store.history
    last_at: dict[RunId, int] = {}
    for write in history.runs:
        before, after = write.before, write.after
        since_at, last_at[after.id] = last_at.get(after.id, write.at), write.at
        if before is None or not before.waits or after.waits or after.state is not RunState.QUEUED:
            continue
        jobs = history.jobs_between(after.id.job, since_at, write.at)
        if not any(_may_have_begun(story, job, after, since_at, write.at) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


def _may_have_begun(story: Story, job: Job, run: Run, since_at: int, at: int) -> bool:
    """Say whether a job's rule held in a cycle at some time. Parents without a row in a named cycle are outside.

    Another promise is about jobs that are judged by latest cycles.
    """
    if job.spec.judges_latest and run.root is None:
        return True
    inside = [one for one in job.spec.cycle_keys if _is_inside(story, one, run, at)]
    seen = [seen_in_cycle(story, one, run.id, since_at, at) for one in inside]
    return not seen or may_hold(job.spec.trigger_rule, seen)


def _is_inside(story: Story, key: JobKey, run: Run, at: int) -> bool:
    return run.root is None or story.store.history.run_at(run.id.cycle.run_of(key, 1), at) is not None


def seen_in_cycle(story: Story, key: JobKey, run_id: RunId, since_at: int, at: int) -> set[JobStatus]:
    """Return how a parent stood in a cycle between two true times. Without a row it is skipped, or to come."""
    history = story.store.history
    jobs = history.jobs_between(key, since_at, at)
    if any(job.spec.schedule.is_one_off for job in jobs) and not run_id.series:
        return {job.status for job in jobs}
    name = run_id.cycle.run_of(key, 1)
    standing = history.run_at(name, since_at)
    rows = [standing, *(write.after for write in history.of_run(name) if since_at < write.at <= at)]
    return {JobStatus.SKIPPED if row is None else AS_JOBS.get(row.state, JobStatus.PENDING) for row in rows}


def may_hold(rule: TriggerRule, states: Sequence[set[JobStatus]]) -> bool:
    """Say whether a rule may have held, given the states in which each parent was seen."""
    match rule:
        case TriggerRule.ALL_SUCCEEDED:
            return all(JobStatus.COMPLETED in seen for seen in states)
        case TriggerRule.ANY_SUCCEEDED:
            return any(JobStatus.COMPLETED in seen for seen in states)
        case TriggerRule.ANY_FAILED:
            return any(JobStatus.FAILED in seen for seen in states)
        case TriggerRule.ALL_DONE:
            return all(seen & set(_DONE) for seen in states)


def _a_call_gets_the_results_of_its_parents(story: Story) -> Iterator[str]:
    """Each parent's part is as the parent stood at some time from the claim to the call."""
    history = story.store.history
    for arrival in story.receiver.arrivals:
        if arrival.run.job.tenant != WEAVERS:
            continue
        claimed_at = max(write.at for write in history.of_run(arrival.run) if write.at <= arrival.at)
        jobs = history.jobs_between(arrival.run.job, claimed_at - CLAIM_TAKES_MS, arrival.at)
        document = json.loads(arrival.payload or "null")
        told = document.get("parents") if isinstance(document, dict) else None
        named = [[one.job_id for one in job.spec.depends_on] if job.spec.pass_parents else None for job in jobs]
        if (None if told is None else list(told)) not in named:
            yield f"{arrival} was handed {told}, its parents: {named}"
        for one in (told or {}).values():
            name = RunId.parse(WEAVERS, one["runId"] or "")
            if name is None:
                continue
            since_at = claimed_at - CLAIM_TAKES_MS
            states = {write.after.state for write in history.of_run(name) if since_at < write.at <= arrival.at}
            standing = history.run_at(name, since_at)
            if one["status"] not in states | {None if standing is None else standing.state}:
                yield f"{arrival} was handed {one}, which was {states}"


CLAIM_TAKES_MS = 60_000
"""How long before its write a claim may have read the parents, in a story of frozen processes."""


def _each_parent_knows_that_it_has_children(story: Story) -> Iterator[str]:
    history = story.store.history
    for write in history.jobs:
        before, after = write.before, write.after
        if before is not None and _parents(before) == _parents(after):
            continue
        for key in _parents(after):
            parent = history.job_at(key, write.at)
            if parent is not None and not parent.has_children:
                yield f"{write}, and not {parent}"


def _a_job_drops_its_due_key_after_its_children_know_of_its_end(story: Story) -> Iterator[str]:
    """Each waiting child was written since the job had something to notify."""
    history = story.store.history
    since: dict[JobKey, int] = {}
    for write in history.jobs:
        before, after = write.before, write.after
        if after.must_notify_children and (before is None or not before.must_notify_children):
            since[after.key] = write.at
        if before is None or not before.must_notify_children or after.must_notify_children:
            continue
        for key in story.store.jobs:
            child = history.job_at(key, since[after.key])
            if child is None or not child.waits or child.status is not JobStatus.PENDING or child.intent is not None:
                continue
            if after.key in _parents(child) and not any(
                since[after.key] <= one.at <= write.at for one in history.of_job(key)
            ):
                yield f"{write}, and {child}"


def _children_learn_of_each_end_of_a_parent(story: Story) -> Iterator[str]:
    yield from (f"{row}" for row in with_news_for_children(story))


def _a_job_that_waits_at_the_end_has_a_parent_that_may_still_end(story: Story) -> Iterator[str]:
    yield from unjoined(story)


def _a_job_runs_once_for_its_parents(story: Story) -> Iterator[str]:
    """This holds for jobs that users have not changed."""
    for key, job in story.store.jobs.items():
        if not job.spec.depends_on or not job.spec.schedule.is_one_off or job.version != 1 + _pauses(story, key):
            continue
        rows = [run for run in story.store.runs.values() if run.id.job == key and run.id.origin is Origin.SCHEDULE]
        # A pause may come between the row and the write that moves the job on after it.
        is_between = job.status is JobStatus.PAUSED and [run.id.fire_at for run in rows] == [job.next_fire_at]
        is_as_planned = len(rows) == (job.next_fire_at is None)
        if not (is_as_planned or is_between) and (rows or job.status is not JobStatus.CANCELLED):
            yield f"{job}: {rows}"
        for run in rows:
            fires = _fires_by_its_parents(story, job)
            is_plain = job.spec.inherits and job.spec.trigger_rule is TriggerRule.ALL_SUCCEEDED
            has_timed_out = run.reason is not None and run.reason.value == "dependency_timeout"
            is_changed = any(_changed(story, one) for one in _parents(job))
            if is_plain and not has_timed_out and not is_changed and run.id.fire_at not in fires:
                yield f"{run} is not of {fires}"


def _fires_by_its_parents(story: Story, job: Job) -> set[int]:
    """Return the latest fire times of a job's parents: several, if the clocks leave open which parents count.

    A parent does not count if it was cancelled longer than `AHEAD_MS` before its fire time, by the clock of the process
    that evaluated the parents. That process read its clock at some time since the previous write of the job's row. If
    no parent counts, the job keeps the fire time that it had.
    """
    times = [(parent.final_fire_at or 0, parent.status) for parent in map(story.store.jobs.__getitem__, _parents(job))]
    looks = [
        (before.at, write.at, write.before)
        for before, write in pairwise(story.store.history.of_job(job.key))
        if write.before is not None and write.before.waits and not write.after.waits
    ]
    if not looks:
        return {max(at for at, _ in times)}
    since_at, until, standing = looks[-1]
    ahead = {at for at, status in times if status is JobStatus.CANCELLED and at > until + AHEAD_MS + MOST_SKEW_MS}
    to_come = since_at + AHEAD_MS - MOST_SKEW_MS
    sure = [at for at, status in times if status is not JobStatus.CANCELLED or at <= to_come]
    own = set() if sure else {standing.next_fire_at or 0}
    return own | {at for at, _ in times if at >= max(sure, default=0) and (at in sure or at not in ahead)}


def _changed(story: Story, key: JobKey) -> bool:
    return story.store.jobs[key].version != 1 + _pauses(story, key)


def _pauses(story: Story, key: JobKey) -> int:
    """Return how many versions of a job are of pauses and resumes, which move no fire."""
    writes = story.store.history.of_job(key)
    changes = [one.after.change.action for one in writes if one.before and one.after.version > one.before.version]
    return sum(action in (Action.PAUSE, Action.RESUME, Action.CANCEL) for action in changes)


PROMISES = (
    _nothing_waits_for_itself,
    _a_job_starts_only_if_its_rule_holds,
    _a_cycle_starts_only_if_its_rule_holds,
    _a_call_gets_the_results_of_its_parents,
    _each_parent_knows_that_it_has_children,
    _a_job_drops_its_due_key_after_its_children_know_of_its_end,
    _children_learn_of_each_end_of_a_parent,
    _a_job_that_waits_at_the_end_has_a_parent_that_may_still_end,
    _a_job_runs_once_for_its_parents,
)
