"""Capacity: which waiting runs an executor accepts. Tenants share its capacity by weight, and priorities come in order.

Each tenant may hold its weight times a level. The level is as high as the capacity allows if the next tenant still
finds as much free as a tenant of weight 1 may hold. So a single tenant fills half of the capacity, two tenants a third
each, and n tenants of weight 1 leave the n+1st part free: a tenant that holds nothing finds room, however many calls of
others hang. Tenants get the capacity that others do not want. Nothing is preempted, nothing is shared between
executors, and nothing is written.

While runs of a higher priority wait, a tenant gets no more for a lower one than that lower priority's minimum.

Invariant: a run never waits for a run of a lower priority, except while that priority holds less than its minimum.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CAPACITY = 100
"""How many runs an executor holds at once. A call that is under way needs a socket and some kilobytes."""

MINIMUMS = (0, 15, 5)
"""How much of a capacity of a hundred `high`, `normal` and `low` get before all others: together a fifth of an
executor."""

LOWEST = len(MINIMUMS) - 1

_MUCH = 30
"""With this many messages of a tenant in flight, SQS may serve other tenants first."""

_MORE = 3
"""While a queue has more messages, tenants are assumed to want this many times what they have here."""

Holder = tuple[str, int]
"""A tenant, and the rank of a priority: 0 is `high`, 1 `normal`, 2 `low`."""

_NO_WEIGHTS: Mapping[str, int] = {}


@dataclass(frozen=True)
class Asking:
    """A message that asks for capacity."""

    tenant: str
    """The tenant of its runs."""
    rank: int = 0
    """The rank of their priority; see `Holder`."""
    runs: int = 1
    """How many runs it names."""


def level(
    held: Mapping[str, int],
    wanted: Mapping[str, int],
    weights: Mapping[str, int] = _NO_WEIGHTS,
    capacity: int = CAPACITY,
) -> float:
    """Return how many runs a tenant of weight 1 may hold, given what each tenant holds, and what it wants in all."""
    lowest, highest = 0.0, float(capacity)
    for _ in range(14):
        middle = (lowest + highest) / 2
        taken = sum(max(held.get(one, 0), min(many, weights.get(one, 1) * middle)) for one, many in wanted.items())
        lowest, highest = (middle, highest) if taken + middle <= capacity else (lowest, middle)
    return highest


def granted(
    held: Mapping[Holder, int],
    asking: Sequence[Asking],
    weights: Mapping[str, int] = _NO_WEIGHTS,
    capacity: int = CAPACITY,
    late: int = LOWEST,
    *,
    more: bool = False,
) -> list[bool]:
    """Say for each message whether its runs are accepted: by priority, then the tenant that holds least.

    A priority that holds less than its minimum comes before all others, even beyond its tenant's share. Equals are
    ordered as they ask. `late` is the rank of the highest priority whose runs wait too long. With `more`, the messages
    are a sample of the waiting ones, and tenants share as if the others were alike.
    """
    of_tenant, of_rank = _sums_of(held)
    wanted = of_tenant + _runs(asking)
    if wanted.total() <= capacity // 2 and late == LOWEST:
        return [True] * len(asking)
    minimums = [minimum * capacity // CAPACITY for minimum in MINIMUMS]
    highest = level(of_tenant, _times(_MORE, wanted) if more else wanted, weights, capacity)
    shares = {tenant: max(1, int(weights.get(tenant, 1) * highest)) for tenant in wanted}
    taken = _Taken(of_tenant, of_rank, Counter(held), minimums, shares, weights, late)
    free = capacity - sum(held.values())
    lines = _lines(asking)
    answers = [False] * len(asking)
    while (chosen := _next_line(lines, asking, taken, free)) is not None:
        number = lines[chosen].pop()
        answers[number] = True
        free -= asking[number].runs
        taken.add(chosen, asking[number].runs)
        if not lines[chosen]:
            del lines[chosen]
    return answers


def _next_line(
    lines: Mapping[Holder, Sequence[int]], asking: Sequence[Asking], taken: "_Taken", free: int
) -> Holder | None:
    """Return the holder whose first message is accepted next; None if none fits."""
    fitting = [line for line, numbers in lines.items() if asking[numbers[-1]].runs <= free and taken.is_open(line)]
    return min(fitting, key=lambda line: (*taken.order(line), lines[line][-1]), default=None)


def _lines(asking: Sequence[Asking]) -> dict[Holder, list[int]]:
    """Return the numbers of each holder's messages, the first one last."""
    lines: dict[Holder, list[int]] = {}
    for number in range(len(asking) - 1, -1, -1):
        lines.setdefault((asking[number].tenant, asking[number].rank), []).append(number)
    return lines


