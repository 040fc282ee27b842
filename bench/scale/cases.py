"""The cases: a deployment, and which of its jobs are due when.

Jobs recur, belong to twenty tenants, and have the priority `normal`, which has a third of the executors. Jobs that are
not due are left out: a query of the due index starts at the due ones, so millions of others cost a scan nothing (`make
bench` counts that).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from bench.scale.deployment import Deployment
from bench.scale.placement import DAYS, MEDIAN
from tests.engine.play import WORK
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards, shard_of
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.time.instants import HOUR_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import Every, Schedule

BEGINS_AT = parse_instant("2026-11-21T09:00:00Z")
_TENANTS = 20
_HOURLY = 3_600


@dataclass(frozen=True)
class Wave:
    """Jobs that fire on whole seconds, `a_second` of them in each second of a stretch, every `period` seconds.

    The jobs of a spike, which lasts one second, fire each hour, and so once here.
    """

    a_second: int
    from_second: int = 0
    seconds: int = 1
    period: int = 10
    shard: int | None = None


@dataclass(frozen=True)
class Case:
    """A simulated case: how long nothing is due at first, and how long after the last fire it ends at the latest."""

    name: str
    deployment: Deployment
    waves: tuple[Wave, ...]
    patience_seconds: int = 120
    quiet_seconds: int = 12

    @property
    def first_at(self) -> int:
        """Return the first instant (ms), before which nothing is due."""
        return BEGINS_AT + self.quiet_seconds * SECOND_MS


def stored_by(case: Case, shards: int, part: float) -> Iterator[tuple[Job, list[RunId]]]:
    """Yield the jobs of a part of a deployment, as stored an hour ago, each with its expected runs."""
    for number, wave in enumerate(case.waves):
        first_at = case.first_at + wave.from_second * SECOND_MS
        last_at = first_at + (wave.seconds - 1) * SECOND_MS
        for phase in range(min(wave.period, wave.seconds)):
            anchor_at = first_at + phase * SECOND_MS
            is_spike = wave.seconds == 1
            every, until = (_HOURLY, None) if is_spike else (wave.period, last_at)
            schedule = Schedule(Every(every, anchor_at), anchor_at, until)
            fires = range(anchor_at, last_at + 1, wave.period * SECOND_MS)
            for one in range(round(wave.a_second * part)):
                key = JobKey(f"tenant-{one % _TENANTS}", f"{number}-{phase}-{one}")
                if wave.shard is not None:
                    key = _of_shard(key, wave.shard, shards)
                job = new_job(JobSpec(key, schedule, WORK, key.job_id), BEGINS_AT - HOUR_MS, Shards(shards))
                yield job, [RunId(key, fire_at, Origin.SCHEDULE) for fire_at in fires]


def _of_shard(key: JobKey, shard: int, shards: int) -> JobKey:
    """Return the first key with this prefix that belongs to the shard."""
    tries = (JobKey(key.tenant, f"{key.job_id}-{number}") for number in count())
    return next(one for one in tries if shard_of(one, shards) == shard)


_LARGE = Deployment("large", parts=8)
_LARGE_COLD = Deployment("large", parts=8, is_warm=False)
_SMALL = Deployment("small")
_SMALL_COLD = Deployment("small", is_warm=False)
RAISED = Deployment(
    "large",
    parts=8,
    is_warm=False,
    changed=(
        ("partitions", 16),
        ("execute_concurrency", 4000),
        ("account_concurrency", 5400),
        ("raised_pollers", 400),
        ("lookahead_seconds", 12),
        ("lead_seconds", 9),
        ("warm_runs_per_second", 40_000),
    ),
)
"""The stage `large`, raised for a hundred thousand runs in one second."""


def _an_hour(seconds: int) -> tuple[Wave, ...]:
    """Return ten million a day: 116 a second, five times as many each minute, ten times as many each five minutes."""
    base = Wave(116, 0, seconds, 60)
    minutes = tuple(Wave(580, second, 5, 5) for second in range(30, seconds - 5, 60))
    return base, *minutes, *(Wave(1_160, second, 5, 5) for second in range(60, seconds - 5, 300))


QUIET_FOR_POLLERS = 330
"""More than the five minutes of the scan's look-ahead for pollers."""

PROMISED_SMALL, PROMISED_LARGE = 400, 6_000
"""Runs a second that a stage sustains on 999 of 1,000 days, wherever the keys of its due index are placed."""

CASES = (
    Case("6,000 a second for a minute", _LARGE, (Wave(PROMISED_LARGE, 0, 60),)),
    Case("the same after quiet, 20 seconds", _LARGE_COLD, (Wave(PROMISED_LARGE, 0, 20),)),
    Case("100,000 in one second, of ten million jobs", RAISED, (Wave(100_000),), quiet_seconds=QUIET_FOR_POLLERS),
    Case("an hour of ten million a day, with peaks", _LARGE_COLD, _an_hour(3_600)),
    Case("two minutes of it", _SMALL_COLD, _an_hour(120)),
    Case("400 a second for a minute", _SMALL, (Wave(PROMISED_SMALL, 0, 60),)),
    Case("1,000 in one second, after quiet", _SMALL_COLD, (Wave(1_000),)),
    Case("4,000 in one second, all of one shard", _SMALL, (Wave(4_000, shard=0),)),
)

STAGES = (_SMALL_COLD, _LARGE_COLD, RAISED)
"""The deployments whose capacity is determined."""

_RANKS = (MEDIAN, *range(DAYS - 5, DAYS))
PLACED = tuple(
    Case(f"day {rank + 1:,} of {DAYS:,}", replace(deployment, parts=1, rank=rank), (Wave(rate, 0, seconds),))
    for deployment, rate, seconds in ((_SMALL, PROMISED_SMALL, 10), (_LARGE, PROMISED_LARGE, 5))
    for rank in _RANKS
)
"""The promised rates, played whole with the keys placed as on a median day, and as on the five worst days."""
