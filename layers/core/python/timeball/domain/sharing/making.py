"""The pace at which the runs that events and fan-outs ask for are made: in pages, so that no tenant delays the others.

A process makes the runs of one tenant at a bounded pace, and those of a tenant with a quota within that quota. Further
runs are put off and never dropped.
"""

from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.quotas import Quotas
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

PAGE: Final = 100
"""The most runs of a tenant that are made together."""
MOST_OF_A_REQUEST: Final = 100_000
"""The most runs that one request may ask for."""

_RUN_MS: Final = 10
"""The average time between two runs of one tenant that a process makes: a hundred a second."""
_AHEAD_MS: Final = 3 * SECOND_MS
"""How far a tenant may be ahead of that pace: a few hundred runs are made at once."""


@dataclass(frozen=True)
class Pace:
    """The pace of one tenant in a process."""

    made_until: int = 0
    """Until when the runs count that were made (ms)."""
    put_off_until: int = 0
    """Until when the runs count that were put off (ms)."""

    def is_ahead(self, now: int) -> bool:
        """Say whether so many runs were made lately that other tenants come first."""
        return self.made_until > now + _AHEAD_MS


def most_made(quotas: Quotas) -> int:
    """Return how many runs events and fan-outs may make in a minute: no more than may begin in one. 0: no bound."""
    bounds = (quotas.runs_created_per_minute or 0, (quotas.runs_per_second or 0) * 60)
    return min(filter(None, bounds), default=0)


def page_of(most: int) -> int:
    """Return how many runs are made together under a quota of a minute: a small part of it, so that each finds room."""
    return min(PAGE, max(most // 4, 1)) if most else PAGE


def with_made(pace: Pace, amount: int, now: int) -> Pace:
    """Return the pace after more runs were made."""
    return evolve(pace, made_until=max(pace.made_until, now) + amount * _RUN_MS)


def with_put_off(pace: Pace, amount: int, most: int, now: int) -> Pace:
    """Return the pace after more runs were put off, to follow those that were put off before."""
    each = max(_RUN_MS, MINUTE_MS // most if most else 0)
    return evolve(pace, put_off_until=max(pace.put_off_until, pace.made_until, now) + amount * each)