@dataclass
class _Taken:
    """The capacity that tenants and priorities hold while an executor accepts messages, and their bounds."""

    of_tenant: Counter[str]
    of_rank: Counter[int]
    of_holder: Counter[Holder]
    minimums: Sequence[int]
    shares: Mapping[str, int]
    weights: Mapping[str, int]
    late: int

    def is_open(self, line: Holder) -> bool:
        """Say whether a tenant's runs of a priority may be accepted."""
        tenant, rank = line
        if self.of_rank[rank] < self.minimums[rank]:
            return True
        is_in_order = rank <= self.late or self.of_holder[line] < self.minimums[rank]
        return is_in_order and self.of_tenant[tenant] < self.shares[tenant]

    def order(self, line: Holder) -> tuple[bool, int, float]:
        """Return the sort key of a tenant's runs of a priority: the lowest comes first."""
        tenant, rank = line
        is_above_minimum = self.of_rank[rank] >= self.minimums[rank]
        return is_above_minimum, rank, self.of_tenant[tenant] / self.weights.get(tenant, 1)

    def add(self, line: Holder, runs: int) -> None:
        """Count accepted runs."""
        tenant, rank = line
        self.of_tenant[tenant] += runs
        self.of_rank[rank] += runs
        self.of_holder[line] += runs


def room_for_others(held: Mapping[str, int], capacity: int = CAPACITY) -> int:
    """Return how many more runs are certainly accepted if they belong to tenants that hold little by now.

    A tenant that holds much comes after all others in its queue, so its messages do not count.
    """
    most = max((count for count in held.values() if count < _MUCH), default=0)
    return max(0, capacity - sum(held.values()) - most + 1) // 2


def room_for_alike(held: Mapping[str, int], weights: Mapping[str, int] = _NO_WEIGHTS, capacity: int = CAPACITY) -> int:
    """Return how many more runs are accepted if tenants share in them as they share in what is held.

    Runs of a tenant beyond its share do not count: others have room beside them.
    """
    if not held:
        return capacity
    highest = level({}, _times(_MORE, held), weights, capacity)
    counted = {tenant: min(count, weights.get(tenant, 1) * highest) for tenant, count in held.items()}
    total, most = sum(counted.values()), max(count / weights.get(tenant, 1) for tenant, count in counted.items())
    return int(max(0, (capacity - total - most) * total // (total + most)))


def room_for_any(held: Mapping[str, int], weights: Mapping[str, int] = _NO_WEIGHTS, capacity: int = CAPACITY) -> int:
    """Return how many more runs are accepted, even if all belong to the tenant that has the most of its share."""
    if not held:
        return capacity
    most = max(held, key=lambda tenant: held[tenant] / weights.get(tenant, 1))
    wanted = {**_times(_MORE, held), most: capacity}
    share = int(weights.get(most, 1) * level(held, wanted, weights, capacity))
    return max(0, min(capacity - sum(held.values()), share - held[most]))


def _times(factor: int, counts: Mapping[str, int]) -> dict[str, int]:
    return {tenant: factor * count for tenant, count in counts.items()}


def _runs(asking: Iterable[Asking]) -> Counter[str]:
    found = Counter[str]()
    for one in asking:
        found[one.tenant] += one.runs
    return found


def _sums_of(held: Mapping[Holder, int]) -> tuple[Counter[str], Counter[int]]:
    """Return how much each tenant holds, and how much each priority."""
    of_tenant, of_rank = Counter[str](), Counter[int]()
    for (tenant, rank), count in held.items():
        of_tenant[tenant] += count
        of_rank[rank] += count
    return of_tenant, of_rank
