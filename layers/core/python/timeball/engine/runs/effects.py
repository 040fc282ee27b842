"""Change runs, and carry out the effects of their ends. Every change of a run goes through here, so none forgets them.

Invariant: no end goes without its effects. Either its row is in the due index until the scan has repeated the effects,
or the process that wrote it raises until they are carried out, and holds what brings another process here: see
`Guarantor`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import concluded
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.flow import unique_key
from timeball.domain.run_ends.effects import concludes, final_status, frees_slots, releases
from timeball.domain.run_ends.notices import may_notify
from timeball.domain.sharing.overlap import holds_nothing
from timeball.engine.compare_and_swap import change_all, until_done
from timeball.engine.context import Context
from timeball.engine.metrics import moved
from timeball.engine.notices import notify_after_change, notify_of_ends
from timeball.engine.resolving import read_jobs_of
from timeball.engine.runs.attempts import log_ended
from timeball.engine.runs.overlap_lock import release
from timeball.engine.runs.waiting_lines import release_slots
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)


class Refusal(StrEnum):
    """Why a change of a single run is refused, whether a person or the run's target asks for it."""

    WRONG_STATE = "wrong_state"  # the run's state does not allow it
    JOB_CANCELLED = "job_cancelled"  # its job is cancelled, or gone
    STALE = "stale"  # a report of an attempt that is not under way
    EXPIRED = "expired"  # a heartbeat after the lease has expired
    NOT_EXPECTED = "not_expected"  # the run's job takes no report
    CONFLICT = "conflict"  # the same request has named other items before
    TOO_MANY = "too_many"  # too many items, with those that were named before
    TOO_LARGE = "too_large"  # items that are too large together
    TOO_MANY_RUNS = "too_many_runs"  # items that would make too many runs


Answered = tuple[Refusal | None, Run | None]
"""Why the change was refused, or None if it is done; and the run as it stands, or None if there is no such run."""


def change_runs(
    context: Context, jobs: Mapping[RunId, Job | None], swaps: Sequence[Swap[Run]], now: int
) -> list[Swapped[Run]]:
    """Write changes of runs, then carry out the effects of the rows that stand, whichever process wrote them.

    Each run's job is as it was read for that run: an older reading may not know yet which run holds the lock. Raises
    UnavailableError if it is unknown what was written, or if effects that no scan repeats were not carried out.
    """
    swapped = context.store.runs.swap(swaps, now)
    moved(context, swaps, swapped)
    log_ended(context, jobs, swaps, swapped)
    rows = [(row, jobs[row.id]) for one in swapped if (row := one.row) is not None]
    try:
        apply_effects(context, rows)
    except UnavailableError as unavailable:
        if any(row.due_at is None and holds_nothing(row) for row, _ in rows):
            raise
        log.warning("effects left to the scan: %s", unavailable)
    return swapped


def change_run(context: Context, run_id: RunId, change: Callable[[Run, Job | None, int], Run | Refusal]) -> Answered:
    """Change a run, computed from the run and its job at each try; return why it was refused, if so, and the run.

    `change` returns the changed run, the same run if nothing changes, or the reason for a refusal. Raises
    ContendedError if the run kept changing, and what `change_runs` raises.
    """

    def attempt() -> Answered | None:
        (run,) = context.store.runs.read([run_id])
        (job,) = read_jobs_of(context, [run])
        now = context.clock.now()
        after = None if run is None else change(run, job, now)
        if run is None or after is None or after == run:
            return None, run
        if not isinstance(after, Run):
            return after, run
        (swapped,) = change_runs(context, {run_id: job}, [Swap(run, after)], now)
        if not swapped.done:
            return None
        notify_after_change(context, [(run, job)])
        return None, swapped.row

    return until_done(attempt, f"run {run_id}")


def apply_effects(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Carry out the effects of runs as they stand: a run without an effect costs nothing.

    Any process may repeat it. Raises UnavailableError.
    """
    for effect in EFFECTS:
        concerned = [(run, job) for run, job in runs if effect.applies(run, job)]
        if concerned:
            effect.carry_out(context, concerned)


def _conclude(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Give each job the final status that the end of its run brings."""
    now = context.clock.now()
    over: dict[JobKey, Job] = {}

    def after(position: int, job: Job) -> Job | None:
        status = final_status(runs[position][0], job)
        if status is None:
            return None
        over[job.key] = concluded(job, status, now)
        return over[job.key]

    change_all(context.store.jobs.swap, [job for _, job in runs], after, now, "a job")
    _forget_keys(context, list(over.values()), now)


def _forget_keys(context: Context, jobs: Sequence[Job], now: int) -> None:
    """Release the unique keys that stood for jobs until they ended. If a process dies before that, the keys stay."""
    own = {
        unique_key(job.key.tenant, unique.key): job.key.job_id
        for job in jobs
        if (unique := job.spec.flow.unique) is not None and unique.seconds is None
    }
    rows = context.store.uniques.read(list(own)) if own else []
    over = [row for row in rows if row is not None and row.until is None and own[row.key] == row.job_id]
    if over:
        context.store.uniques.swap([Swap(row, evolve(row, until=row.since)) for row in over], now)


def _release_locks(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    release(context, [run.id for run, _ in runs])


def _release_slots(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    release_slots(context, [run for run, _ in runs])


@dataclass(frozen=True)
class Effect:
    """A change elsewhere that a run, as it stands, entails."""

    applies: Callable[[Run, Job | None], bool]
    """Whether a run has this effect: a check of its row and its job's, without a request."""
    carry_out: Callable[[Context, Sequence[tuple[Run, Job | None]]], None]
    """Carries it out for all runs that have it. May be repeated. Raises UnavailableError."""


EFFECTS = (
    Effect(concludes, _conclude),  # first: other jobs and users wait for a job's end
    Effect(releases, _release_locks),  # in the order in which runs take them: the lock before the slots
    Effect(frees_slots, _release_slots),
    Effect(may_notify, notify_of_ends),  # last: no run waits for a notice
)
"""The effects of runs, in the order in which they are carried out."""
