"""Which waiting runs get a place in an executor: tenants share its places by weight, and priorities come in order.

Each tenant may hold its weight times a level. The level is as high as the places allow if a tenant that comes next
finds as many free as one of weight 1 may hold. So one tenant alone fills half of the places, two a third each, and n of
weight 1 leave the n+1st part free: a tenant that holds none finds one, however many calls of others hang. Tenants get
the places that others do not want. Nothing is preempted, nothing is shared between executors, and nothing is written.

While runs of a higher priority wait, a tenant gets no more for a lower one than that priority's minimum.

Invariant: a run never waits for one of a lower priority, except while that priority holds less than its minimum.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PLACES = 100
"""How many runs an executor holds at once. A call that is waited for needs a socket and some kilobytes."""

MINIMUMS = (0, 15, 5)
"""How many of a hundred places `high`, `normal` and `low` get before all others: together a fifth of an executor."""

LOWEST = len(MINIMUMS) - 1

_MUCH = 30
"""Of so many messages in flight on, SQS may let others go first."""

_MORE = 3
"""While a queue has more, tenants are taken to want so many times what they have here."""

Holder = tuple[str, int]
"""A tenant, and the rank of a priority: 0 is `high`, 1 `normal`, 2 `low`."""

_NO_WEIGHTS: Mapping[str, int] = {}


@dataclass(frozen=True)
class Asking:
    """A message that waits for places: whose it is, the rank of its priority, and how many runs it names."""

    tenant: str
    rank: int = 0
    runs: int = 1


def level(
    held: Mapping[str, int], wanted: Mapping[str, int], weights: Mapping[str, int] = _NO_WEIGHTS, places: int = PLACES
) -> float:
    """Return how many places a tenant of weight 1 may hold, if tenants hold so many, and want so many in all."""
    lowest, highest = 0.0, float(places)
    for _ in range(14):
        middle = (lowest + highest) / 2
        taken = sum(max(held.get(one, 0), min(many, weights.get(one, 1) * middle)) for one, many in wanted.items())
        lowest, highest = (middle, highest) if taken + middle <= places else (lowest, middle)
    return highest


def placed(
    held: Mapping[Holder, int],
    asking: Sequence[Asking],
    weights: Mapping[str, int] = _NO_WEIGHTS,
    places: int = PLACES,
    late: int = LOWEST,
    *,
    more: bool = False,
) -> list[bool]:
    """Say of each message that asks whether its runs get places: by priority, then the tenant first that holds least.

    A priority that holds less than its minimum comes before all others, also beyond its tenant's share. Among equals
    the order is that in which they ask. `late` is the rank of the highest priority of which runs wait too long. With
    `more` these are some of those that wait, and tenants share as if the others were alike.
    """
    free = places - sum(held.values())
    of_tenant, of_rank, of_holder = Counter[str](), Counter[int](), Counter(held)
    for (tenant, rank), count in held.items():
        of_tenant[tenant] += count
        of_rank[rank] += count
    wanted = of_tenant + _runs(asking)
    if wanted.total() <= places // 2 and late == LOWEST:
        return [True] * len(asking)
    minimums = [minimum * places // PLACES for minimum in MINIMUMS]
    highest = level(of_tenant, _times(_MORE, wanted) if more else wanted, weights, places)
    shares = {tenant: max(1, int(weights.get(tenant, 1) * highest)) for tenant in wanted}
    lines: dict[Holder, list[int]] = {}
    for number in range(len(asking) - 1, -1, -1):
        lines.setdefault((asking[number].tenant, asking[number].rank), []).append(number)
    answers = [False] * len(asking)

    def is_open(line: Holder) -> bool:
        tenant, rank = line
        if of_rank[rank] < minimums[rank]:
            return True
        return of_tenant[tenant] < shares[tenant] and (rank <= late or of_holder[line] < minimums[rank])

    def order(line: Holder) -> tuple[bool, int, float, int]:
        tenant, rank = line
        is_above_minimum = of_rank[rank] >= minimums[rank]
        return is_above_minimum, rank, of_tenant[tenant] / weights.get(tenant, 1), lines[line][-1]

    while lines:
        open_to = [line for line, numbers in lines.items() if asking[numbers[-1]].runs <= free and is_open(line)]
        if not open_to:
            break
        tenant, rank = chosen = min(open_to, key=order)
        number = lines[chosen].pop()
        answers[number] = True
        runs = asking[number].runs
        free -= runs
        of_tenant[tenant] += runs
        of_rank[rank] += runs
        of_holder[chosen] += runs
        if not lines[chosen]:
            del lines[chosen]
    return answers


def room_for_others(held: Mapping[str, int], places: int = PLACES) -> int:
    """Return how many more runs get a place for sure, if they are of no tenant that holds much by now.

    Its messages come after all others of its queue, which is fair.
    """
    most = max((count for count in held.values() if count < _MUCH), default=0)
    return max(0, places - sum(held.values()) - most + 1) // 2


def room_for_alike(held: Mapping[str, int], weights: Mapping[str, int] = _NO_WEIGHTS, places: int = PLACES) -> int:
    """Return how many more runs get a place if tenants share in them as they do in what is held.

    Runs of a tenant beyond its share do not count: others have room beside them.
    """
    if not held:
        return places
    highest = level({}, _times(_MORE, held), weights, places)
    counted = {tenant: min(count, weights.get(tenant, 1) * highest) for tenant, count in held.items()}
    total, most = sum(counted.values()), max(count / weights.get(tenant, 1) for tenant, count in counted.items())
    return int(max(0, (places - total - most) * total // (total + most)))


def room_for_any(held: Mapping[str, int], weights: Mapping[str, int] = _NO_WEIGHTS, places: int = PLACES) -> int:
    """Return how many more runs get a place, even if all of them are of the tenant that has the most of its share."""
    if not held:
        return places
    most = max(held, key=lambda tenant: held[tenant] / weights.get(tenant, 1))
    wanted = {**_times(_MORE, held), most: places}
    share = int(weights.get(most, 1) * level(held, wanted, weights, places))
    return max(0, min(places - sum(held.values()), share - held[most]))


def _times(factor: int, counts: Mapping[str, int]) -> dict[str, int]:
    return {tenant: factor * count for tenant, count in counts.items()}


def _runs(asking: Iterable[Asking]) -> Counter[str]:
    found = Counter[str]()
    for one in asking:
        found[one.tenant] += one.runs
    return found
