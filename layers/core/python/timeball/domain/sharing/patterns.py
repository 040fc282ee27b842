"""The event patterns of a tenant. All tenants share the rules of one bus, and each pattern needs a rule.

Invariant: a pattern is named here before its rule is made, and is dropped after its rule is gone. So a tenant never has
more rules than patterns that are named here, wherever a process dies.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.time.instants import MINUTE_MS

YOUNG_MS: Final = MINUTE_MS
"""Longer than a request lives: a pattern that was noted this recently may be about to be used."""


@dataclass(frozen=True)
class NotedPattern:
    """A pattern of a tenant."""

    digest: str
    """The digest of the pattern."""
    noted_at: int
    """When a request last noted it (ms)."""


@dataclass(frozen=True)
class Patterns:
    """The patterns of a tenant."""

    tenant: str
    """The tenant."""
    noted: tuple[NotedPattern, ...] = ()
    """The patterns."""
    checked_at: int = 0
    """When the rules were last checked for jobs that need them (ms); 0: never."""
    revision: int = 1
    """Counts the writes of the row."""

    def old(self, now: int) -> list[str]:
        """Return the patterns that no request is about to use for the first time."""
        return [one.digest for one in self.noted if one.noted_at <= now - YOUNG_MS]


def with_pattern(patterns: Patterns, digest: str, most: int, now: int) -> Patterns | None:
    """Return a tenant's patterns with one that is noted now; None: there are `most` others already (0: no bound)."""
    others = tuple(one for one in patterns.noted if one.digest != digest)
    return None if most and len(others) >= most else evolve(patterns, noted=(*others, NotedPattern(digest, now)))


def without(patterns: Patterns, gone: Collection[str]) -> Patterns:
    """Return a tenant's patterns without those that have no rule any more."""
    return evolve(patterns, noted=tuple(one for one in patterns.noted if one.digest not in gone))
