"""Promises about missed fires: those that should have started in a pause or a freeze, and those a minute late.

The expected fires follow from what users requested, and when. The clocks of processes are slightly wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.history import Write
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.freeze import BEGINS_AFTER_MS, KNOWN_MS
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import WAITS_IN_LINE, Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import fires

_WAITS = frozenset({Reason.CIRCUIT_OPEN, Reason.HOST_PACED, *WAITS_IN_LINE})


@dataclass(frozen=True)
class _Span:
    """A time (ms) in which a job was paused or frozen. Every process knew of it from `known_at` on."""

    from_at: int
    to_at: int
    known_at: int = 0

    def surely(self) -> "_Span":
        """Return the part that every process sees so, up to the second in which the span ended."""
        return _Span(max(self.from_at, self.known_at) + MOST_SKEW_MS, self.to_at - MOST_SKEW_MS - SECOND_MS)

    def has(self, from_at: int, to_at: int) -> bool:
        """Return whether both instants lie in the span."""
        return self.from_at <= from_at and to_at < self.to_at


def _a_fire_of_a_pause_runs_only_as_catching_up_allows(story: Story) -> Iterator[str]:
    """Only the newest fires of a pause or a freeze that is over run, as many as the policy allows.

    Not checked are jobs with an overlap lock or a calendar, and runs that waited for something else. Any version of the
    job may have decided.
    """
    history = story.store.history
    for write, before in history.claims():
        if before.id.origin is not Origin.SCHEDULE or not before.is_unstarted or before.joined:
            continue
        waited = any(one.after.reason in _WAITS for one in history.of_run(before.id))
        jobs = [one.after for one in history.of_job(before.id.job) if one.at <= write.at]
        if waited or any(job.spec.schedule.is_one_off or job.spec.calendar is not None for job in jobs):
            continue
        if any(job.spec.overlap is not OverlapPolicy.ALLOW for job in jobs):
            continue
        claimed_at = write.after.claimed_at or write.at
        fire_at, latest_at = before.id.fire_at, before.id.fire_at + max(_jitter_ms(job) for job in jobs)
        for span in (one.surely() for one in _suspended(story, before.id.job, claimed_at, write.at)):
            is_meant = span.has(fire_at, latest_at) and span.to_at + SECOND_MS + 2 * MOST_SKEW_MS <= claimed_at
            if is_meant and not any(_is_among_the_newest(job, fire_at, span) for job in jobs):
                yield f"{write} fell into {span}, and is too late for {jobs[-1]}"


def _is_among_the_newest(job: Job, fire_at: int, span: _Span) -> bool:
    later = fires(job.spec.schedule, fire_at, span.to_at - _jitter_ms(job) - 1)
    return sum(1 for _ in later) <= job.spec.catch_up.limit


def _a_fire_that_is_skipped_as_missed_was_missed(story: Story) -> Iterator[str]:
    """The fire was a minute late, or its start lay in a pause or a freeze. Checked are a row's first and last fire."""
    history = story.store.history
    for write in history.runs:
        row = write.after
        if row.state is not RunState.SKIPPED or row.reason not in (Reason.MISFIRED, Reason.FROZEN):
            continue
        if write.before is not None and write.before.is_terminal:
            continue
        decided_at = (row.finished_at or write.at) + MOST_SKEW_MS
        spans = _possibly_suspended(story, row, decided_at, write.at)
        jitter_ms = max(_jitter_ms(one.after) for one in history.of_job(row.id.job) if one.at <= write.at)
        for at in {row.regular_at, row.last_fire_at or row.regular_at}:
            is_late = at < decided_at - story.rules.misfire_ms
            if not is_late and not any(one.from_at <= at + jitter_ms and at < one.to_at for one in spans):
                yield f"{write}: {at} was not missed"


def _possibly_suspended(story: Story, row: Run, decided_at: int, known_at: int) -> Sequence[_Span]:
    """Return when a job may have counted as suspended: pauses less than a minute apart count as one."""
    merged: list[_Span] = []
    for one in sorted(_suspended(story, row.id.job, decided_at, known_at), key=lambda one: one.from_at):
        wide = _Span(one.from_at - MOST_SKEW_MS, one.to_at + MOST_SKEW_MS)
        if merged and wide.from_at < merged[-1].to_at + MINUTE_MS:
            merged[-1] = _Span(merged[-1].from_at, max(merged[-1].to_at, wide.to_at))
        else:
            merged.append(wide)
    return merged


def _suspended(story: Story, key: JobKey, decided_at: int, known_at: int) -> Iterator[_Span]:
    """Yield each time in which a job was paused, and each freeze of it, until a row was decided.

    A pause ends when its user requests that, however long the write takes.
    """
    history = story.store.history
    paused: Write[Job] | None = None
    for write in history.of_job(key):
        if write.at > known_at:
            break
        if write.after.status is JobStatus.PAUSED and paused is None:
            paused = write
        elif write.after.status is not JobStatus.PAUSED and paused is not None:
            yield _Span(paused.after.updated_at, write.after.updated_at, known_at=paused.at)
            paused = None
    versions = history.jobs_between(key, decided_at - KNOWN_MS - 2 * MOST_SKEW_MS, known_at)
    for job in versions[-1:]:
        for freeze in history.freezes_between(job, known_at, known_at):
            yield _Span(*freeze.span, known_at=history.frozen_at[freeze.name] + BEGINS_AFTER_MS)


def _jitter_ms(job: Job) -> int:
    return job.spec.jitter_seconds * SECOND_MS


PROMISES = (
    _a_fire_of_a_pause_runs_only_as_catching_up_allows,
    _a_fire_that_is_skipped_as_missed_was_missed,
)
