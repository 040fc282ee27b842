"""Read the latest cycles of jobs that have ended: children with fire times of their own are judged by them."""

from collections.abc import Mapping, Sequence

from timeball.domain.dependencies.trigger_rule import is_latest_cycle
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.runs.run import Run
from timeball.engine.context import Context
from timeball.ports.collections import LedgerQuery

_PAGES = (10, 90, 900)
"""How many rows of a ledger are read at a time, from the newest on. The latest cycle is among the first, as a rule."""


def read_latest_cycles(context: Context, jobs: Sequence[JobKey]) -> Mapping[JobKey, Run]:
    """Read the latest cycle of each job that has ended, among its newest 1,000 rows. Raises UnavailableError."""
    found: dict[JobKey, Run] = {}
    left: dict[JobKey, RunId | None] = dict.fromkeys(jobs)
    for rows in _PAGES:
        if not left:
            break
        pages = context.store.runs.ledgers([LedgerQuery(key, rows, before=before) for key, before in left.items()])
        for key, page in zip(list(left), pages, strict=True):
            del left[key]
            row = next(filter(is_latest_cycle, page.runs), None)
            if row is not None:
                found[key] = row
            elif page.next_before is not None:
                left[key] = page.next_before
    return found
