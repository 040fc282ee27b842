"""The row of a limiter: its bounds, the attempts that have its places, its turns, and who waits in its lines."""

from dataclasses import dataclass, fields
from typing import Self

from timeball.domain.model.ids import LimiterKey, RunId, Shards
from timeball.domain.model.runs.run import Part


@dataclass(frozen=True)
class Bounds:
    """At most so many `places` at once, and `per_second` turns, of which `burst` may be at once; None: no bound."""

    places: int | None = None
    per_second: float | None = None
    burst: int | None = None

    def over(self, others: "Bounds") -> Self:
        """Return these, with the others where they say nothing."""
        return type(self)(
            **{
                one.name: getattr(others, one.name) if (own := getattr(self, one.name)) is None else own
                for one in fields(self)
            }
        )


@dataclass(frozen=True)
class Begun:
    """A run that has a place, for its next attempt while it is not claimed. `revision` is its row's, as it was read.

    A claim is refused if the row has another revision by then. One that is not written by `until` (ms) is overdue.
    """

    run: RunId
    attempt: int
    until: int
    revision: int = 0


@dataclass(frozen=True)
class Turns:
    """When the next turn would be, if no burst is left (ms), and up to when runs were called."""

    free_at: float = 0
    called_to: float = 0


@dataclass(frozen=True)
class Fixed:
    """Bounds that a person has set: they hold whatever jobs say. `version` counts the changes."""

    bounds: Bounds = Bounds()
    version: int = 1


@dataclass(frozen=True)
class Limiter:
    """Who has a place, the turns, and whether others wait.

    `said` are the bounds as the run has them that asked last; its rate is the slowest that a run has stated lately,
    at last at `rate_said_at`. In a line that is known to have somebody, `lines`, all
    others get behind. `joined_at` is when somebody lined up last.
    """

    key: LimiterKey
    shard: int
    said: Bounds = Bounds()
    fixed: Fixed = Fixed()
    begun: tuple[Begun, ...] = ()
    turns: Turns = Turns()
    lines: tuple[Part, ...] = ()
    joined_at: int = 0
    rate_said_at: int = 0
    due_at: int | None = None
    revision: int = 1

    @property
    def bounds(self) -> Bounds:
        """What holds."""
        return self.fixed.bounds.over(self.said)


def new_limiter(key: LimiterKey, shards: Shards, said: Bounds = Bounds()) -> Limiter:
    """Return the limiter of a key that nobody has asked for yet."""
    return Limiter(key, shards.of(key), said)
