"""Read the latest cycles of jobs that have ended: children with fire times of their own are judged by them."""

from collections.abc import Mapping, Sequence

from timeball.domain.dependencies.trigger_rule import is_latest_cycle
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.runs.run import Run
from timeball.engine.context import Context
from timeball.ports.collections import LedgerPage, LedgerQuery

_PAGES = (10, 30, 30, 30)
"""How many rows of a ledger are read at a time, from the newest on. The latest cycle is among the first, as a rule."""


def read_latest_cycles(context: Context, jobs: Sequence[JobKey]) -> Mapping[JobKey, Run]:
    """Read the latest cycle of each job that has ended, among its newest 100 rows. Raises UnavailableError.

    Most items are passed over without a read, so the items of a cycle that is under way do not hide the one before.
    """
    found: dict[JobKey, Run] = {}
    asked = [LedgerQuery(key, _PAGES[0]) for key in jobs]
    for limit in _PAGES[1:]:
        asked = _search(context, asked, limit, found)
    _search(context, asked, 0, found)
    return found


def _search(context: Context, asked: Sequence[LedgerQuery], limit: int, found: dict[JobKey, Run]) -> list[LedgerQuery]:
    """Read pages, and note the latest cycles in them; return the queries of the pages to search next."""
    left = []
    for query, page in zip(asked, context.store.runs.ledgers(asked) if asked else [], strict=True):
        row = next(filter(is_latest_cycle, page.runs), None)
        if row is not None:
            found[query.job] = row
        elif page.next_before is not None:
            left.append(_following(query.job, page, limit))
    return left


def _following(job: JobKey, page: LedgerPage, limit: int) -> LedgerQuery:
    """Return the query of the page after one. The head of a fan-out precedes its items, so these may be left out."""
    last = page.runs[-1].id if page.runs else None
    if last is not None and last.origin is Origin.DEPENDENCY:
        return LedgerQuery(job, limit, to_at=last.fire_at - 1)
    return LedgerQuery(job, limit, before=page.next_before)
