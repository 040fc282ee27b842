"""The patterns of events that a tenant has. All tenants share the rules of one bus, and each pattern needs a rule.

Invariant: a pattern is named here before its rule is made, and is dropped after its rule has gone. So a tenant never
has more rules than patterns that are named here, wherever a process dies.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.time.instants import MINUTE_MS

YOUNG_MS: Final = MINUTE_MS
"""Longer than a request lives: what was noted so lately may be about to be used."""


@dataclass(frozen=True)
class NotedPattern:
    """A pattern, by its digest, and when a request noted it last."""

    digest: str
    noted_at: int


@dataclass(frozen=True)
class Patterns:
    """The patterns of a tenant, and when its rules were last checked for jobs that need them (0: never)."""

    tenant: str
    noted: tuple[NotedPattern, ...] = ()
    checked_at: int = 0
    revision: int = 1

    def old(self, now: int) -> list[str]:
        """Return the patterns that no request is about to use for the first time."""
        return [one.digest for one in self.noted if one.noted_at <= now - YOUNG_MS]


def with_pattern(patterns: Patterns, digest: str, most: int, now: int) -> Patterns | None:
    """Return the patterns of a tenant with one that is noted now; None: it has as many others as it may (0: any)."""
    others = tuple(one for one in patterns.noted if one.digest != digest)
    return None if most and len(others) >= most else evolve(patterns, noted=(*others, NotedPattern(digest, now)))


def without(patterns: Patterns, gone: Collection[str]) -> Patterns:
    """Return the patterns of a tenant without those that have no rule any more."""
    return evolve(patterns, noted=tuple(one for one in patterns.noted if one.digest not in gone))
