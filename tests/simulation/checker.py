"""What must hold when a story is over, told from the store, the receiver's log and the answers that users got.

Each promise is a generator of complaints; a story without complaints kept them all.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.simulation.story import Done, Story
from tests.simulation.world import Arrival
from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.instants import SECOND_MS
from timeball.domain.job import Job, JobStatus
from timeball.domain.run import Run, RunState
from timeball.domain.schedule import Schedule, fires, first_fire
from timeball.engine.trigger import Triggering

SKEW_MS = 500


def complaints(story: Story) -> list[str]:
    """Return everything that is wrong with a story."""
    return [
        f"{promise.__name__[1:].replace('_', ' ')}: {text}"
        for promise in (
            _what_was_acknowledged_is_stored,
            _each_due_instant_has_one_row,
            _what_was_skipped_was_not_called,
            _attempts_of_a_run_come_in_order,
            _what_succeeded_was_called,
            _whoever_finished_a_run_held_its_newest_attempt,
            _nothing_is_early,
            _nothing_is_stuck,
            _nothing_is_called_after_its_cancel,
            _nobody_is_parked_behind_a_run_that_is_over,
            _triggers_ran,
        )
        for text in promise(story)
    ]


def _what_was_acknowledged_is_stored(story: Story) -> Iterator[str]:
    for done in story.done:
        if done.verb == "submit" and done.job not in story.store.jobs:
            yield f"{done.job} is gone"


def reigns(story: Story, key: JobKey) -> Iterator[tuple[Schedule, int, int]]:
    """Yield each schedule that a job had, the first fire that it was to plan, and the instant at which it ended."""
    versions = [job for job in story.store.history if job.key == key]
    begun = versions[0]
    for job in [*versions[1:], None]:
        if job is None or job.schedule != begun.schedule or job.status is JobStatus.CANCELLED:
            first_at = first_fire(begun.schedule, begun.updated_at)
            if first_at is not None:
                yield begun.schedule, first_at, story.ends_at if job is None else job.updated_at
            if job is None or job.status is JobStatus.CANCELLED:
                return
            begun = job


def _ledger(story: Story, key: JobKey) -> dict[int, list[Run]]:
    """Return the rows of a job's schedule by each fire time that they stand for."""
    schedules = [schedule for schedule, _, _ in reigns(story, key)]
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
        every_fire: set[int] = set()
        for schedule, first_at, ended_at in reigns(story, key):
            planned = range(schedule.max_runs) if schedule.max_runs is not None else None
            due = list(fires(schedule, first_at, min(ended_at - 1, _written_to(job))))
            for at in due if planned is None else ():
                if len(ledger[at]) != 1:
                    yield f"{key.job_id} {at - first_at} ms after its first fire {first_at}: {ledger[at]}"
            every_fire |= set(fires(schedule, first_at, ended_at + 60 * SECOND_MS + 3_600 * SECOND_MS))
        for at, rows in ledger.items():
            if len(rows) > 1:
                yield f"{key.job_id} at {at} has several rows: {rows}"
            if at not in every_fire:
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


def _whoever_finished_a_run_held_its_newest_attempt(story: Story) -> Iterator[str]:
    for run in story.store.runs.values():
        if (
            run.state in (RunState.SUCCEEDED, RunState.FAILED)
            and run.last is not None
            and run.last.number != run.attempt
        ):
            yield f"{run.id} is at attempt {run.attempt}, and was finished by attempt {run.last.number}"


def _nothing_is_early(story: Story) -> Iterator[str]:
    for run_id, arrivals in _calls(story).items():
        if run_id.origin is Origin.SCHEDULE and arrivals[0].at < run_id.fire_at - SKEW_MS:
            yield f"{run_id} was called {run_id.fire_at - arrivals[0].at} ms early"


def _nothing_is_stuck(story: Story) -> Iterator[str]:
    for run in story.unfinished():
        yield f"{run}, its job {story.store.jobs[run.id.job]}"
    for key, job in story.store.jobs.items():
        if job.intent is not None:
            yield f"{key.job_id} keeps its intent {job.intent}"
        due = job.status is JobStatus.PENDING and job.next_fire_at is not None
        if due and (job.next_fire_at or 0) <= story.ends_at:
            yield f"{key.job_id} is not planned: {job}"
    for backfill in story.store.backfills.values():
        if backfill.due_at is not None:
            yield f"backfill {backfill.key.name} is not over: {backfill}"


def _answers(story: Story, verb: str) -> Iterator[Done]:
    return (done for done in story.done if done.verb == verb)


def _nothing_is_called_after_its_cancel(story: Story) -> Iterator[str]:
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


def _nobody_is_parked_behind_a_run_that_is_over(story: Story) -> Iterator[str]:
    """Whoever meets a guard takes it from a run that is over; but a parked run has no message and meets nobody."""
    waiting = {run for priority in ("normal", "low") for run, _ in story.queue.waiting(priority)}
    for key, job in story.store.jobs.items():
        holder = None if job.holder is None else story.store.runs[job.holder]
        parked = None if job.parked is None else story.store.runs[job.parked]
        over = holder is None or holder.is_terminal
        if parked is not None and parked.state is RunState.QUEUED and over and not {job.holder, job.parked} & waiting:
            yield f"{key.job_id}: {parked} is parked behind {holder}"


def _triggers_ran(story: Story) -> Iterator[str]:
    for done in _answers(story, "trigger"):
        if done.answer.outcome is Triggering.STARTED and done.answer.run.id not in story.store.runs:
            yield f"{done.answer.run.id} is gone"
