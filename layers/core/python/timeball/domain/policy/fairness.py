"""Who goes first: the tenants take turns, so that nobody waits behind all that another has stored."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")


def in_turns(items: Iterable[_Item], tenant_of: Callable[[_Item], str]) -> list[_Item]:
    """Return the first of each tenant, then the second of each, and so on; otherwise in the order that was given."""
    met: Counter[str] = Counter()
    turns: list[tuple[int, _Item]] = []
    for item in items:
        tenant = tenant_of(item)
        turns.append((met[tenant], item))
        met[tenant] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]
