"""The hardships of stories: each comes in a share of the stories, and draws from a stream of its own.

So a new hardship changes no story that is without it.
"""

from dataclasses import dataclass, replace
from random import Random

from timeball.engine.context import Rules
from timeball.engine.scanning.scan import CHUNK

_OTHERS = {
    "lookahead_seconds": 8,
    "lease_seconds": 45,
    "heartbeat_seconds": 5,
    "host_failures": 5,
    "lead_seconds": 4,
    "few_lead_ms": 1750,
}
"""Settings in which two versions of a deployment may differ."""


@dataclass(frozen=True)
class Hardships:
    """Which hardships the story of a seed has."""

    seed: int

    def settings_of(self, process: str, rules: Rules) -> Rules:
        """Return the settings of a process: in some stories half of the processes have those of another version."""
        if self.has_fewer_shards and process.startswith("scanner-"):
            rules = replace(rules, shards=1)
        is_other = Random(f"the settings of {process} of {self.seed}").random() < 0.5
        return replace(rules, **_OTHERS) if self.has_two_settings and is_other else rules

    def longest_lookahead_ms(self, rules: Rules) -> int:
        """Return the longest look-ahead of any process."""
        return replace(rules, **_OTHERS).lookahead_ms if self.has_two_settings else rules.lookahead_ms

    def _comes(self, what: str, share: float) -> bool:
        return Random(f"whether {what} of {self.seed}").random() < share

    @property
    def has_refused_sends(self) -> bool:
        """Whether queues refuse some messages of a batch and take the others."""
        return self._comes("the refused sends", 0.2)

    @property
    def has_lagging_lines(self) -> bool:
        """Whether the index of lines lags."""
        return self._comes("the lagging lines", 0.4)

    @property
    def has_old_reads(self) -> bool:
        """Whether an eventually consistent read answers with an older row now and then."""
        return self._comes("the old reads", 0.2)

    @property
    def has_hot_rows(self) -> bool:
        """Whether writes of one row at a time are throttled for a while."""
        return self._comes("the hot rows", 0.2)

    @property
    def has_short_pages(self) -> bool:
        """Whether there is always more than a page of rows."""
        return self._comes("the short pages", 0.2)

    @property
    def has_flaky_bus(self) -> bool:
        """Whether the bus refuses, loses and doubles events."""
        return self._comes("the flaky bus", 0.5)

    @property
    def has_few_made(self) -> bool:
        """Whether quotas bound how many runs events and items make in a minute."""
        return self._comes("the few made", 0.3)

    @property
    def has_changed_limits(self) -> bool:
        """Whether jobs change the keys that they name and the limits, and a person those of keys and tenants."""
        return self._comes("the changed limits", 0.4)

    @property
    def has_terms(self) -> bool:
        """Whether invocations of executors have deadlines, and successors."""
        return self._comes("the terms", 0.2)

    @property
    def has_intakes(self) -> bool:
        """Whether quotas bound, where tenants have some, what they create too."""
        return self._comes("the intakes", 0.3)

    @property
    def has_two_settings(self) -> bool:
        """Whether some processes have other settings than others, as during a deployment."""
        return self._comes("the two settings", 0.2)

    @property
    def has_fewer_shards(self) -> bool:
        """Whether the settings of scans say one shard, as of a deployment with fewer than the one before."""
        return self._comes("the fewer shards", 0.3)

    @property
    def has_standby(self) -> bool:
        """Whether a loop of the ticker that is superseded stands by, and ticks on if the newer one is silent."""
        return self._comes("the standby", 0.2)

    @property
    def has_expiries(self) -> bool:
        """Whether rows that are unused for a while expire: those of keys and unique keys."""
        return self._comes("the expiries", 0.3)

    @property
    def chunk(self) -> int:
        """How many jobs a scan dispatches together: in some stories few, so that chunks of a scan run side by side."""
        return 2 if self._comes("the small chunks", 0.2) else CHUNK
