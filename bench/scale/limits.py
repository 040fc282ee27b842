"""The figures of the model: limits and prices that AWS documents, assumed times, and measurements.

All figures about AWS are in this file, each with its kind: *documented* (us-east-1, 2026-11), *assumed* (AWS promises
no latencies), or *measured* (a command prints it).
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist

PARTITION_WRITES, PARTITION_READS = 1_000, 3_000
"""Documented: units a second of one partition of a table or an index, however warm it is.

Keys are hashed onto partitions. The model saves up no unused units, and splits no partition for its load, which
DynamoDB may do.
"""

POLLERS_BEGIN_WITH, POLLERS_GAIN_A_SECOND = 5, 5.0
"""Documented: a queue's mapping hands out five batches at a time, and 300 more for each minute of backlog."""

BATCHES_OF_A_POLLER, PROVISIONED_GAIN_A_SECOND = 10, 1_000 / 60
"""Documented: a provisioned poller hands out ten batches at a time; beyond the minimum, 1,000 more a minute."""

MAPPING_HEEDS_MS = 60_000
"""Assumed: how long after a raise a mapping begins to gain pollers; AWS does not document it."""

POLLS_OF_A_POLLER = 10
"""Documented: requests a second of a provisioned poller."""

POLLER_HOUR_DOLLARS = 0.00925
"""Documented: a provisioned poller's price."""

MESSAGES_OF_A_REQUEST = 10
"""Documented: for SQS, and for a batch that its mapping hands out without gathering."""

NEW_ENVIRONMENTS_AT_ONCE, NEW_ENVIRONMENTS_A_SECOND = 1_000, 100.0
"""Documented: 1,000 in ten seconds for each function."""

PROCESSOR_MEGABYTES = 1_769
"""Documented: the memory with which a function has one processor; less memory has a share of it; more is not used."""

MAKE_ENVIRONMENT_MS = (300, 1_000)
"""Assumed: median and 99th percentile; AWS says: up to a second."""

START_CPU_MS = {"scan": 350, "execute": 450}
"""Measured: the time to load and connect a function, over TLS (docs/reference/aws.md)."""

LATER_SHARE, LATER_TIMES = 0.001, 20
"""Assumed: one request of a thousand takes twenty times as long."""

REQUESTS_AT_ONCE = 20
"""Threads of a process (runtime/wiring.py)."""


@dataclass(frozen=True)
class Times:
    """A log-normal distribution of times: its median and its 99th percentile, in ms."""

    median_ms: float
    p99_ms: float

    def draw(self, random: Random) -> float:
        """Return one time (ms); one of a thousand is twenty times as long."""
        sigma = math.log(self.p99_ms / self.median_ms) / _OF_99
        later = LATER_TIMES if random.random() < LATER_SHARE else 1
        return self.median_ms * math.exp(random.gauss(0, sigma)) * later


_OF_99 = NormalDist().inv_cdf(0.99)

READ, WRITE, QUERY = Times(5, 25), Times(12, 50), Times(6, 30)
"""Assumed: a read of up to 100 rows, a batch of 25 conditional writes, a query of the due index."""
QUEUE = Times(12, 80)
"""Assumed: a request to SQS."""
POLL = Times(30, 150)
"""Assumed: from a message that can be received, with a free poller, to the call of its function."""
INVOKE = Times(15, 80)
"""Assumed: from a state of the ticker to the first line of a warm scan, and back."""
TARGET = Times(200, 600)
"""Assumed: a webhook."""


@dataclass(frozen=True)
class Cpu:
    """Measured, by `make bench`: processor time of one run on one whole processor, in ms."""

    scan_ms: float
    execute_ms: float


_RELEASE = json.loads((Path(__file__).parents[1] / "baseline.json").read_text(encoding="utf-8"))

MEASURED = Cpu(_RELEASE["scan_cpu_ms_per_run"], _RELEASE["execute_cpu_ms_per_run"])
"""The measurement of `make bench` for the last release: a burst of runs with the real handlers."""
