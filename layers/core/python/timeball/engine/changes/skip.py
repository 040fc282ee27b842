"""Skip one fire of a job at a person's request: the job names the fire, its row becomes skipped, the job advances.

Invariant: the intent is dropped only once the row stands. So a late repeat, from an old reading of the job, is refused
at the row, and an older plan meets that row.
"""

from dataclasses import dataclass
from functools import partial

from timeball.domain.changes.change import skipping
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Intent, Job, JobStatus
from timeball.domain.model.jobs.job_states import past_skipped
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.planning.blackouts import Blackouts, fires_to_come
from timeball.domain.planning.ledger import hand_skipped, hand_skipped_row
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.blackouts.read import moved_runs, read_blackouts
from timeball.engine.compare_and_swap import TRIES, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.metrics import skipped
from timeball.engine.runs.effects import apply_effects, change_runs
from timeball.ports.errors import UnavailableError

_NONE = 0
"""The note of a request that finds no fire to skip: a job that is paused may have one later."""

_SENT_MS = MINUTE_MS
"""Longer after the beginning of a freeze than any process that does not know of it yet sends a fire."""


@dataclass(frozen=True)
class Skipping:
    """A job whose next fire must be skipped, and the version that the job must have (None: any).

    The same `request` skips one fire, however often it comes.
    """

    job: JobKey
    version: int | None = None
    request: str | None = None


@dataclass
class FireChoice:
    """The fire that a request skips, chosen from the job as it stands; None if no fire may be skipped.

    `repeated` is the row of the fire that the same request has skipped before.
    """

    context: Context
    asked: Skipping
    fire_at: int | None = None
    repeated: Run | None = None

    def make(self, job: Job, now: int) -> Job | None:
        """Return the job with the intent to skip its next fire; the same job if there is none, None if it has ended."""
        self.fire_at = _fire_to_skip(self.context, job, now)
        self.repeated = self._noted(job, now)
        if self.repeated is not None:
            return job
        if not job.is_open:
            return None
        return job if self.fire_at is None else skipping(job, self.fire_at, now)

    def _noted(self, job: Job, now: int) -> Run | None:
        """Note which fire the request is about. Return its row if the request has skipped it, or an earlier one.

        A noted fire may have started before it was skipped: then the request went on to the next one. It did the same
        if there was no fire.
        """
        for number in range(TRIES if self.asked.request is not None else 0):
            name, fire_at = f"{self.asked.request} {number}", self.fire_at or _NONE
            noted_at = self.context.store.requests.note([((job.key, name), fire_at)], now)[0]
            row = skipped_row(self.context, job.run_id(noted_at))
            if row is not None or noted_at == fire_at:
                return row
        return None


def skipped_row(context: Context, fire: RunId) -> Run | None:
    """Return the row of a fire if a person skipped it."""
    row = context.store.runs.read([fire])[0]
    return None if row is None or row.reason is not Reason.SKIPPED_MANUALLY else row


def _fire_to_skip(context: Context, job: Job, now: int) -> int | None:
    """Return a pending job's first unstarted fire that a freeze defers, or that comes from now on."""
    if job.status is not JobStatus.PENDING:
        return None
    (excluded,) = read_blackouts(context, [job])
    sent = _sent(context, job, excluded, now)
    return min(sent) if sent else next(fires_to_come(job, excluded), None)


def _sent(context: Context, job: Job, excluded: Blackouts, now: int) -> list[int]:
    """Return the fires whose runs are written and have not started: future ones, and those that a freeze defers.

    The run that the calendar has moved is one of them.
    """
    last_at = job.final_fire_at if job.next_fire_at is None else job.next_fire_at - 1
    if last_at is None:
        return []
    sent = context.store.runs.between(job.key, now, last_at)
    frozen_from = excluded.frozen.start_of(now)
    if frozen_from is not None:
        held_from = frozen_from - job.spec.jitter_seconds * SECOND_MS
        sent += context.store.runs.between(job.key, held_from, min(frozen_from + _SENT_MS, last_at, now - 1))
    sent += moved_runs(context, [job], now).values()
    return [run.id.fire_at for run in sent if run.is_unstarted and run.state is RunState.QUEUED]


def skip_fire(context: Context, job: Job, intent: Intent, now: int) -> Job:
    """Skip the fire that the intent names, unless it has started; return the job without the intent."""
    row = _row(context, job, intent, now)

    def gone_on(_: int, standing: Job) -> Job | None:
        return past_skipped(standing, row, now) if standing.intent == intent else None

    (swapped,) = compare_and_swap(context.store.jobs.swap, [job], gone_on, now)
    if swapped.row is None or swapped.row.intent == intent:
        raise UnavailableError(f"job {job.key.job_id} kept changing")
    apply_effects(context, [(row, swapped.row)])
    return swapped.row


def _row(context: Context, job: Job, intent: Intent, now: int) -> Run:
    """Return the row of the fire as it then stands: skipped, or a run that has started before.

    If its calendar skips the fire anyway, the calendar is the reason.
    """
    fire_at = intent.next_fire_at or 0
    (excluded,) = read_blackouts(context, [job])
    is_to_start = excluded.starts_at(job.spec.schedule, fire_at) is not None
    reason = Reason.SKIPPED_MANUALLY if is_to_start else Reason.CALENDAR
    row = hand_skipped_row(job, fire_at, reason, now)
    standing = context.store.runs.insert([row], now)[0]
    if standing is None:
        skipped(context, row, 1)
        return row
    swap = partial(change_runs, context, {standing.id: job})
    (swapped,) = compare_and_swap(swap, [standing], lambda _, run: hand_skipped(job, run, reason, now), now)
    if swapped.row is None or not swapped.done:
        raise UnavailableError(f"the run at the next fire of job {job.key.job_id} kept changing")
    return swapped.row
