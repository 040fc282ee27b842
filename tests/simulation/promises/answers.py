"""Promises about answers: each answer to a user or a target must be true."""

from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.story import MOST_SKEW_MS, Done, Story
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.runs.callback import Report
from timeball.engine.runs.dead_letters import DeadFilter, Dealt, list_dead
from timeball.engine.runs.effects import Answered
from timeball.engine.runs.trigger import Triggered, Triggering
from timeball.testing.recorders import KeptTelemetry


def _answers(story: Story, verb: str) -> Iterator[Done]:
    return (done for done in story.done if done.verb == verb)


def _each_acknowledged_submission_is_stored(story: Story) -> Iterator[str]:
    for done in story.done:
        if done.verb == "submit" and done.job not in story.store.jobs:
            yield f"{done.job} is gone"


def _each_acknowledged_trigger_ran(story: Story) -> Iterator[str]:
    for done in _answers(story, "trigger"):
        told: Triggered = done.answer
        if told.outcome is not Triggering.STARTED or told.run is None:
            continue
        run, asked = story.store.runs.get(told.run.id), done.asked[0][0]
        if run is None:
            yield f"{told.run.id} is gone"
        elif asked.has_payload and (run.work_digest is None or _payload(story, run) != asked.payload):
            yield f"{run} lacks the payload of {asked}"


def _payload(story: Story, run: Run) -> str | None:
    return story.store.works[run.id.job, run.work_digest or ""].payload


def _nothing_is_called_after_its_cancel(story: Story) -> Iterator[str]:
    """The answer names the runs that were already claimed: their attempts of that moment may still call."""
    cancelled_at: dict[tuple[JobKey, int], int] = {}
    claimed: set[RunId] = set()
    for done in _answers(story, "cancel"):
        if done.answer.job is not None and done.answer.job.status is JobStatus.CANCELLED:
            cancelled_at.setdefault((done.job, done.answer.job.generation), done.at)
            claimed |= set(done.answer.claimed)
    for arrival in story.receiver.arrivals:
        at = cancelled_at.get((arrival.run.job, arrival.run.generation))
        if at is not None and arrival.at > at and arrival.run not in claimed:
            yield f"{arrival.run} attempt {arrival.attempt} was called {arrival.at - at} ms after its job's cancel"
    for write, before in story.store.history.claims():
        at = cancelled_at.get((before.id.job, before.id.generation))
        if at is not None and write.at > at:
            yield f"{before.id} was claimed {write.at - at} ms after its job's cancel: {write}"


def _a_cancel_reaches_every_run(story: Story) -> Iterator[str]:
    """When the user has the answer, each run that was live before is over, or is running and asked to stop.

    A run that is retried at the same time is ended by its claim. A job that has failed stays failed, until a run of it
    is retried, and cancelled.
    """
    history = story.store.history
    for done in _answers(story, "cancel"):
        until_then = [write for write in history.of_job(done.job) if write.at <= done.at]
        writes = [write for write in until_then if write.after.status is JobStatus.CANCELLED]
        writes = [write for write in writes if write.after.generation == done.answer.job.generation]
        for run in history.runs_of(done.job) if writes else ():
            before, standing = history.run_at(run, writes[0].at - 1), history.run_at(run, done.at)
            if before is None or before.is_terminal or standing is None or standing.is_terminal:
                continue
            if not (standing.state is RunState.RUNNING and standing.cancel_requested):
                yield f"{standing} is left {done.at - writes[0].at} ms after the cancel of its job"


def _a_cancelled_job_has_no_new_fire(story: Story) -> Iterator[str]:
    """After the user has the answer, no process with an older plan can insert or revive a run of it."""
    history = story.store.history
    for done in _answers(story, "cancel"):
        if done.answer.job is None or done.answer.job.status is not JobStatus.CANCELLED:
            continue
        for run in history.runs_of(done.job):
            if run.generation > done.answer.job.generation:
                continue
            late = (write for write in history.of_run(run) if write.at > done.at and run.origin is Origin.SCHEDULE)
            for write in late:
                if write.before is None or (write.before.is_superseded and not write.after.is_terminal):
                    yield f"{write} came {write.at - done.at} ms after the cancel of its job"


