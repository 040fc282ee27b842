"""The bounds that tenants share: limits that jobs name, and quotas of submits and open jobs.

A limit exists from the first job that names it. A bound that a person has set holds, whatever jobs say, until a person
removes it.

New jobs are counted before they are created, if quotas bound them: one write, and no read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.limiter import Bounds, Fixed, Limiter, new_limiter
from timeball.domain.model.runs.run import Permit, Run
from timeball.domain.model.tenants.tenant import NO_QUOTAS
from timeball.domain.sharing.slots_and_tokens import has_slot
from timeball.domain.sharing.stated_limits import asks_of, bounded_by, said_anew
from timeball.domain.sharing.submit_budget import Reservation, counted_until, is_refused, may_count, reckoned
from timeball.engine.compare_and_swap import compare_and_swap, put, until_done
from timeball.engine.context import Context
from timeball.engine.runs.waiting_lines import admit_waiting, take_back_slots, take_out_of_lines

MOST_SHOWN = 100
"""How many waiting runs are shown."""

_TRIES = 3


@dataclass(frozen=True)
class LimitView:
    """A limiter, the runs that have its slots, and the first runs of each waiting line."""

    limiter: Limiter
    holders: tuple[Run, ...]
    waiters: tuple[Run, ...]


class LimitOutcome(StrEnum):
    """The outcome of a change: done, limit created, stale version, no such limit, or limit exists already."""

    DONE = "done"
    CREATED = "created"
    STALE = "stale"
    ABSENT = "absent"
    EXISTS = "exists"


def note_limits(context: Context, specs: Sequence[JobSpec], now: int) -> None:
    """Create the limiters that jobs name, so that a run finds each one when it asks for it."""
    asks = {ask.key: ask for spec in specs for ask in asks_of(spec, NO_QUOTAS)}
    standing = context.store.limiters.read(list(asks), strong=False) if asks else []
    absent = [ask for ask, row in zip(asks.values(), standing, strict=True) if row is None]
    if absent:
        context.store.limiters.insert([new_limiter(ask.key, context.shards, ask.bounds) for ask in absent], now)


def note_changed_limits(context: Context, before: JobSpec, after: JobSpec) -> None:
    """Apply at once what a changed job says of its limits, and wake its runs that wait for a limit it no longer names.

    Runs that have slots of a limit that the job no longer names give them back, even while under way: they no longer
    count there.

    Raises UnavailableError: then the change applies from the job's next run on, and the limiters admit waiting runs in
    turn.
    """
    now = context.clock.now()
    note_limits(context, [after], now)
    earlier, said = ({ask.key: ask.bounds for ask in asks_of(spec, NO_QUOTAS)} for spec in (before, after))

    def as_said(_: int, limiter: Limiter) -> Limiter | None:
        anew = said_anew(limiter, said.get(limiter.key, Bounds()), now, earlier.get(limiter.key))
        is_held = anew.rate_said_at != 0 or limiter.rate_said_at == 0
        return None if anew.said == limiter.said and is_held else anew

    rows = context.store.limiters.read(list(earlier | said))
    standing = compare_and_swap(context.store.limiters.swap, rows, as_said, now)
    admit_waiting(context, [one.row for one in standing if one.row is not None and one.row.due_at is not None])
    dropped = _lines(before) - _lines(after)
    take_back_slots(context, before.key, [key for key, permit in dropped if permit is Permit.SLOT])
    take_out_of_lines(context, before.key, dropped)


def _lines(spec: JobSpec) -> set[tuple[LimiterKey, Permit]]:
    """Return the lines in which runs of a job may wait for its limits."""
    named = [(spec.flow.concurrency, Permit.SLOT), (spec.flow.rate, Permit.TOKEN)]
    return {(LimiterKey(spec.key.tenant, one.name), permit) for one, permit in named if one is not None}


def read_limit(context: Context, key: LimiterKey) -> LimitView | None:
    """Return a limit as it stands; None if no recent job names it and no person set it. Raises UnavailableError."""
    (limiter,) = context.store.limiters.read([key])
    return None if limiter is None else view_of(context, limiter)


def view_of(context: Context, limiter: Limiter) -> LimitView:
    """Return a limiter with the runs that have its slots, and the runs that wait."""
    holders = _holders(context, limiter)
    held = {run.id for run in holders}
    named = [run for permit in Permit for run in context.store.runs.in_line(limiter.key, permit, MOST_SHOWN)]
    rows = context.store.runs.read(named) if named else []
    waiters = [row for row in rows if row is not None and row.id not in held and _waits_for(row, limiter)]
    waiters.sort(key=attrgetter("line_order"))
    return LimitView(limiter, tuple(holders), tuple(waiters[:MOST_SHOWN]))


def _holders(context: Context, limiter: Limiter) -> list[Run]:
    now = context.clock.now()
    rows = context.store.runs.read([one.run for one in limiter.begun]) if limiter.begun else []
    named = zip(limiter.begun, rows, strict=True)
    return [row for one, row in named if row is not None and has_slot(limiter, one, row, now)]


def _waits_for(run: Run, limiter: Limiter) -> bool:
    return run.waiting is not None and run.waiting.name == limiter.key.name


def fix_limit(
    context: Context, key: LimiterKey, bounds: Bounds, version: int | None, now: int, *, is_to_stand: bool | None = None
) -> tuple[LimitOutcome, Limiter]:
    """Set the bounds of a limit of a version (None: any), and admit the waiting runs that may begin under them.

    A limit that does not exist is created. `is_to_stand` True requires that it exists, False that it does not; if that
    is not so, nothing changes. Raises UnavailableError, and ContendedError if the limit kept changing.
    """

    def fix() -> tuple[LimitOutcome, Limiter] | None:
        (standing,) = context.store.limiters.read([key])
        row = standing or new_limiter(key, context.shards)
        refusal = _refusal(standing, row, version, is_to_stand=is_to_stand)
        if refusal is not None:
            return refusal, row
        if standing is not None and row.fixed.bounds == bounds:
            return LimitOutcome.DONE, row
        after = evolve(row, fixed=Fixed(bounds)) if standing is None else bounded_by(row, bounds, now)
        stored = put(context.store.limiters, standing, after, now)
        if stored is None:
            return None
        if standing is None:
            return LimitOutcome.CREATED, stored
        admit_waiting(context, [stored] if stored.due_at is not None else [])
        return LimitOutcome.DONE, stored

    return until_done(fix, f"limit {key.name}")


def _refusal(
    standing: Limiter | None, row: Limiter, version: int | None, *, is_to_stand: bool | None
) -> LimitOutcome | None:
    """Return why the bounds of a limit may not be set, if so."""
    if standing is None and is_to_stand is True:
        return LimitOutcome.ABSENT
    if standing is not None and is_to_stand is False:
        return LimitOutcome.EXISTS
    return None if version in (None, row.fixed.version) else LimitOutcome.STALE


class Refused(StrEnum):
    """The quota that is used up, by the name of its field."""

    SUBMITS = "submits_per_second"
    ACTIVE = "active_jobs"


def reserve(context: Context, reservation: Reservation) -> Refused | None:
    """Reserve jobs that are about to be created, all or none. Return the quota that refuses them, if any.

    Raises UnavailableError.

    Order of writes of reserve (room for new jobs, under quotas):

    1. Count the jobs against the tenant's quota, if there is room; then submit.
    2. Without room, count the tenant's open jobs, store how many are left, and repeat step 1.

    Safe: step 1 without a job leaves too little room, until step 2 runs again.
    """
    if not reservation.amount or not (reservation.per_second or reservation.active):
        return None
    for _ in range(_TRIES):
        standing = context.store.submit_budgets.reserve(reservation)
        if standing is None:
            return None
        if is_refused(standing, reservation):
            return Refused.SUBMITS
        now = context.clock.now()
        if not may_count(standing, reservation.active, now):
            return Refused.ACTIVE
        counted = context.store.jobs.count_open(reservation.tenant, counted_until(now), reservation.active)
        context.store.submit_budgets.reckon(standing, reckoned(standing, counted, reservation.active, now))
    return Refused.ACTIVE


def release(context: Context, reservation: Reservation, amount: int) -> None:
    """Release `amount` reserved jobs, because they existed already."""
    if amount and (reservation.per_second or reservation.active):
        context.store.submit_budgets.release(replace(reservation, amount=amount))
