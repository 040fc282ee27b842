"""The strata of the listing: shards of equal size, and two small strata from which the whole can be estimated.

An entry belongs to a stratum by a hash of its name in [0, 1), and never moves to another. The strata are ranges of
hashes, so each is a fair sample of all, and in their order they hold the lowest hashes first. An entry in a small
stratum costs no more writes than one in a large stratum.
"""

from dataclasses import dataclass
from functools import cache

from timeball.domain.model.ids import fraction_of

_SAMPLES = (4_096, 128)
"""One in 4,096 entries is in the first stratum, and one in 128 in the first two."""


@dataclass(frozen=True)
class Stratum:
    """A part of a tenant's entries in a state: its name within a key, and its range of hashes."""

    name: str
    first: float
    end: float

    @property
    def share(self) -> float:
        """The part of all entries that is in it."""
        return self.end - self.first


@cache
def strata(shards: int) -> tuple[Stratum, ...]:
    """Return the strata, the lowest hashes first: the samples, then `shards` shards."""
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
    """Return the name of the stratum of an entry of a tenant."""
    position = position_of(tenant, name)
    return next(one.name for one in strata(shards) if position < one.end)


def position_of(tenant: str, name: str) -> float:
    """Return the hash, in [0, 1), of a tenant's entry."""
    return fraction_of("listed", tenant, name)
