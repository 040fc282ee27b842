"""Who goes first: the tenants take turns, so that nobody waits behind all that another has stored.

Who has weight 2 has two turns while one of weight 1 has one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

_Item = TypeVar("_Item")

_NO_WEIGHTS: Mapping[str, int] = {}


def in_turns(
    items: Iterable[_Item], tenant_of: Callable[[_Item], str], weights: Mapping[str, int] = _NO_WEIGHTS
) -> list[_Item]:
    """Return the first of each tenant, then the second of each, and so on; otherwise in the order that was given.

    Of a tenant of weight n (1 if nothing is said), so many come while one comes of a tenant of weight 1.
    """
    met: Counter[str] = Counter()
    turns: list[tuple[float, _Item]] = []
    for item in items:
        tenant = tenant_of(item)
        turns.append((met[tenant] / weights.get(tenant, 1), item))
        met[tenant] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]


def next_in_share(waiting: Iterable[str], held: Mapping[str, int], free: int) -> str | None:
    """Return the tenant that gets one of `free` things now: of those that wait the one that holds least.

    None if each of them holds as many as are free. So one tenant alone takes half of all, n tenants leave the n+1st
    part free, and a tenant that comes next finds one, however long the others hold on.
    """
    tenant = min(waiting, key=lambda one: held.get(one, 0), default=None)
    return None if tenant is None or held.get(tenant, 0) >= free else tenant


def share_of(whole: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divide a whole among tenants by their weights, rounded up: each gets one at the least."""
    total = sum(weights.values())
    return {tenant: -(-whole * weight // total) for tenant, weight in weights.items()}
