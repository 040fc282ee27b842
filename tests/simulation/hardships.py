"""The hardships of stories. Each affects a share of the stories, and draws from its own stream.

So a new hardship does not change stories without it.
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
    """The hardships of the story of a seed."""

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
        """Whether queues refuse some messages of a batch and accept the others."""
        return self._comes("the refused sends", 0.2)

    @property
    def has_lagging_lines(self) -> bool:
        """Whether the index of lines lags."""
        return self._comes("the lagging lines", 0.4)

    @property
    def has_old_reads(self) -> bool:
        """Whether eventually consistent reads sometimes return an older row."""
        return self._comes("the old reads", 0.2)

    @property
    def has_hot_rows(self) -> bool:
        """Whether writes of one row at a time are throttled for a while."""
        return self._comes("the hot rows", 0.2)

    @property
    def has_short_pages(self) -> bool:
        """Whether rows always fill more than a page."""
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
        """Whether jobs change their limiters and limits, and a person changes the bounds of limiters and tenants."""
        return self._comes("the changed limits", 0.4)

    @property
    def has_terms(self) -> bool:
        """Whether invocations of executors have deadlines, and successors."""
        return self._comes("the terms", 0.2)

    @property
    def has_submit_budgets(self) -> bool:
        """Whether the quotas of tenants also bound what they create."""
        return self._comes("the intakes", 0.3)

    @property
    def has_two_settings(self) -> bool:
        """Whether some processes have other settings than others, as during a deployment."""
        return self._comes("the two settings", 0.2)

    @property
    def has_two_releases(self) -> bool:
        """Whether half of the processes write rows in the shapes of another release, which is rolled back and forth."""
        return self._comes("the two releases", 0.1)

    @property
    def has_fewer_shards(self) -> bool:
        """Whether the settings of scans have one shard, as in a deployment with fewer shards than the one before."""
        return self._comes("the fewer shards", 0.3)

    @property
    def has_standby(self) -> bool:
        """Whether a superseded loop of the ticker stands by, and ticks on if the newer loop is silent."""
        return self._comes("the standby", 0.2)

    @property
    def has_expiries(self) -> bool:
        """Whether rows expire after a while without use: those of limiters and unique keys."""
        return self._comes("the expiries", 0.3)

    @property
    def chunk(self) -> int:
        """How many jobs a scan dispatches together: in some stories few, so that chunks of a scan run in parallel."""
        return 2 if self._comes("the small chunks", 0.2) else CHUNK
