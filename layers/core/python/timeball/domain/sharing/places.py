"""Who gets a place in an executor: a tenant takes one while it holds fewer there than are free.

So one tenant alone fills half of the places, two a third each, and n leave the n+1st part free: whoever holds none
finds one, however many calls of others hang. Nothing is shared between executors, and nothing is written.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

PLACES = 100
"""How many runs an executor holds at once. A call that is waited for needs a socket and some kilobytes."""

_MUCH = 30
"""Of so many messages in flight on, SQS may let others go first."""


def room_for_others(held: Mapping[str, int], places: int = PLACES) -> int:
    """Return how many more runs get a place for sure, but for those of a tenant that holds much by now.

    Its messages come after all others of its queue, which is fair.
    """
    most = max((count for count in held.values() if count < _MUCH), default=0)
    return max(0, places - sum(held.values()) - most + 1) // 2


def room_for_alike(held: Mapping[str, int], places: int = PLACES) -> int:
    """Return how many more runs get a place if tenants share in them as they do in what is held."""
    total, most = sum(held.values()), max(held.values(), default=0)
    return max(0, (places - total - most) * total // (total + most)) if total else places


def placed(held: Mapping[str, int], asking: Sequence[str], places: int = PLACES) -> list[bool]:
    """Say of the tenants that ask, one for each run, whether each gets a place, in their order."""
    holding, answers = Counter(held), []
    for tenant in asking:
        has_place = holding[tenant] < places - holding.total()
        holding[tenant] += has_place
        answers.append(has_place)
    return answers
