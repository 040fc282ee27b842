"""Metrics of scans: what the scans of this process did, recorded together every few seconds.

A line of the log for each scan would cost as much as the scan. The counts of up to ten seconds are lost if the process
ends. Ticks are recorded although nothing is due, because an alarm needs to see that they go on.

A partition that is not scanned cannot say so. The scans of the partition before it do.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.metrics import Metric
from timeball.engine.scanning.scan import ScanResult
from timeball.ports.errors import UnavailableError
from timeball.ports.telemetry import Measurement

EVERY_MS: Final = 10 * SECOND_MS
SILENT_MS: Final = 30 * SECOND_MS
"""After how long without a noted tick a partition is silent."""


@dataclass
class Pulse:
    """The scans of this process since they were last recorded."""

    next_at: int = 0
    """When they are recorded next (ms)."""
    backlogs: int = 0
    """How many left work to the next one."""
    took_ms: list[int] = field(default_factory=list)
    """How long each took."""
    overdue_ms: Counter[str] = field(default_factory=Counter)
    """The longest that anything was overdue, by priority."""

    def note(self, context: Context, done: ScanResult, began_at: int, partition: int = 0, partitions: int = 1) -> None:
        """Note a scan that began at an instant (ms), unless its owner was superseded; record all from time to time."""
        now = context.clock.now()
        if not done.superseded:
            self.took_ms.append(now - began_at)
            self.backlogs += done.backlog
            self.overdue_ms |= Counter(done.overdue_ms)
        if self.took_ms and now >= self.next_at:
            context.telemetry.note(self._events())
            if partitions > 1 and _is_silent(context, (partition + 1) % partitions, now):
                context.telemetry.note([Measurement(Metric.PARTITIONS_SILENT, "", "", 1, counted=False)])
            self.next_at, self.backlogs = now + EVERY_MS, 0
            self.took_ms, self.overdue_ms = [], Counter()

    def _events(self) -> list[Measurement]:
        return [
            Measurement(Metric.TICKS, "", "", len(self.took_ms), counted=False),
            Measurement(Metric.SCAN_BACKLOG, "", "", self.backlogs, counted=False),
            *(Measurement(Metric.SCAN_MS, "", "", ms, is_timing=True, counted=False) for ms in self.took_ms),
            *(
                Measurement(Metric.OLDEST_DUE, "", priority, ms, is_timing=True, counted=False)
                for priority, ms in self.overdue_ms.items()
            ),
        ]


def _is_silent(context: Context, partition: int, now: int) -> bool:
    """Return whether a partition has not ticked for SILENT_MS; False if the store does not say."""
    with suppress(UnavailableError):
        ticked_at = context.store.partitions.last_tick(partition)
        return ticked_at is None or now > ticked_at + SILENT_MS
    return False
