"""What must hold when a story is over, told from the store and the receiver's log; and all that is checked of it.

Each promise is a generator of complaints; a story without complaints kept them all.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tests.simulation.answers import ANSWERS
from tests.simulation.event_rules import EVENT_RULES
from tests.simulation.flow_rules import FLOW_RULES
from tests.simulation.graphs import GRAPH_RULES
from tests.simulation.items import ITEM_RULES
from tests.simulation.kept_away import KEPT_AWAY
from tests.simulation.notices import NOTICE_RULES, is_ahead
from tests.simulation.operation_rules import OPERATION_RULES
from tests.simulation.quotas import QUOTA_RULES
from tests.simulation.records import RECORDS
from tests.simulation.reruns import RERUN_RULES, is_of_a_rerun
from tests.simulation.rules import RULES
from tests.simulation.simulated_aws import REFUSED
from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.task_rules import TASK_RULES
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.job import Guarantee, Job, JobStatus, Priority
from timeball.domain.model.run import Run, RunState
from timeball.domain.time.instants import DAY_MS
from timeball.domain.time.schedule import Schedule, fires
from timeball.targets.http.verdict import ACCEPTED

_FURTHEST_AHEAD_MS = 10 * 7 * DAY_MS
"""How far ahead skips may write: to the next fire, again and again, of a job that has one each week."""


def _ledger(story: Story, key: JobKey) -> dict[int, list[Run]]:
    """Return the rows of a job's schedule by each fire time that they stand for."""
    schedules = [reign.schedule for reign in story.store.history.reigns(key, story.ends_at)]
    covered: dict[int, list[Run]] = defaultdict(list)
    for run in story.store.runs.values():
        if run.id.job != key or run.id.origin is not Origin.SCHEDULE:
            continue
        if run.last_fire_at is None:
            covered[run.id.fire_at].append(run)
            continue
        for at in _fires_of_range(schedules, run):
            covered[at].append(run)
    return covered


def _fires_of_range(schedules: Sequence[Schedule], run: Run) -> list[int]:
    """Return the fires of a skipped range: of that schedule which has exactly as many there as the row says."""
    for schedule in schedules:
        found = list(fires(schedule, run.id.fire_at, run.last_fire_at or run.id.fire_at))
        if len(found) == run.count and found[:1] == [run.id.fire_at] and found[-1:] == [run.last_fire_at]:
            return found
    return [run.id.fire_at]


def _each_due_instant_has_one_row(story: Story) -> Iterator[str]:
    for key, job in story.store.jobs.items():
        ledger = _ledger(story, key)
        reigns = list(story.store.history.reigns(key, story.ends_at))
        if any(write.after.waits for write in story.store.history.of_job(key)):
            continue  # its schedule is what is known of its parents' by then: see graphs.py
        for reign in reigns:
            if reign.schedule.max_runs is not None:
                continue
            for at in fires(reign.schedule, reign.first_at, min(reign.ended_at - 1, _written_to(job))):
                if len(ledger[at]) != 1:
                    yield f"{key.job_id} {at - reign.first_at} ms after its first fire {reign.first_at}: {ledger[at]}"
        for at, rows in ledger.items():
            if len(rows) > 1:
                yield f"{key.job_id} at {at} has several rows: {rows}"
            if not any(reign.has(at, _FURTHEST_AHEAD_MS) for reign in reigns):
                yield f"{key.job_id} at {at} is no fire of any of its schedules: {rows}"


def _written_to(job: Job) -> int:
    """Return up to where a job's ledger must be written: a paused job waits."""
    return job.next_fire_at - 1 if job.status is JobStatus.PAUSED and job.next_fire_at is not None else 10**15


def _what_was_skipped_was_not_called(story: Story) -> Iterator[str]:
    """Unless that was before its cycle was run again."""
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


def _what_succeeded_was_called(story: Story) -> Iterator[str]:
    calls = story.receiver.calls()
    for run in story.store.runs.values():
        if run.state is RunState.SUCCEEDED and run.pardon is None and run.fan is None and run.id not in calls:
            yield f"{run.id} succeeded without a call"


def _nothing_is_early(story: Story) -> Iterator[str]:
    for run_id, arrivals in story.receiver.calls().items():
        if run_id.origin is Origin.SCHEDULE and arrivals[0].at < run_id.fire_at - MOST_SKEW_MS:
            yield f"{run_id} was called {run_id.fire_at - arrivals[0].at} ms early"


