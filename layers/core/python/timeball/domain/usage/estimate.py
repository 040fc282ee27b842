"""How many there are, told from a part of them: what is counted lies in strata, and each is a fair sample.

Which stratum something is in depends on a hash of its name alone, so the share of each stratum is known. They are
counted one after the other, the smallest first, for as long as that is cheap; once all are, the count is exact. An
estimate never drifts: it is made anew from what is there, and nothing is written for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot, sqrt

from timeball.domain.model.jobs.among import Among

MOST_COUNTED = 4_000
"""About how many rows are counted at most, once the smallest stratum is."""


@dataclass(frozen=True)
class Estimate:
    """How many there are, and the standard error of that; 0: it is exact."""

    count: int
    standard_error: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether nothing was left uncounted."""
        return self.standard_error == 0


@dataclass(frozen=True)
class JobCounts:
    """How many jobs there are in all, and of each part of them."""

    in_all: Estimate
    parts: Mapping[Among, Estimate]

    @property
    def completed(self) -> Estimate:
        """How many are of no part."""
        others = self.parts.values()
        left = self.in_all.count - sum(one.count for one in others)
        return Estimate(max(0, left), hypot(self.in_all.standard_error, *(one.standard_error for one in others)))


def goes_on(counted: int, share: float, following: float) -> bool:
    """Say whether the stratum that follows is counted too, once so many were found in a share of all."""
    return counted / share * (share + following) <= MOST_COUNTED


def estimated(counted: int, share: float) -> Estimate:
    """Return how many there are, of which so many were found in a share of all (1: everywhere)."""
    if share >= 1:
        return Estimate(counted)
    return Estimate(round(counted / share), sqrt(counted * (1 - share)) / share)


def parted(whole: Estimate, looked_at: int, found: int) -> tuple[Estimate, Estimate]:
    """Return how many of all have a property that `found` of a fair sample have, and how many have it not."""
    if whole.is_exact and looked_at == whole.count:
        return Estimate(found), Estimate(looked_at - found)
    part = found / looked_at
    likely = (found + 1) / (looked_at + 2)  # of a sample that shows none it is not certain that there are none
    of_sample = whole.count * sqrt(likely * (1 - likely) / looked_at)
    having = round(whole.count * part)
    return (
        Estimate(having, hypot(of_sample, part * whole.standard_error)),
        Estimate(whole.count - having, hypot(of_sample, (1 - part) * whole.standard_error)),
    )
