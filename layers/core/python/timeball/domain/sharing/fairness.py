"""Fair turns: tenants alternate in rounds, and the runs of events and fan-outs are made at a pace for each tenant.

No tenant waits for everything another has stored: a tenant of weight 2 has two items in a round where a tenant of
weight 1 has one.

A process makes the runs of one tenant that events and fan-outs ask for in pages, at a bounded pace, and those of a
tenant with a quota within that quota. The others are made later, spread over the time that all of them take, and none
is dropped.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeVar

from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

_Item = TypeVar("_Item")

_NO_WEIGHTS: Mapping[str, int] = {}


def in_turns(
    items: Iterable[_Item], tenant_of: Callable[[_Item], str], weights: Mapping[str, int] = _NO_WEIGHTS
) -> list[_Item]:
    """Return the first item of each tenant, then the second of each, and so on; otherwise in the given order.

    A tenant of weight n (1 unless given) has n items for each item of a tenant of weight 1.
    """
    met: Counter[str] = Counter()
    turns: list[tuple[float, _Item]] = []
    for item in items:
        tenant = tenant_of(item)
        turns.append((met[tenant] / weights.get(tenant, 1), item))
        met[tenant] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]


def next_in_share(waiting: Iterable[str], held: Mapping[str, int], free: int) -> str | None:
    """Return the tenant that gets one of `free` things now: of the waiting tenants, the one that holds least.

    None if each of them holds as many as are free. So a single tenant takes half of all things, and n tenants leave the
    n+1st part free: the next tenant finds a free one, however long the others hold theirs.
    """
    tenant = min(waiting, key=lambda one: held.get(one, 0), default=None)
    return None if tenant is None or held.get(tenant, 0) >= free else tenant


def share_of(whole: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divide a whole among tenants by their weights, rounded up: each tenant gets at least one."""
    total = sum(weights.values())
    return {tenant: -(-whole * weight // total) for tenant, weight in weights.items()}


PAGE: Final = 100
"""The most runs of a tenant that are made together."""
MOST_OF_A_REQUEST: Final = 100_000
"""The most runs that one request may ask for, or one attempt by all items that it names."""

_RUN_MS: Final = 10
"""The average time between two runs of one tenant that a process makes: a hundred a second."""
_AHEAD_MS: Final = 3 * SECOND_MS
"""How far a tenant may be ahead of that pace: a few hundred runs are made at once."""
_LONGEST_MS: Final = 15 * MINUTE_MS
"""The longest time for which the queue delays a message."""


@dataclass(frozen=True)
class Pace:
    """The pace of one tenant in a process."""

    made_until: int = 0
    """The instant (ms) until which the tenant has used its share: for its runs made, or until its quota has room."""
    put_off_until: int = 0
    """The instant (ms) until which the events that were put off use the share, in the present round."""

    def is_ahead(self, now: int) -> bool:
        """Say whether so many runs were made lately that others come first, or the tenant's quota has no room."""
        return self.made_until > now + _AHEAD_MS


def most_made(quotas: Quotas) -> int:
    """Return how many runs events and fan-outs may make in a minute: no more than may begin in one. 0: no bound."""
    bounds = (quotas.runs_created_per_minute or 0, (quotas.runs_per_second or 0) * 60)
    return min(filter(None, bounds), default=0)


def page_of(most: int) -> int:
    """Return how many runs are made together under a quota of a minute: a small part of it, so that each finds room."""
    return min(PAGE, max(most // 4, 1)) if most else PAGE


def next_page(sizes: Sequence[int], most: int) -> tuple[int, int]:
    """Return how many of the next things make a page of up to `most` runs, and how many runs these are.

    A thing of more runs is a page of its own.
    """
    page = max(sum(total <= most for total in accumulate(sizes)), 1)
    return page, sum(sizes[:page])


def with_made(pace: Pace, amount: int, now: int) -> Pace:
    """Return the pace after more runs were made."""
    return evolve(pace, made_until=max(pace.made_until, now) + amount * _RUN_MS)


def with_no_room(pace: Pace, until: int) -> Pace:
    """Return the pace of a tenant whose quota has no room before an instant: other events need not ask meanwhile."""
    return evolve(pace, made_until=max(pace.made_until, until))


def comes_again_at(pace: Pace, now: int) -> int:
    """Return when an event comes again that is put off: after those that were put off before.

    An event that would come later than the queue's longest delay begins a new round instead. The events of several
    rounds come side by side: those that find no room are put off again, and so no room is left unused.
    """
    earliest = max(pace.made_until, now)
    return pace.put_off_until if earliest < pace.put_off_until <= now + _LONGEST_MS else earliest


def with_put_off(pace: Pace, amount: int, most: int, at: int) -> Pace:
    """Return the pace after an event of so many runs was put off until an instant; `most`: see `most_made`."""
    each = max(_RUN_MS, -(-MINUTE_MS // most) if most else 0)
    return evolve(pace, put_off_until=at + amount * each)
