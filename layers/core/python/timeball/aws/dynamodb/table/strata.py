"""The strata of the listing: shards of one size, and beside them two small ones, from which the whole can be estimated.

What is listed stands in the stratum of its place, a hash of its name in [0, 1), and moves there to no other. The strata
are ranges of places, so each is a fair sample of all, and in their order they hold the least places first. Standing in
a small one costs no write more than standing in a large one.
"""

from dataclasses import dataclass
from functools import cache

from timeball.domain.model.ids import fraction_of

_SAMPLES = (4_096, 128)
"""One in so many stands in the first stratum; one in so many in the first two."""


@dataclass(frozen=True)
class Stratum:
    """A part of what a tenant has in a state: its name within a key, and which places are in it."""

    name: str
    first: float
    end: float

    @property
    def share(self) -> float:
        """Which part of all is in it."""
        return self.end - self.first


@cache
def strata(shards: int) -> tuple[Stratum, ...]:
    """Return the strata, the least places first: the samples, then so many shards."""
    ends = [1 / one_in for one_in in _SAMPLES]
    samples = [
        Stratum(f"1/{one_in}", first, end) for one_in, first, end in zip(_SAMPLES, [0, *ends], ends, strict=False)
    ]
    bounds = [ends[-1] + (1 - ends[-1]) * shard / shards for shard in range(shards)]
    large = [
        Stratum(f"{shard:04d}", first, end)
        for shard, (first, end) in enumerate(zip(bounds, [*bounds[1:], 1.0], strict=True))
    ]
    return (*samples, *large)


def stratum_of(tenant: str, name: str, shards: int) -> str:
    """Return the name of the stratum in which something of a tenant stands."""
    place = place_of(tenant, name)
    return next(one.name for one in strata(shards) if place < one.end)


def place_of(tenant: str, name: str) -> float:
    """Return the place of what a tenant calls so."""
    return fraction_of("listed", tenant, name)
