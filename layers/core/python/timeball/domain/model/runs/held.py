"""The gates that held a run before its first attempt: for how long, and when the run could start at last.

A gate is what a run must pass once its start has come: its parents, limits of its keys, quotas of its tenant, the
overlap lock, the circuit of its host, and the pauses and freezes of its job. Lateness counts from `until`.
"""

from dataclasses import dataclass
from typing import Literal

from timeball.domain.model.evolve import evolve

Gate = Literal["parents", "limits", "quota", "overlap", "circuit", "frozen"]


@dataclass(frozen=True)
class Held:
    """How long (ms) each gate held a run; `until` is the latest of its start, jitter included, and the last gate's end.

    0 in `until` says that neither jitter nor a gate moved the start. A run that `is_extra` was caught up, or was asked
    for again before it began: its lateness means nothing.
    """

    until: int = 0
    parents: int = 0
    limits: int = 0
    quota: int = 0
    overlap: int = 0
    circuit: int = 0
    frozen: int = 0
    is_extra: bool = False

    def by(self, gate: Gate, until: int) -> "Held":
        """Return it with a gate that held the run until an instant: longer than all before, or not at all."""
        if until <= self.until:
            return self
        return evolve(self, until=until, **{gate: getattr(self, gate) + until - self.until})

    @property
    def at_work_ms(self) -> int:
        """How long gates held it that a job meets at work, and not a pause or a freeze."""
        return self.parents + self.limits + self.quota + self.overlap + self.circuit


FREE = Held()
