"""How many runs a second the scan of one partition moves on, by the processor time of a run.

By its share of a processor alone; and in the model, where it waits for the table and the queues, too. The table's units
are no bound here.
"""

from collections.abc import Mapping
from dataclasses import replace

from bench.scale.cases import Case, Wave
from bench.scale.limits import MEASURED, PROCESSOR_MEGABYTES
from bench.scale.outcome import play
from bench.scale.stack import SCAN_MB, Deployment
from timeball.domain.time.instants import SECOND_MS

CPU_MS = (0.6, 0.4, 0.2, 0.1)
"""Processor time of a run, beside what was measured of the last release."""

_RUNS = 3_000
_PARTITIONS = 16
_UNBOUNDED = (("warm_runs_per_second", 100_000),)


def scan_rate(scan_ms: float) -> Mapping[str, float]:
    """Return both rates (runs a second), of a spike that one partition of `large` scans."""
    cpu = replace(MEASURED, scan_ms=scan_ms)
    deployment = Deployment("large", parts=_PARTITIONS, is_warm=False, changed=_UNBOUNDED, cpu=cpu)
    outcome = play(Case("", deployment, (Wave(_RUNS * _PARTITIONS),), 30))
    by_processor = SECOND_MS * SCAN_MB / PROCESSOR_MEGABYTES / scan_ms
    return {"cpu_ms": scan_ms, "by_processor": round(by_processor), "in_model": round(outcome.sent_a_second())}
