"""Before a claim: is there a newer run of the job, that takes this one's place? Only jobs that say so are asked for it.

A run that waits is not looked for when a newer one comes: it finds that itself, before it would start.
"""

from collections.abc import Sequence
from typing import Final

from timeball.domain.model.ids import RunId
from timeball.domain.model.job import Job
from timeball.domain.model.run import Run, RunState
from timeball.domain.planning.collecting import is_replaceable, is_replaced_by
from timeball.engine.context import Context
from timeball.ports.collections.runs import LedgerQuery

_MOST: Final = 20
"""So many of the newest runs are read. With more of a backfill, which replace nobody, a run starts that need not."""

_RUNS: Final = frozenset(RunState) - {RunState.SKIPPED, RunState.CANCELLED}


def replaced(context: Context, starting: Sequence[tuple[Run, Job]]) -> set[RunId]:
    """Return which of these runs, about to start, newer ones of their jobs replace. Raises UnavailableError."""
    return {run.id for run, job in starting if is_replaceable(run, job.spec) and _is_replaced(context, run)}


def _is_replaced(context: Context, run: Run) -> bool:
    at = max(context.clock.now(), run.not_before)
    query = LedgerQuery(run.id.job, _MOST, from_at=run.id.fire_at, to_at=at, states=_RUNS)
    return any(is_replaced_by(run, other, at) for other in context.store.runs.ledger(query).runs)
