"""The row of a limiter: its bounds, the attempts that hold its slots, its rate tokens, its lines of waiting runs."""

from dataclasses import dataclass, fields
from typing import Self

from timeball.domain.model.ids import LimiterKey, RunId, Shards
from timeball.domain.model.runs.run import Permit


@dataclass(frozen=True)
class Bounds:
    """What a limiter allows."""

    slots: int | None = None
    """How many runs may hold a slot at once; None: no bound."""
    per_second: float | None = None
    """How many rate tokens there are in a second; None: no bound."""
    burst: int | None = None
    """How many rate tokens may be taken at once; None: one."""

    def over(self, others: "Bounds") -> Self:
        """Return these bounds, with the other bounds where these set none."""
        return type(self)(
            **{
                one.name: getattr(others, one.name) if (own := getattr(self, one.name)) is None else own
                for one in fields(self)
            }
        )


@dataclass(frozen=True)
class Begun:
    """A run that holds a slot: one under way, or one whose next attempt is about to be claimed."""

    run: RunId
    """The run."""
    attempt: int
    """The number of the attempt that the slot was given for."""
    until: int
    """When a claim that is not written yet counts as overdue (ms)."""
    revision: int = 0
    """The revision of the run's row as it was read; its claim is refused if the row has another one by then."""


@dataclass(frozen=True)
class RateTokens:
    """How far the rate tokens are used up."""

    free_at: float = 0
    """When the next token would come if no burst were left (ms)."""
    admitted_to: float = 0
    """The instant (ms) up to which tokens are assigned to waiting runs that were admitted."""


@dataclass(frozen=True)
class Fixed:
    """Bounds that a person has set: they take precedence over what jobs state."""

    bounds: Bounds = Bounds()
    """The bounds that were set."""
    version: int = 1
    """Counts the changes."""


@dataclass(frozen=True)
class Limiter:
    """One row: which runs hold slots, how far the rate tokens are used up, and whether other runs wait."""

    key: LimiterKey
    """The tenant, and the name of the limit; an empty name means the tenant's quotas."""
    shard: int
    """Its shard in the due index."""
    said: Bounds = Bounds()
    """The bounds of the run that asked last; the rate is the slowest that a run has stated lately."""
    fixed: Fixed = Fixed()
    """The bounds that a person has set."""
    begun: tuple[Begun, ...] = ()
    """The runs that hold its slots."""
    tokens: RateTokens = RateTokens()
    """How far its rate tokens are used up."""
    lines: tuple[Permit, ...] = ()
    """The lines that are known to have waiting runs: all other runs join them at the end."""
    joined_at: int = 0
    """When a run last joined a line (ms)."""
    rate_said_at: int = 0
    """When the rate of `said` was last stated (ms)."""
    due_at: int | None = None
    """When waiting runs must be admitted (ms); None: none wait."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def bounds(self) -> Bounds:
        """The bounds in force."""
        return self.fixed.bounds.over(self.said)


def new_limiter(key: LimiterKey, shards: Shards, said: Bounds = Bounds()) -> Limiter:
    """Return the limiter of a key that no run has asked for yet."""
    return Limiter(key, shards.of(key), said)