def _answered(done: Done) -> Answered:
    answered: Answered = done.answer
    return answered


def _a_run_that_was_cancelled_alone_is_not_called_any_more(story: Story) -> Iterator[str]:
    """Exceptions are the attempt that was under way, which the answer shows, and a run that a user requests again."""
    calls = story.receiver.calls()
    for done in _answers(story, "cancel run"):
        refusal, told = _answered(done)
        if refusal is not None or told is None:
            continue
        if told.state is not RunState.CANCELLED and not told.cancel_requested:
            yield f"{told} is neither cancelled nor asked to stop"
        for arrival in calls.get(told.id, ()):
            if arrival.at > done.at and arrival.attempt > told.attempt:
                yield f"{arrival} came {arrival.at - done.at} ms after the run was cancelled: {told}"


def _a_run_that_is_retried_by_hand_may_start(story: Story) -> Iterator[str]:
    """When the answer comes, the run waits or runs, and if it waits for a retry, only until that retry's time."""
    for done in _answers(story, "retry"):
        refusal, told = _answered(done)
        if refusal is not None or told is None:
            continue
        waits = told.state is RunState.RETRYING and told.not_before > done.at + MOST_SKEW_MS
        if waits or told.state is RunState.FAILED or not _was_stored(story, told):
            yield f"{told} should have been retried"


def _a_replay_keeps_its_pace(story: Story) -> Iterator[str]:
    for done in _answers(story, "replay"):
        told: Dealt = done.answer
        per_second: int = done.asked[1]
        starts = sorted(run.not_before for run in told.done)
        if any(after - before < SECOND_MS // per_second for before, after in pairwise(starts)):
            yield f"{starts} are more than {per_second} a second"
        yield from (f"{run} was not written" for run in told.done if not _was_stored(story, run))


def _was_stored(story: Story, run: Run) -> bool:
    return any(write.after == run for write in story.store.history.of_run(run.id))


def _each_accepted_report_counts(story: Story) -> Iterator[str]:
    """An attempt whose report was accepted ended as the report says, and a success stays a success."""
    for done in _answers(story, "report"):
        refusal, told = _answered(done)
        asked: Report = done.asked[0][0]
        if refusal is not None or told is None:
            continue
        ends = [one.after.last for one in story.store.history.of_run(asked.run) if one.at <= done.at]
        if not any(end is not None and (end.number, end.outcome) == (asked.attempt, asked.outcome) for end in ends):
            yield f"{asked} was accepted, but {told} does not show it"
        run = story.store.runs[asked.run]
        if asked.error is None and (run.state, run.attempt) != (RunState.SUCCEEDED, asked.attempt):
            yield f"{asked} was accepted, but is lost: {run}"


def _each_dead_letter_is_listed(story: Story) -> Iterator[str]:
    context = Context(story.store, story.queue, story.clock, story.rules, KeptTelemetry())
    tenants = {key.tenant for key in story.store.jobs}
    listed = {run.id for tenant in tenants for run in list_dead(context, DeadFilter(tenant), 10_000).runs}
    dead = {run.id for run in story.store.runs.values() if run.is_dead_letter}
    if len(dead) < 1_000 and listed != dead:
        yield f"{listed ^ dead}"


PROMISES = (
    _each_acknowledged_submission_is_stored,
    _each_acknowledged_trigger_ran,
    _nothing_is_called_after_its_cancel,
    _a_cancel_reaches_every_run,
    _a_cancelled_job_has_no_new_fire,
    _a_run_that_was_cancelled_alone_is_not_called_any_more,
    _a_run_that_is_retried_by_hand_may_start,
    _a_replay_keeps_its_pace,
    _each_accepted_report_counts,
    _each_dead_letter_is_listed,
)
