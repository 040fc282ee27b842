"""Share out a tenant's slots among its backfills. Only the tenant's row gives a slot.

A backfill runs only if that row names it, and stays named until it has ended: so the maximum is never exceeded. Each
time, the rows of the named backfills show which have ended. So a process that died before it released a slot did no
harm.
"""

import logging
from collections.abc import Iterable, Sequence

from timeball.domain.backfills.backfill import Backfill, BackfillStatus, due_again
from timeball.domain.backfills.slots import BackfillSlots, allot
from timeball.domain.model.ids import BackfillKey
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.exclusions.read import read_quotas
from timeball.ports.collections.rows import Swap
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)


def take_slots(context: Context, asking: Sequence[Backfill]) -> list[BackfillKey]:
    """Return the asking backfills that hold a slot now. Raises UnavailableError."""
    return _share_out(context, {one.key.job.tenant for one in asking}, asking) if asking else []


def free_slots(context: Context, tenants: Iterable[str]) -> None:
    """Pass the slots of ended backfills on. If that fails, the next check of a waiting backfill does it."""
    try:
        _share_out(context, set(tenants), [])
    except UnavailableError as unavailable:
        log.info("slots not given on yet: %s", unavailable)


def _share_out(context: Context, tenants: set[str], asking: Sequence[Backfill]) -> list[BackfillKey]:
    """Share out slots: ① read the rows and the backfills they name ② swap the rows ③ wake backfills that got one."""
    now = context.clock.now()
    rows = _rows(context, sorted(tenants), now)
    quotas = read_quotas(context, sorted(tenants))
    named: dict[BackfillKey, Backfill | None] = {one.key: one for one in asking}

    def read_named(rows: Sequence[BackfillSlots]) -> None:
        keys = [key for row in rows for key in (*row.held, *row.line) if key not in named]
        named.update(zip(keys, context.store.backfills.read(keys), strict=True))

    def shared_out(_: int, row: BackfillSlots) -> BackfillSlots | None:
        read_named([row])
        standing = {key: one for key, one in named.items() if one is not None and one.is_open}
        askers = [one.key for one in asking if one.key.job.tenant == row.tenant]
        after = allot(row, standing, askers, quotas[row.tenant].running_backfills or 1)
        return None if after == row else after

    read_named(rows)  # all rows at once; a row that refuses its swap may then name other backfills
    shared = compare_and_swap(context.store.slots.swap, rows, shared_out, now)
    held = [key for one in shared if one.row is not None for key in one.row.held]
    own = [one.key for one in asking]
    _wake(context, [named.get(key) for key in held if key not in own], now)
    return [key for key in held if key in own]


def _rows(context: Context, tenants: Sequence[str], now: int) -> list[BackfillSlots]:
    """Read the row of each tenant, and insert it if the tenant has none yet."""
    stored = context.store.slots.read(tenants)
    new = [BackfillSlots(tenant) for tenant, row in zip(tenants, stored, strict=True) if row is None]
    inserted = context.store.slots.insert(new, now)
    return [row for row in stored if row] + [found or row for row, found in zip(new, inserted, strict=True)]


def _wake(context: Context, backfills: Sequence[Backfill | None], now: int) -> None:
    swaps = [
        Swap(one, due_again(one, now))
        for one in backfills
        if one is not None and one.status is BackfillStatus.WAITING and (one.due_at or 0) > now
    ]
    if swaps:
        context.store.backfills.swap(swaps, now)
