"""What must hold when a story is over, told from the store, the receiver's log and the answers that users got.

Each promise is a generator of complaints; a story without complaints kept them all.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.simulation.rules import RULES
from tests.simulation.story import MOST_SKEW_MS, Done, Story
from tests.simulation.world import Arrival
from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.instants import HOUR_MS
from timeball.domain.job import Guarantee, Job, JobStatus
from timeball.domain.run import Run, RunState
from timeball.domain.schedule import Schedule, fires
from timeball.engine.by_hand import ByHand, Handled
from timeball.engine.callback import Answered, Heard
from timeball.engine.dead_letters import DeadFilter, list_dead
from timeball.engine.trigger import Triggering
from timeball.engine.world import World


def complaints(story: Story) -> list[str]:
    """Return everything that is wrong with a story."""
    return [
        f"{promise.__name__.replace('_', ' ').strip()}: {text}"
        for promise in (
            *RULES,
            _what_was_acknowledged_is_stored,
            _each_due_instant_has_one_row,
            _what_was_skipped_was_not_called,
            _attempts_of_a_run_come_in_order,
            _what_succeeded_was_called,
            _nothing_is_early,
            _nothing_is_stuck,
            _nothing_is_called_after_its_cancel,
            _a_cancel_reaches_every_run,
            _a_job_ends_with_its_final_run,
            _nobody_is_parked_behind_a_run_that_is_over,
            _triggers_ran,
            _what_was_reported_counts,
            _what_was_cancelled_alone_is_not_called_any_more,
            _what_may_be_called_once_is,
            _what_died_is_listed,
        )
        for text in promise(story)
    ]


def _what_was_acknowledged_is_stored(story: Story) -> Iterator[str]:
    for done in story.done:
        if done.verb == "submit" and done.job not in story.store.jobs:
            yield f"{done.job} is gone"


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
        for reign in reigns:
            if reign.schedule.max_runs is not None:
                continue
            for at in fires(reign.schedule, reign.first_at, min(reign.ended_at - 1, _written_to(job))):
                if len(ledger[at]) != 1:
                    yield f"{key.job_id} {at - reign.first_at} ms after its first fire {reign.first_at}: {ledger[at]}"
        for at, rows in ledger.items():
            if len(rows) > 1:
                yield f"{key.job_id} at {at} has several rows: {rows}"
            if not any(reign.has(at, HOUR_MS) for reign in reigns):
                yield f"{key.job_id} at {at} is no fire of any of its schedules: {rows}"


def _written_to(job: Job) -> int:
    """Return up to where a job's ledger must be written: a paused job waits."""
    return job.next_fire_at - 1 if job.status is JobStatus.PAUSED and job.next_fire_at is not None else 10**15


def _calls(story: Story) -> dict[RunId, list[Arrival]]:
    calls: dict[RunId, list[Arrival]] = defaultdict(list)
    for arrival in story.receiver.arrivals:
        calls[arrival.run].append(arrival)
    return calls


def _what_was_skipped_was_not_called(story: Story) -> Iterator[str]:
    calls = _calls(story)
    for run in story.store.runs.values():
        if run.state is RunState.SKIPPED and run.id in calls:
            yield f"{run.id} was called and is skipped ({run.reason})"
    for run_id in calls:
        if run_id not in story.store.runs:
            yield f"{run_id} was called and has no row"


def _attempts_of_a_run_come_in_order(story: Story) -> Iterator[str]:
    for run_id, arrivals in _calls(story).items():
        numbers = [arrival.attempt for arrival in arrivals]
        if numbers != sorted(set(numbers)):
            yield f"{run_id} was called as attempts {numbers}"
        run = story.store.runs.get(run_id)
        if run is not None and numbers[-1] > run.attempt:
            yield f"{run_id} was called as attempt {numbers[-1]}, its row knows {run.attempt}"


def _what_succeeded_was_called(story: Story) -> Iterator[str]:
    calls = _calls(story)
    for run in story.store.runs.values():
        if run.state is RunState.SUCCEEDED and run.id not in calls:
            yield f"{run.id} succeeded without a call"


def _nothing_is_early(story: Story) -> Iterator[str]:
    for run_id, arrivals in _calls(story).items():
        if run_id.origin is Origin.SCHEDULE and arrivals[0].at < run_id.fire_at - MOST_SKEW_MS:
            yield f"{run_id} was called {run_id.fire_at - arrivals[0].at} ms early"


def _nothing_is_stuck(story: Story) -> Iterator[str]:
    for run in story.unfinished():
        yield f"{run}, its job {story.store.jobs[run.id.job]}"
    for key, job in story.store.jobs.items():
        if job.intent is not None:
            yield f"{key.job_id} keeps its intent {job.intent}"
        due_at = None if job.next_fire_at is None else max(job.next_fire_at, story.clock.now())
        if job.status is JobStatus.PENDING and due_at is not None and (job.due_at is None or job.due_at > due_at):
            yield f"{key.job_id} is not looked at when it is due: {job}"
    for job in story.unplanned():
        yield f"{job.key.job_id} is not planned: {job}"
    for backfill in story.store.backfills.values():
        if backfill.due_at is not None:
            yield f"backfill {backfill.key.name} is not over: {backfill}"


