"""A stage's settings, and the units of its table with the keys of the due index placed as on one day."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from bench.scale.limits import MEASURED, PARTITION_READS, PARTITION_WRITES, Cpu
from bench.scale.placement import MEDIAN, PROMISED, fullest_of_table, partitions_of, placements
from bench.scale.units import Bounds, Table
from infra.settings import PREFIX, Settings
from infra.warmth import ready_for
from timeball.aws.dynamodb.table import schema

_TABLE_UNITS, _INDEX_UNITS = 4, 2
"""The write units of a recurring run."""


@dataclass(frozen=True)
class Deployment:
    """A simulated deployment: the settings of a stage, and those that are changed."""

    stage: str
    """The name of the stage."""
    parts: int = 1
    """The simulated part is one of so many equal parts."""
    is_warm: bool = True
    """Whether executors have started and their mappings are raised, as after a while of such a load."""
    changed: tuple[tuple[str, int], ...] = ()
    """Settings that differ from the stage's, as in the context of a deployment."""
    cpu: Cpu = MEASURED
    """The processor time of a run."""
    rank: int = PROMISED
    """Which of the thousand placements of the index's keys is played; the fullest is the last."""

    def told(self) -> dict[str, object]:
        """Return what figures depend on: the stage, the changed settings, and its settings as they are today."""
        settings = self.settings
        return {
            "stage": self.stage,
            "raised": dict(self.changed),
            "parts": self.parts,
            "warm": self.is_warm,
            "rank": self.rank,
            "cpu_ms": [self.cpu.scan_ms, self.cpu.execute_ms],
            "partitions": settings.partitions,
            "shards": settings.functions.rules.shards,
            "executors": settings.execute_concurrency,
            "scan_mb": settings.scan_memory_mb,
            "executor_mb": settings.functions.execute_memory_mb,
            "runs_per_message": settings.functions.rules.runs_per_message,
            "pollers": settings.pollers,
            "raised_pollers": settings.raised_pollers,
            "warm_runs_per_second": settings.warm_runs_per_second,
        }

    @property
    def settings(self) -> Settings:
        """Return the settings of the whole deployment."""
        return Settings.read(
            {f"{PREFIX}stage": self.stage} | {f"{PREFIX}{name}": value for name, value in self.changed}
        )


def index_partitions(settings: Settings) -> int:
    """Return how many partitions the due index has."""
    units = ready_for(schema.DUE.name, settings.warm_runs_per_second)
    return partitions_of(units.writes, units.reads)


def table_partitions(settings: Settings) -> int:
    """Return how many partitions the jobs table has."""
    units = ready_for(schema.JOBS.name, settings.warm_runs_per_second)
    return partitions_of(units.writes, units.reads)


def arithmetic(deployment: Deployment, rate: int) -> dict[str, Any]:
    """Return the load of a rate on the fullest partition of the index, over a thousand days, and of the table."""
    settings = deployment.settings
    days = placements(settings.functions.rules.shards, index_partitions(settings))
    at = {"median": days[MEDIAN], "999": days[PROMISED], "worst": days[-1]}
    of_table = fullest_of_table(table_partitions(settings))
    return {
        "deployment": deployment.told(),
        "rate": rate,
        "index_partitions": index_partitions(settings),
        "table_partitions": table_partitions(settings),
        "index_units": {name: round(_INDEX_UNITS * rate * day.fullest) for name, day in at.items()},
        "highest": {name: int(PARTITION_WRITES / _INDEX_UNITS / day.fullest) for name, day in at.items()},
        "days_kept": sum(_INDEX_UNITS * rate * day.fullest <= PARTITION_WRITES for day in days),
        "table_units": round(_TABLE_UNITS * rate * of_table),
        "highest_of_table": int(PARTITION_WRITES / _TABLE_UNITS / of_table),
    }


def table_of(deployment: Deployment) -> Table:
    """Return the table of a part of a deployment, and its due index.

    All shards share the partitions of the index. So the part has a sample of the shards, from those of the fullest
    partition to those of the emptiest, and of each partition the share that its shards would get there. The part's
    table has so many partitions that each gets as many jobs as in the whole.
    """
    settings, part = deployment.settings, 1 / deployment.parts
    rows, index = (ready_for(name, settings.warm_runs_per_second) for name in (schema.JOBS.name, schema.DUE.name))
    placement = placements(settings.functions.rules.shards, index_partitions(settings))[deployment.rank]
    of_shard = [placement.of_shard[shard] for shard in placement.sample(deployment.parts)]
    own, of_all = Counter(of_shard), placement.keys()
    shares = [own[one] / of_all[one] if of_all[one] else 0 for one in range(len(placement.shares))]
    count = max(1, round(table_partitions(settings) * part))
    return Table(
        Bounds(rows.writes * part, rows.reads * part, [rows.writes * part / count] * count),
        Bounds(
            index.writes * part,
            index.reads * part,
            [PARTITION_WRITES * share for share in shares],
            [PARTITION_READS * share for share in shares],
        ),
        of_shard,
    )
