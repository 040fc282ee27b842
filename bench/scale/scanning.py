"""The runs a second that the scan of one partition dispatches, by the processor time of a run.

One rate follows from its share of a processor alone; the other is from the model, where the scan also waits for the
table and the queues. The table's units are unbounded here.
"""

from collections.abc import Mapping
from dataclasses import replace

from bench.scale.cases import Case, Wave
from bench.scale.deployment import Deployment
from bench.scale.limits import MEASURED, PROCESSOR_MEGABYTES
from bench.scale.outcome import play
from timeball.domain.time.instants import SECOND_MS

CPU_MS = (0.6, 0.4, 0.2, 0.1)
"""Processor times of a run, besides the measurement of the last release."""

_RUNS = 18_000
_ALONE = (("partitions", 1), ("shards", 40), ("warm_runs_per_second", 100_000))
"""One scan loop with as many shards as each loop of `large`, and a table without bounds."""


def scan_rate(scan_ms: float) -> Mapping[str, float]:
    """Return both rates (runs a second) for a spike that one scan loop of `large` scans."""
    cpu = replace(MEASURED, scan_ms=scan_ms)
    deployment = Deployment("large", is_warm=False, changed=_ALONE, cpu=cpu, rank=0)
    outcome = play(Case("", deployment, (Wave(_RUNS),), 30))
    megabytes = min(deployment.settings.scan_memory_mb, PROCESSOR_MEGABYTES)
    by_processor = SECOND_MS * megabytes / PROCESSOR_MEGABYTES / scan_ms
    return {"cpu_ms": scan_ms, "by_processor": round(by_processor), "in_model": round(outcome.sent_a_second())}
