"""Before a claim, find a newer run of the job that replaces this one. Only jobs that ask for it cost a read.

A waiting run is not searched for when a newer one comes: it finds that itself before it would start. But a run in a
line is, when a newer one joins that line: otherwise each would be admitted, one after the other, only to find that.
"""

import logging
from collections.abc import Sequence
from typing import Final

from timeball.domain.ends.effects import guarantor_of
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.planning.collecting import is_replaceable, is_replaced_by
from timeball.engine.context import Context
from timeball.engine.runs.on_run_end import change_runs
from timeball.ports.collections.rows import Swap
from timeball.ports.collections.runs import LedgerQuery
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_MOST: Final = 20
"""How many of the newest runs are read. If more runs of a backfill, which replace none, are among them, a run starts
that need not."""

_RUNS: Final = frozenset(RunState) - {RunState.SKIPPED, RunState.CANCELLED}


def replaced(context: Context, starting: Sequence[tuple[Run, Job]]) -> set[RunId]:
    """Return which of these runs, about to start, newer runs of their jobs replace. Raises UnavailableError."""
    return {run.id for run, job in starting if is_replaceable(run, job.spec) and _is_replaced(context, run)}


def replace_older(context: Context, claims: Sequence[tuple[Run, Job]]) -> None:
    """Skip runs in lines that are replaced by runs which have just joined a line. Other runs cost nothing.

    If this fails, the replaced runs find it out when they are admitted.
    """
    try:
        for run, job in claims:
            if run.stands_in_line and is_replaceable(run, job.spec):
                _replace_older(context, run, job)
    except UnavailableError as unavailable:
        log.warning("replaced runs are left until they are admitted: %s", unavailable)


def _replace_older(context: Context, run: Run, job: Job) -> None:
    now = context.clock.now()
    newest = context.store.runs.ledger(LedgerQuery(run.id.job, _MOST, to_at=run.id.fire_at)).runs
    waiting = [one for one in newest if one.stands_in_line and is_replaceable(one, job.spec)]
    older = [one for one in waiting if is_replaced_by(one, run, max(now, run.not_before))]
    guarantor = guarantor_of(run, job, Guarantor.SCAN)
    swaps = [Swap(one, ended(one, RunState.SKIPPED, now, guarantor, Reason.REPLACED)) for one in older]
    if swaps:
        change_runs(context, {one.id: job for one in older}, swaps, now)


def _is_replaced(context: Context, run: Run) -> bool:
    at = max(context.clock.now(), run.not_before)
    query = LedgerQuery(run.id.job, _MOST, from_at=run.id.fire_at, to_at=at, states=_RUNS)
    return any(is_replaced_by(run, other, at) for other in context.store.runs.ledger(query).runs)
