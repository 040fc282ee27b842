"""How many jobs a tenant may still create: counted down at each, and reckoned anew where it would be over.

Jobs end without a word to anybody, so what is left is too little as time goes on, and never too much for long: before a
tenant is refused, its jobs are counted. That count is of the index, which lags, so it is of those that are older than
GRACE_MS; what was taken since then counts whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

GRACE_MS: Final = 3 * SECOND_MS
"""How long after its request a job is sure to be in the index."""

_COUNTED_PER_SECOND: Final = 10_000
_KEPT_MS: Final = MINUTE_MS


@dataclass(frozen=True)
class Intake:
    """What a tenant took lately, by the second (the instant at which it began, in ms), and what is left.

    What was taken `beside` is a part of that: it does not count against all that the tenant may have, as events do not.
    `left` is of the quota `most`, as it was reckoned at `counted_at` (0: never) and counted down since.
    """

    tenant: str
    taken: Mapping[int, int] = field(default_factory=dict)
    beside: Mapping[int, int] = field(default_factory=dict)
    most: int = 0
    left: int = 0
    counted_at: int = 0


@dataclass(frozen=True)
class Taking:
    """Jobs that a tenant is about to create at an instant (ms), and its quotas of a second and of all; 0: no bound."""

    tenant: str
    amount: int
    at: int
    per_second: int
    active: int

    @property
    def second(self) -> int:
        """The instant at which its second began."""
        return self.at - self.at % SECOND_MS


def is_refused(intake: Intake, taking: Taking) -> bool:
    """Say whether so many more would be too many for their second."""
    return bool(taking.per_second) and intake.taken.get(taking.second, 0) + taking.amount > taking.per_second


def may_count(intake: Intake, most: int, now: int) -> bool:
    """Say whether a tenant's jobs are to be counted: not again at once, and the later the more there are."""
    return intake.most != most or now >= intake.counted_at + SECOND_MS + most * SECOND_MS // _COUNTED_PER_SECOND


def counted_until(now: int) -> int:
    """Return the instant before which jobs were created that are counted."""
    return now - now % SECOND_MS - GRACE_MS


def reckoned(intake: Intake, counted: int, most: int, now: int) -> Intake:
    """Return what is left if so many jobs have not ended of those that are older than `counted_until`."""
    recent = [second for second in intake.taken if second >= counted_until(now)]
    since = sum(intake.taken[second] - intake.beside.get(second, 0) for second in recent)
    return evolve(intake, most=most, left=max(most - counted - since, 0), counted_at=now)


def outdated(intake: Intake, at: int) -> list[int]:
    """Return the seconds of which nobody asks any more."""
    return [second for second in intake.taken if second <= at - _KEPT_MS]
