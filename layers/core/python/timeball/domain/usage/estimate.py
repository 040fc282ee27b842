"""Estimates of how many rows there are, from a part of them: rows lie in strata, and each stratum is a fair sample.

The stratum of a row depends on a hash of its name alone, so the share of each stratum is known. The strata are counted
one after the other, the smallest first, for as long as that is cheap; after all are counted, the count is exact. An
estimate never drifts: it is computed anew from the rows, and nothing is written for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot, sqrt

from timeball.domain.model.jobs.among import Among

MOST_COUNTED = 4_000
"""About how many rows are counted at most, after the smallest stratum."""


@dataclass(frozen=True)
class Estimate:
    """An estimated count."""

    count: int
    """How many there are."""
    standard_error: float = 0.0
    """The standard error of the count; 0: it is exact."""

    @property
    def is_exact(self) -> bool:
        """Whether everything was counted."""
        return self.standard_error == 0


@dataclass(frozen=True)
class JobCounts:
    """The number of a tenant's jobs."""

    in_all: Estimate
    """All jobs."""
    parts: Mapping[Among, Estimate]
    """The jobs of each part."""

    @property
    def completed(self) -> Estimate:
        """The completed jobs, which belong to no part."""
        others = self.parts.values()
        left = self.in_all.count - sum(one.count for one in others)
        return Estimate(max(0, left), hypot(self.in_all.standard_error, *(one.standard_error for one in others)))


def goes_on(counted: int, share: float, following: float) -> bool:
    """Say whether the stratum that follows is counted too, after `counted` rows were found in a share of all."""
    return counted / share * (share + following) <= MOST_COUNTED


def estimated(counted: int, share: float) -> Estimate:
    """Return the estimate from `counted` rows found in a share of all (1: everywhere)."""
    if share >= 1:
        return Estimate(counted)
    return Estimate(round(counted / share), sqrt(counted * (1 - share)) / share)


def parted(whole: Estimate, looked_at: int, found: int) -> tuple[Estimate, Estimate]:
    """Return how many of all have a property that `found` of a fair sample have, and how many do not have it."""
    if whole.is_exact and looked_at == whole.count:
        return Estimate(found), Estimate(looked_at - found)
    part = found / looked_at
    likely = (found + 1) / (looked_at + 2)  # a sample without any does not prove that there are none
    of_sample = whole.count * sqrt(likely * (1 - likely) / looked_at)
    having = round(whole.count * part)
    return (
        Estimate(having, hypot(of_sample, part * whole.standard_error)),
        Estimate(whole.count - having, hypot(of_sample, (1 - part) * whole.standard_error)),
    )