def _nothing_is_stuck(story: Story) -> Iterator[str]:
    for run in story.unfinished():
        yield f"{run}, its job {story.store.jobs[run.id.job]}"
    for key, job in story.store.jobs.items():
        if job.intent is not None:
            yield f"{key.job_id} keeps its intent {job.intent}"
        due_at = None if job.next_fire_at is None else max(job.next_fire_at, story.clock.now())
        looked_at = (due_at or 0) + (story.rules.lookahead_ms if is_ahead(job) else 0)
        is_late = due_at is not None and not job.waits and (job.due_at is None or job.due_at > looked_at)
        if job.status is JobStatus.PENDING and is_late:
            yield f"{key.job_id} is not looked at when it is due: {job}"
    for job in story.unplanned():
        yield f"{job.key.job_id} is not planned: {job}"
    for backfill in story.store.backfills.values():
        if backfill.due_at is not None:
            yield f"backfill {backfill.key.name} is not over: {backfill}"
    for operation in story.store.operations.values():
        if operation.is_running or operation.due_at is not None:
            yield f"operation {operation.key.name} is not over: {operation}"


def _a_job_ends_with_its_final_run(story: Story) -> Iterator[str]:
    for job, final in story.unended():
        yield f"{job} is {job.status}, and its final run is over: {final}"


def _nobody_is_parked_behind_a_run_that_is_over(story: Story) -> Iterator[str]:
    """Whoever meets a guard takes it from a run that is over; but a parked run has no message and meets nobody."""
    waiting = {run for priority in Priority for run, _ in story.queue.waiting(priority)}
    for key, job in story.store.jobs.items():
        holder = None if job.holder is None else story.store.runs[job.holder]
        parked = None if job.parked is None else story.store.runs[job.parked]
        over = holder is None or (holder.is_terminal and holder.due_at is None)  # else the scan has yet to see its end
        if parked is not None and parked.state is RunState.QUEUED and over and not {job.holder, job.parked} & waiting:
            yield f"{key.job_id}: {parked} is parked behind {holder}"


def _what_may_be_called_once_is(story: Story) -> Iterator[str]:
    """Of a job that was so from its beginning; each retry by hand allows one call more."""
    history = story.store.history
    for run_id, arrivals in story.receiver.calls().items():
        jobs = [write.after for write in history.of_job(run_id.job)]
        if any(job.spec.delivery is Guarantee.AT_LEAST_ONCE for job in jobs):
            continue
        writes = history.of_run(run_id)
        by_hand = sum(one.before is not None and one.after.budget_at != one.before.budget_at for one in writes)
        if len(arrivals) > 1 + by_hand:
            yield f"{run_id} was called as {[arrival.attempt for arrival in arrivals]}, {by_hand} of them by hand"


def _each_verdict_becomes_of_its_run_what_it_says(story: Story) -> Iterator[str]:
    """A target that has taken an attempt over has not ended it, and one that refuses is not called again."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or after.last is None or after.last == before.last:
            continue
        if after.last.status == ACCEPTED:
            yield f"ended by the answer that took it over: {write}"
        if after.last.status == REFUSED and after.state is RunState.RETRYING:
            yield f"tried again after it was refused: {write}"


PROMISES: Sequence[Callable[[Story], Iterator[str]]] = (
    *RULES,
    *TASK_RULES,
    *KEPT_AWAY,
    *QUOTA_RULES,
    *OPERATION_RULES,
    *GRAPH_RULES,
    *NOTICE_RULES,
    *RERUN_RULES,
    *ITEM_RULES,
    *EVENT_RULES,
    *FLOW_RULES,
    *ANSWERS,
    *RECORDS,
    _each_verdict_becomes_of_its_run_what_it_says,
    _each_due_instant_has_one_row,
    _what_was_skipped_was_not_called,
    _attempts_of_a_run_come_in_order,
    _what_succeeded_was_called,
    _nothing_is_early,
    _nothing_is_stuck,
    _a_job_ends_with_its_final_run,
    _nobody_is_parked_behind_a_run_that_is_over,
    _what_may_be_called_once_is,
)
"""All that a story may break; the name of each is the sentence with which its complaints begin."""


def sentence(promise: Callable[[Story], Iterator[str]]) -> str:
    """Return what a promise says."""
    return promise.__name__.replace("_", " ").strip()


def complaints(story: Story) -> list[str]:
    """Return everything that is wrong with a story."""
    return [f"{sentence(promise)}: {text}" for promise in PROMISES for text in promise(story)]
