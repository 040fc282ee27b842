"""The order of tenants' items: tenants alternate in rounds, so that no tenant waits for everything another has stored.

A tenant of weight 2 has two items in a round where a tenant of weight 1 has one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

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