def _answers(story: Story, verb: str) -> Iterator[Done]:
    return (done for done in story.done if done.verb == verb)


def _nothing_is_called_after_its_cancel(story: Story) -> Iterator[str]:
    """The answer names the runs that were claimed already: their attempts of that moment may still call."""
    cancelled_at: dict[JobKey, int] = {}
    claimed: dict[JobKey, set[RunId]] = defaultdict(set)
    for done in _answers(story, "cancel"):
        if done.answer.job is not None and done.answer.job.status is JobStatus.CANCELLED:
            cancelled_at.setdefault(done.job, done.at)
            claimed[done.job] |= set(done.answer.claimed)
    for arrival in story.receiver.arrivals:
        at = cancelled_at.get(arrival.run.job)
        if at is not None and arrival.at > at and arrival.run not in claimed[arrival.run.job]:
            yield f"{arrival.run} attempt {arrival.attempt} was called {arrival.at - at} ms after its job's cancel"
    for write, before in story.store.history.claims():
        at = cancelled_at.get(before.id.job)
        if at is not None and write.at > at:
            yield f"{before.id} was claimed {write.at - at} ms after its job's cancel: {write}"


def _a_cancel_reaches_every_run(story: Story) -> Iterator[str]:
    """When a user has the answer, each run that was there before is over, or is running and asked to stop."""
    history = story.store.history
    for done in _answers(story, "cancel"):
        writes = [write for write in history.of_job(done.job) if write.after.status is JobStatus.CANCELLED]
        for run in history.runs_of(done.job) if writes else ():
            standing = history.run_at(run, done.at)
            if standing is None or standing.is_terminal or history.of_run(run)[0].at >= writes[0].at:
                continue
            if not (standing.state is RunState.RUNNING and standing.cancel_requested):
                yield f"{standing} is left {done.at - writes[0].at} ms after the cancel of its job"


def _a_job_ends_with_its_final_run(story: Story) -> Iterator[str]:
    for job, final in story.unended():
        yield f"{job} is {job.status}, and its final run is over: {final}"


def _nobody_is_parked_behind_a_run_that_is_over(story: Story) -> Iterator[str]:
    """Whoever meets a guard takes it from a run that is over; but a parked run has no message and meets nobody."""
    waiting = {run for priority in ("normal", "low") for run, _ in story.queue.waiting(priority)}
    for key, job in story.store.jobs.items():
        holder = None if job.holder is None else story.store.runs[job.holder]
        parked = None if job.parked is None else story.store.runs[job.parked]
        over = holder is None or (holder.is_terminal and holder.due_at is None)  # else the scan has yet to see its end
        if parked is not None and parked.state is RunState.QUEUED and over and not {job.holder, job.parked} & waiting:
            yield f"{key.job_id}: {parked} is parked behind {holder}"


def _triggers_ran(story: Story) -> Iterator[str]:
    for done in _answers(story, "trigger"):
        if done.answer.outcome is Triggering.STARTED and done.answer.run.id not in story.store.runs:
            yield f"{done.answer.run.id} is gone"


def _what_was_reported_counts(story: Story) -> Iterator[str]:
    for done in _answers(story, "report"):
        told: Answered = done.answer
        if told.outcome is not Heard.DONE or told.run is None or told.run.state is not RunState.SUCCEEDED:
            continue
        run = story.store.runs[told.run.id]
        if run.state is not RunState.SUCCEEDED or run.attempt != told.run.attempt:
            yield f"{told.run} was reported as done, and is {run}"


def _what_was_cancelled_alone_is_not_called_any_more(story: Story) -> Iterator[str]:
    """But by the attempt that was under way, which the answer shows, and if somebody asks for it again."""
    calls = _calls(story)
    for done in _answers(story, "cancel run"):
        told: Handled = done.answer
        if told.outcome is not ByHand.DONE or told.run is None:
            continue
        for arrival in calls.get(told.run.id, ()):
            if arrival.at > done.at and arrival.attempt > told.run.attempt:
                yield f"{arrival} came {arrival.at - done.at} ms after the run was cancelled: {told.run}"


def _what_may_be_called_once_is(story: Story) -> Iterator[str]:
    """Of a job that was so from its beginning; each retry by hand allows one call more."""
    history = story.store.history
    for run_id, arrivals in _calls(story).items():
        jobs = [write.after for write in history.of_job(run_id.job)]
        if any(job.delivery is Guarantee.AT_LEAST_ONCE for job in jobs):
            continue
        writes = history.of_run(run_id)
        by_hand = sum(one.before is not None and one.after.budget_at != one.before.budget_at for one in writes)
        if len(arrivals) > 1 + by_hand:
            yield f"{run_id} was called as {[arrival.attempt for arrival in arrivals]}, {by_hand} of them by hand"


def _what_died_is_listed(story: Story) -> Iterator[str]:
    world = World(story.store, story.queue, story.clock, story.rules)
    listed = {run.id for tenant in ("user-1", "user-2") for run in list_dead(world, DeadFilter(tenant), 10_000).runs}
    dead = {run.id for run in story.store.runs.values() if run.is_dead_letter}
    if len(dead) < 1_000 and listed != dead:
        yield f"{listed ^ dead}"
