"""Counts by tenant and hour: each process keeps them in memory, and adds them to the stored ones from time to time.

An update for each run would cost as much as the run's own writes. So a process adds its counts at the end of an
invocation: at once the first time, then at most once in FLUSH_MS, with one write for each tenant and priority that it
has seen since. Invariant: nothing is counted twice. Counts are lost if the process ends before it adds them, or if the
write that adds them gets no answer.
"""

import asyncio
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.hours import HourKey, bucket_of, hour_of
from timeball.engine.execution.invocation import Offload
from timeball.engine.objective.short_counts import short_name
from timeball.ports.clock import Clock
from timeball.ports.counters import Usage
from timeball.ports.telemetry import Measurement, Telemetry

log = logging.getLogger(__name__)

FLUSH_MS: Final = 30 * SECOND_MS


class Tally:
    """Telemetry that passes events on and adds them up until it is flushed."""

    def __init__(self, clock: Clock, beside: Telemetry) -> None:
        self._clock, self._beside = clock, beside
        self._lock = threading.Lock()
        self._hours: defaultdict[HourKey, Counter[str]] = defaultdict(Counter)
        self._flush_at = 0

    def note(self, events: Sequence[Measurement]) -> None:
        """Pass on the events that people watch, and count those that belong to a tenant."""
        self._beside.note([event for event in events if event.watched])
        now = self._clock.now()
        hour = hour_of(now)
        with self._lock:
            for event in events:
                if not event.counted:
                    continue
                counts = self._hours[HourKey(event.tenant, hour, event.subject)]
                amount = 1 if event.is_timing else event.value
                counts[_counted_as(event)] += amount
                if (name := short_name(event, now)) is not None:
                    counts[name] += amount

    def flush(self, usage: Usage) -> None:
        """Add the counts to the stored ones, unless that was done just now. Never raises."""
        now = self._clock.now()
        with self._lock:
            if now < self._flush_at or not self._hours:
                return
            sums, self._hours, self._flush_at = [*self._hours.items()], defaultdict(Counter), now + FLUSH_MS
        try:
            unknown = usage.add(sums, now).count(False)
        except Exception:
            log.exception("counts are lost", extra={"hours": len(sums)})
            return
        if unknown:
            log.warning("counts are lost", extra={"hours": unknown})


async def flush_on(clock: Clock, flush: Callable[[], object], offload: Offload = asyncio.to_thread) -> None:
    """Flush repeatedly until cancelled, in an invocation that may last for many minutes.

    Order of writes of record (usage of runs):

    1. Add this process's counts to its tenants' hours, at the end of an invocation and at most every 30 s.

    Safe: it is never repeated: an hour may lack counts, and has none twice. A run's cost is the growth of its row (ADR
    29).
    """
    while True:
        await clock.sleep_until(clock.now() + FLUSH_MS)
        await offload(flush)


def _counted_as(event: Measurement) -> str:
    detail = str(bucket_of(event.value)) if event.is_timing else event.reason
    return f"{event.name}.{detail}" if detail else event.name
