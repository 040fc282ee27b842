"""Carry out what the ends of runs entail. Whoever changes runs does it by `change_runs`, and cannot forget the effects.

Invariant: an end is lost on nobody. Either its row stands in the due index until the scan has repeated the effects, or
whoever wrote it raises until they are carried out, and holds what brings another here: see `Guarantor`.
"""

import logging
from collections.abc import Sequence

from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.run import Run
from timeball.domain.policy.effects import Conclusion, Release, effects
from timeball.engine.context import Context
from timeball.engine.metrics import moved
from timeball.engine.runs.overlap_lock import release
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)


def change_runs(context: Context, changes: Sequence[tuple[Swap[Run], Job | None]], now: int) -> list[Swapped[Run]]:
    """Write changes of runs; carry out what the rows that stand then entail, whoever wrote them.

    Raises UnavailableError if it is unknown what was written, or if effects are not carried out that no scan repeats.
    """
    swapped = context.store.runs.swap([swap for swap, _ in changes], now) if changes else []
    rows = [(outcome.row, job) for outcome, (_, job) in zip(swapped, changes, strict=True) if outcome.row is not None]
    moved(context, [swap for (swap, _), outcome in zip(changes, swapped, strict=True) if outcome.done])
    try:
        on_run_end(context, rows)
    except UnavailableError as unavailable:
        if any(row.due_at is None for row, job in rows if effects(row, job, now)):
            raise
        log.warning("effects left to the scan: %s", unavailable)
    return swapped


def on_run_end(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Carry out what runs entail as they stand: nothing, of those that are live. May be repeated by anyone.

    Raises UnavailableError.
    """
    now = context.clock.now()
    entailed = [effect for run, job in runs for effect in effects(run, job, now)]
    conclude(context, [effect for effect in entailed if isinstance(effect, Conclusion)])
    release(context, [effect.run for effect in entailed if isinstance(effect, Release)])


def conclude(context: Context, conclusions: Sequence[Conclusion]) -> None:
    """Give jobs their final status, but for a recurring one whose ledger is not written to its end, or that is paused.

    Its earlier runs may not be sent yet, or were taken back. Whoever has written the ledger, or resumes the job, comes
    here again. A one-off has no earlier runs, and is not read for it.
    """
    one_off = [conclusion for conclusion in conclusions if JobStatus.PAUSED in conclusion.open_statuses]
    recurring = [conclusion for conclusion in conclusions if conclusion not in one_off]
    jobs = context.store.jobs.read([conclusion.job for conclusion in recurring]) if recurring else []
    written = [
        conclusion
        for conclusion, job in zip(recurring, jobs, strict=True)
        if job is not None and job.next_fire_at is None
    ]
    if one_off or written:
        context.store.jobs.conclude([*one_off, *written])
