"""Shares out a tenant's slots among its backfills. A slot is given in the tenant's row, and by nothing else.

A backfill runs only if that row names it, and stays named until it is over: so at no time do more run than may. Who is
over is told by the rows of those that are named, each time: so whoever died before it gave a slot back did no harm.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from timeball.domain.backfills.backfill import Backfill, woken
from timeball.domain.backfills.slots import Slots, allot
from timeball.domain.model.ids import BackfillKey
from timeball.engine.context import Context
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)


def take_slots(context: Context, asking: Sequence[Backfill]) -> dict[BackfillKey, bool]:
    """Return of each backfill that asks whether it holds a slot now. Raises UnavailableError.

    Those are left out that would have to ask again, as somebody else has just changed their tenant's row.
    """
    return _share_out(context, {one.key.job.tenant for one in asking}, asking) if asking else {}


def free_slots(context: Context, tenants: Iterable[str]) -> None:
    """Give the slots of what is over to those that are next. If that fails, the next look of any of them does it."""
    try:
        _share_out(context, set(tenants), [])
    except UnavailableError as unavailable:
        log.info("slots not given on yet: %s", unavailable)


def _share_out(context: Context, tenants: set[str], asking: Sequence[Backfill]) -> dict[BackfillKey, bool]:
    """① read the rows and who is named there ② swap the rows ③ wake whom somebody else's end gave a slot."""
    names = sorted(tenants)
    stored = dict(zip(names, context.store.slots.read(names) if names else [], strict=True))
    rows = [row or Slots(tenant) for tenant, row in stored.items()]
    standing = _standing(context, rows, asking)
    askers: dict[str, list[BackfillKey]] = {row.tenant: [] for row in rows}
    for one in asking:
        askers[one.key.job.tenant].append(one.key)
    changes = [
        Swap(row, after)
        for row in rows
        if (after := allot(row, standing, askers[row.tenant], context.rules.running_backfills)) is not row
    ]
    standing_rows = {row.tenant: row for row in rows}
    given: list[BackfillKey] = []
    contended: set[str] = set()
    for swap, outcome in zip(changes, _written(context, changes, stored), strict=True):
        standing_rows[swap.before.tenant] = outcome.row or swap.before
        if outcome.done:
            given += [key for key in swap.after.held if key not in swap.before.held]
        else:
            contended.add(swap.before.tenant)
    held = {key for row in standing_rows.values() for key in row.held}
    own = [one.key for one in asking]
    _wake(context, [standing[key] for key in given if key not in own])
    return {key: key in held for key in own if key in held or key.job.tenant not in contended}


def _written(
    context: Context, changes: Sequence[Swap[Slots]], stored: Mapping[str, Slots | None]
) -> list[Swapped[Slots]]:
    """Swap each row, or insert a tenant's first."""
    now = context.clock.now()
    new = [swap.after for swap in changes if stored[swap.after.tenant] is None]
    swaps = [swap for swap in changes if stored[swap.after.tenant] is not None]
    inserted = context.store.slots.insert(new, now) if new else []
    outcomes = {row.tenant: Swapped(found is None, found or row) for row, found in zip(new, inserted, strict=True)} | {
        swap.after.tenant: outcome
        for swap, outcome in zip(swaps, context.store.slots.swap(swaps, now) if swaps else [], strict=True)
    }
    return [outcomes[swap.after.tenant] for swap in changes]


def _standing(context: Context, rows: Sequence[Slots], asking: Sequence[Backfill]) -> dict[BackfillKey, Backfill]:
    standing = {one.key: one for one in asking}
    named = [key for row in rows for key in (*row.held, *row.line) if key not in standing]
    read = context.store.backfills.read(named) if named else []
    return standing | {one.key: one for one in read if one is not None and one.is_open}


def _wake(context: Context, backfills: Sequence[Backfill]) -> None:
    now = context.clock.now()
    swaps = [Swap(one, woken(one, now)) for one in backfills if (one.due_at or 0) > now]
    if swaps:
        context.store.backfills.swap(swaps, now)
