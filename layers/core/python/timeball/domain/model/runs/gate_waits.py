"""How long each gate held a run before its first attempt, and when the run could start at last.

A run passes its gates once its start has come: its parents, its concurrency and rate limits, its tenant's quotas, the
overlap lock, the circuit of its resource, and the pauses and freezes of its job. Lateness counts from `until`.
"""

from dataclasses import dataclass
from typing import Literal

from timeball.domain.model.evolve import evolve

Gate = Literal["parents", "limits", "quota", "overlap", "circuit", "frozen"]


@dataclass(frozen=True)
class GateWaits:
    """How long each gate held a run. Durations are in ms."""

    until: int = 0
    """The later of its start, jitter included, and the end of its last gate (ms); 0: neither moved the start."""
    parents: int = 0
    """How long it waited for its parents."""
    limits: int = 0
    """How long its concurrency or rate limit held it."""
    quota: int = 0
    """How long a quota of its tenant held it."""
    overlap: int = 0
    """How long it waited for the overlap lock."""
    circuit: int = 0
    """How long an open circuit held it."""
    frozen: int = 0
    """How long a pause or a freeze held it."""
    is_extra: bool = False
    """It was caught up, or asked for again before it began: its lateness means nothing."""

    def by(self, gate: Gate, until: int) -> "GateWaits":
        """Return the account with a gate that held the run until an instant (ms), as far as no earlier gate did."""
        if until <= self.until:
            return self
        return evolve(self, until=until, **{gate: getattr(self, gate) + until - self.until})

    @property
    def at_work_ms(self) -> int:
        """How long gates held it that occur while a job is active, so neither a pause nor a freeze."""
        return self.parents + self.limits + self.quota + self.overlap + self.circuit


NO_WAITS = GateWaits()
