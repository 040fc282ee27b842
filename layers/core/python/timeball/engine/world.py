"""What every verb of the engine is handed: the ports, and the settings that decisions need."""

from dataclasses import dataclass

from timeball.domain.claim import ClaimRules
from timeball.domain.host import HostRules
from timeball.domain.instants import SECOND_MS
from timeball.ports.clock import Clock
from timeball.ports.meter import Meter
from timeball.ports.queue import Queue
from timeball.ports.store import Store


@dataclass(frozen=True)
class Rules:
    """The engine's settings, with the defaults of the documentation. Durations are whole seconds."""

    shards: int = 4
    lookahead_seconds: int = 5
    lead_seconds: int = 3
    misfire_seconds: int = 60
    lease_seconds: int = 30
    heartbeat_seconds: int = 10
    lease_margin_seconds: int = 5
    host_failures: int = 5
    host_rest_seconds: int = 30
    host_retries_per_second: int = 10
    running_backfills: int = 10

    @property
    def lookahead_ms(self) -> int:
        """How far ahead of its due time a run is sent."""
        return self.lookahead_seconds * SECOND_MS

    @property
    def lead_ms(self) -> int:
        """How long before its run's instant a message comes to an executor, at the least: it may start cold."""
        return self.lead_seconds * SECOND_MS

    @property
    def early_ms(self) -> int:
        """How long before its run's instant a message may come whose sender's clock is off."""
        return self.lead_ms + SECOND_MS + self.margin_ms

    @property
    def misfire_ms(self) -> int:
        """How late a fire counts as missed."""
        return self.misfire_seconds * SECOND_MS

    @property
    def lease_ms(self) -> int:
        """How long a claim holds unless it is renewed."""
        return self.lease_seconds * SECOND_MS

    @property
    def margin_ms(self) -> int:
        """How long before its lease's end a worker stops, and how long after it another may begin."""
        return self.lease_margin_seconds * SECOND_MS

    @property
    def claim(self) -> ClaimRules:
        """What the claim takes from these settings."""
        return ClaimRules(self.early_ms, self.misfire_ms, self.margin_ms)

    @property
    def hosts(self) -> HostRules:
        """What the breaker takes from these settings."""
        return HostRules(
            failures=self.host_failures,
            rest_ms=self.host_rest_seconds * SECOND_MS,
            retries_per_second=self.host_retries_per_second,
            burst=2 * self.host_retries_per_second,
        )


@dataclass(frozen=True)
class Unmetered:
    """Counts nothing."""

    def count(self, name: str, value: int, reason: str) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class World:
    """The store, the queue, the clock, the rules, and where counts go."""

    store: Store
    queue: Queue
    clock: Clock
    rules: Rules = Rules()
    meter: Meter = Unmetered()
