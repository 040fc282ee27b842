"""Settle a user's change: bring a job's runs in line with its row. Works from the rows alone; anyone may repeat it.

First every fire of the old plan gets a skipped row, so that a late insert by an older plan is refused; then the live
runs end or are asked to stop; then the intent is dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from timeball.domain.ids import RunId
from timeball.domain.instants import DAY_MS
from timeball.domain.job import Intent, Job, settled
from timeball.domain.ledger import skipped_fires
from timeball.domain.planner import MAX_STEPS, SkippedRange
from timeball.domain.retry import longest_life_ms
from timeball.domain.run import Reason, Run, RunState, asked_to_stop, ended
from timeball.domain.schedule import fires
from timeball.engine.dispatch import record_skip
from timeball.engine.world import World
from timeball.ports import Swap, UnavailableError

_TRIES = 5
_LATEST_START_MS = DAY_MS
"""How late after its fire time a run that is live may have started; the claim ends what waits from even earlier."""
_CHUNKS = 20


@dataclass(frozen=True)
class Settlement:
    """The job without its intent, and the runs that were claimed before it could be stopped."""

    job: Job
    claimed: tuple[RunId, ...]


def settle(world: World, jobs: Sequence[Job]) -> list[Settlement]:
    """Settle each job; one without an intent is settled again without harm.

    Raises UnavailableError if there is more to write than one call may: what was written is kept, and the next call
    goes on from there.
    """
    return [_settle(world, job) for job in jobs]


def _settle(world: World, job: Job) -> Settlement:
    now = world.clock.now()
    if job.intent is not None:
        job = _refuse_late_inserts(world, job, job.intent, now)
    claimed = _stop_live_runs(world, job, now)
    if job.intent is None:
        return Settlement(job, claimed)
    swapped = world.store.swap_jobs([Swap(job, settled(job))], now)[0]
    if swapped.row is None:
        return Settlement(settled(job), claimed)
    if not swapped.done and swapped.row.intent is not None:
        raise UnavailableError(f"job {job.key.job_id} kept changing")
    return Settlement(replace(swapped.row, work=job.work), claimed)


def _refuse_late_inserts(world: World, job: Job, intent: Intent, now: int) -> Job:
    """Give each fire that a plan from before the intent may still insert its row, the long missed ones in ranges."""
    through_at = intent.asked_at + world.rules.lookahead_ms + world.rules.margin_ms
    single_from = intent.asked_at - 2 * world.rules.misfire_ms
    for _ in range(_CHUNKS):
        if intent.next_fire_at is None or intent.next_fire_at > through_at:
            return job
        missed = intent.next_fire_at < single_from
        chunk_end = single_from - 1 if missed else through_at
        chunk = list(islice(fires(job.schedule, intent.next_fire_at, chunk_end), MAX_STEPS))
        if chunk and missed:
            skip = SkippedRange(chunk[0], chunk[-1], len(chunk), Reason.JOB_CANCELLED)
            if record_skip(world, job, skip, now) is None:
                raise UnavailableError(f"the ledger of job {job.key.job_id} kept changing")
        elif chunk:
            world.store.insert_runs(skipped_fires(job, chunk, Reason.JOB_CANCELLED, now), now)
        intent = replace(intent, next_fire_at=chunk[-1] + 1 if len(chunk) == MAX_STEPS else chunk_end + 1)
    kept = world.store.swap_jobs([Swap(job, replace(job, intent=intent, revision=job.revision + 1))], now)[0]
    raise UnavailableError(f"job {job.key.job_id} has more to settle (kept: {kept.done})")


def _stop_live_runs(world: World, job: Job, now: int) -> tuple[RunId, ...]:
    """End the runs that wait, ask the running ones to stop; return the latter. A run that moved is looked at again."""
    since_at = now - longest_life_ms(job.retry, job.timeout_seconds) - _LATEST_START_MS
    if job.schedule.is_one_off:
        since_at = 0
    for _ in range(_TRIES):
        live = world.store.live_runs(job.key, since_at)
        swaps = [Swap(run, _stopped(run, now)) for run in live if not run.cancel_requested]
        if all(swapped.done for swapped in world.store.swap_runs(swaps, now)):
            return tuple(run.id for run in live if run.state is RunState.RUNNING)
    raise UnavailableError(f"the runs of job {job.key.job_id} kept changing")


def _stopped(run: Run, now: int) -> Run:
    if run.state is RunState.RUNNING:
        return asked_to_stop(run)
    return ended(run, RunState.CANCELLED, now, Reason.JOB_CANCELLED)
