"""Create, lift and list freezes. Each change is one write of the one row that has all freezes of a tenant."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.freeze import (
    BEGINS_AFTER_MS,
    Freeze,
    FreezeMatch,
    Freezes,
    dropped,
    has_room_for,
    with_freeze,
    without_freeze,
)
from timeball.domain.model.tenants.tenant import NO_DEFAULTS, Defaults, Quotas
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.ports.errors import ContendedError


class FreezeOutcome(StrEnum):
    """The outcome: created, created before by the same request, the name has another freeze, or no room."""

    CREATED = "created"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    TOO_MANY = "too_many"


def freezes_of(context: Context, tenant: str) -> Freezes:
    """Return a tenant's freezes as they stand."""
    return context.store.freezes.read([tenant])[0] or Freezes(tenant)


@dataclass(frozen=True)
class CreatedFreeze:
    """The outcome, and the freeze as it stands."""

    outcome: FreezeOutcome
    freeze: Freeze


def create_freeze(context: Context, tenant: str, wanted: Freeze) -> CreatedFreeze:
    """Store a freeze under the name of its request. Every process applies it BEGINS_AFTER_MS after this call returns.

    Raises UnavailableError; the caller may then repeat it.
    """
    made = CreatedFreeze(FreezeOutcome.CREATED, wanted)

    def added(row: Freezes, now: int) -> Freezes | None:
        nonlocal made
        standing = next((one for one in row.items if one.name == wanted.name), None)
        if standing is not None:
            is_same = (standing.match, standing.reason) == (wanted.match, wanted.reason)
            made = CreatedFreeze(FreezeOutcome.REPEATED if is_same else FreezeOutcome.CONFLICT, standing)
            return None
        if not has_room_for(row, wanted, now):
            made = CreatedFreeze(FreezeOutcome.TOO_MANY, wanted)
            return None
        freeze = evolve(wanted, from_at=max(wanted.from_at, now + BEGINS_AFTER_MS))
        made = CreatedFreeze(FreezeOutcome.CREATED, freeze)
        return with_freeze(row, freeze, now)

    _change(context, tenant, added)
    return made


def stop_tenant(context: Context, tenant: str) -> None:
    """Stop all new attempts of a tenant. Every process does so BEGINS_AFTER_MS later. A repeat changes nothing.

    Raises UnavailableError.
    """

    def stopped(row: Freezes, now: int) -> Freezes | None:
        stop = Freeze(f"stop-{now}", now, None, FreezeMatch(everything=True), now, stops_all=True)
        return None if row.stop_at(now) else with_freeze(row, stop, now)

    _change(context, tenant, stopped)


def start_tenant(context: Context, tenant: str) -> None:
    """Let a stopped tenant continue: each job's catch-up policy decides about late fires. A repeat changes nothing.

    Raises UnavailableError.
    """

    def started(row: Freezes, now: int) -> Freezes | None:
        stop = row.stop_at(now)
        return None if stop is None else without_freeze(row, stop.name, now)

    _change(context, tenant, started)


def note_quotas(context: Context, tenant: str, quotas: Quotas, defaults: Defaults = NO_DEFAULTS) -> None:
    """Apply quotas and defaults to a tenant's runs. Every process does so within KNOWN_MS. A repeat changes nothing.

    Raises UnavailableError.
    """

    def noted(row: Freezes, _: int) -> Freezes | None:
        after = evolve(row, quotas=quotas, defaults=defaults)
        return None if after == row else after

    _change(context, tenant, noted)


def lift_freeze(context: Context, tenant: str, name: str) -> Freeze | None:
    """End a freeze now. Return it as it was, or None if there is none, or it has ended. Raises UnavailableError."""
    found: Freeze | None = None

    def lifted(row: Freezes, now: int) -> Freezes | None:
        nonlocal found
        found = next((one for one in row.open_at(now) if one.name == name), None)
        return None if found is None else without_freeze(row, name, now)

    _change(context, tenant, lifted)
    return found


def over_freezes(context: Context, tenant: str, limit: int, before: tuple[int, str] | None = None) -> list[Freeze]:
    """Return up to `limit` of the users' freezes that are over, the newest first, from the last one before a position.

    Raises UnavailableError.
    """
    # The row is read first: a freeze that leaves it meanwhile has a row of its own before.
    lately = freezes_of(context, tenant).over_at(context.clock.now())
    found = {one.order: one for one in lately if before is None or one.order < before}
    missing, position = limit, before
    while missing > 0 and (page := context.store.former_freezes.of_owner(tenant, limit, position)):
        seen = [one for one in page if not one.stops_all]
        found |= {one.order: one for one in seen}
        missing, position = missing - len(seen), page[-1].order
    return [one for _, one in sorted(found.items(), reverse=True)][:limit]


def _change(context: Context, tenant: str, change: Callable[[Freezes, int], Freezes | None]) -> None:
    """Change a tenant's freezes by the row and the present instant. The row is inserted with the first freeze.

    Order of writes of freeze, lift:

    1. Store the freezes that are over and leave the row, each in a row of its own.
    2. Swap the row.

    Safe: a freeze that is over never changes, so step 1 without step 2 says nothing wrong, and a repeat finds it done.
    """
    now = context.clock.now()

    def changed(_: int, row: Freezes) -> Freezes | None:
        at = context.clock.now()
        after = change(row, at)
        if after is not None and (leaving := dropped(row, after, at)):
            context.store.former_freezes.note([(tenant, one) for one in leaving], at)
        return after

    row = context.store.freezes.read([tenant])[0]
    if row is None:
        row = context.store.freezes.insert([Freezes(tenant)], now)[0] or Freezes(tenant)
    swap = context.store.freezes.swap
    (swapped,) = compare_and_swap(swap, [row], changed, now)
    if not swapped.done:
        raise ContendedError("the freezes kept changing")
    context.known.forget("freezes", tenant)
