"""Jobs and dead letters are counted if they are few and estimated if they are many, with a bounded number of reads."""

import math
from dataclasses import replace
from random import Random
from statistics import mean
from typing import Any, cast

import pytest

from tests.contract.backends import client, moto, new_table
from tests.contract.rows import NOW, job, run
from timeball.aws.dynamodb.listing import Listing
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.keys import job_key, list_key, list_partition
from timeball.aws.dynamodb.table.listing_shards import strata, stratum_of
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import LISTING, Index
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.run import RunState
from timeball.domain.usage.spending import MOST_COUNTED, Estimate
from timeball.ports.store import Store

SHARDS = 4
DRAWS = 300
STATUSES = [JobStatus.PENDING, JobStatus.PAUSED, JobStatus.COMPLETED]


def test_the_jobs_of_a_small_tenant_are_counted_one_by_one(store: Store) -> None:
    jobs = [replace(job(f"job-{n}"), status=STATUSES[n // 5], due_at=None) for n in range(15)]
    other = with_spec(job("job-0"), key=JobKey("other", "job-0"))
    assert store.jobs.insert([*jobs, other], NOW) == [None] * 16
    counts, nothing = store.jobs.count("acme"), store.jobs.count("nobody")
    assert (counts.in_all, counts.parts[Among.OPEN], counts.completed) == (Estimate(15), Estimate(10), Estimate(5))
    assert (nothing.in_all, nothing.completed, *nothing.parts.values()) == (Estimate(0),) * 6


def test_dead_letters_are_counted_until_they_are_discarded(store: Store) -> None:
    ids = [RunId(JobKey(tenant, "job"), NOW + n, Origin.SCHEDULE) for tenant in ("acme", "other") for n in range(3)]
    died = [replace(run(), id=one, state=RunState.FAILED, finished_at=NOW, due_at=None) for one in ids]
    discarded = replace(died[0], discarded_at=NOW + 1)
    store.runs.insert([discarded, *died[1:]], NOW)
    assert [store.runs.count_dead_letters(tenant) for tenant in ("acme", "other", "nobody")] == [
        Estimate(2),
        Estimate(3),
        Estimate(0),
    ]


def test_a_sample_has_open_jobs_and_is_the_same_at_every_draw(store: Store) -> None:
    jobs = [replace(job(f"job-{n}"), status=STATUSES[n % 3], due_at=None) for n in range(60)]
    store.jobs.insert(jobs, NOW)
    are_open = {row.key for row in jobs if row.status is not JobStatus.COMPLETED}
    drawn = store.jobs.sample_open("acme", 7)
    assert [key.job_id for key in drawn] == ["job-4", "job-57", "job-27", "job-13", "job-0", "job-43", "job-3"]
    assert set(store.jobs.sample_open("acme", 100)) == are_open


def test_a_count_asks_for_each_stratum_once_and_reads_no_rows() -> None:
    with moto():
        dynamodb = client("dynamodb")
        store = dynamo_store(dynamodb, new_table(dynamodb))
        store.jobs.insert([replace(job(f"job-{n}"), due_at=None) for n in range(10)], NOW)
        asked: list[dict[str, Any]] = []
        dynamodb.meta.events.register("provide-client-params.dynamodb", lambda params, **_: asked.append(params))
        assert store.jobs.count("acme").parts[Among.OPEN] == Estimate(10)
    assert len(asked) == (1 + len(Among)) * (SHARDS + 2)
    assert {(request["IndexName"], request["Select"]) for request in asked} == {
        ("listing", "COUNT"),
        ("by_state", "COUNT"),
    }


class Strata:
    """A reader that knows the number of rows in each partition, and records the requests."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts
        self.counted: list[int] = []

    def count(self, index: Index, partition: str) -> int:
        assert index is LISTING
        self.counted.append(self._counts.get(partition, 0))
        return self.counted[-1]


def drawn(jobs: int, random: Random) -> Strata:
    """Distribute pending jobs over the strata; a large number is drawn at random instead of hashed."""
    if jobs <= 5_000:
        names = (str(random.random()) for _ in range(jobs))
        found = [list_partition("acme", "open", stratum_of("acme", name, SHARDS)) for name in names]
        return Strata({partition: found.count(partition) for partition in set(found)})
    counts, left, rest = {}, jobs, 1.0
    for stratum in strata(SHARDS):
        part = min(1.0, stratum.share / rest)
        count = round(random.gauss(left * part, math.sqrt(left * part * (1 - part)))) if part < 1 else left
        counts[list_partition("acme", "open", stratum.name)] = count
        left, rest = left - count, rest - stratum.share
    return Strata(counts)


def _random(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - a draw that is the same each time


def told(reader: Strata) -> Estimate:
    return Listing(cast("TableReader", reader), SHARDS).count("acme", Among.OPEN)


@pytest.mark.parametrize("jobs", [0, 1, 10, 200, 2_000, 3_500])
def test_some_thousands_are_counted_exactly(jobs: int) -> None:
    for seed in range(20):
        assert told(drawn(jobs, _random(seed))) == Estimate(jobs)


# Each case: the number of jobs, and the largest relative standard error of an estimate of them.
@pytest.mark.parametrize(
    ("jobs", "error"),
    [
        (5_000, 0.01),
        (12_000, 0.02),
        (60_000, 0.05),
        (450_000, 0.1),
        (500_000, 0.1),
        (1_000_000, 0.07),
        (10_000_000, 0.021),
    ],
)
def test_an_estimate_errs_by_no_more_than_it_says(jobs: int, error: float) -> None:
    draws = DRAWS if jobs > 5_000 else DRAWS // 10
    estimates = [told(drawn(jobs, _random(seed))) for seed in range(draws)]
    off = [one.count - jobs for one in estimates]
    assert not any(one.is_exact for one in estimates)
    assert mean(one.standard_error for one in estimates) <= error * jobs
    errors = [abs(by) / one.standard_error for by, one in zip(off, estimates, strict=True)]
    assert 0.55 < sum(by <= 1 for by in errors) / draws < 0.82  # 0.68 of a normal distribution
    assert sum(by <= 3 for by in errors) / draws > 0.98
    assert abs(mean(off)) < 0.04 * jobs  # slightly too many, because the count decides whether to go on


@pytest.mark.parametrize("jobs", [0, 10, 5_000, 20_000, 500_000, 1_000_000, 10_000_000])
def test_a_count_costs_some_requests_and_some_dozens_of_read_units_however_many_jobs_there_are(jobs: int) -> None:
    for seed in range(DRAWS // 10):
        reader = drawn(jobs, _random(seed))
        told(reader)
        assert len(reader.counted) <= SHARDS + 2
        assert sum(reader.counted) <= 1.6 * MOST_COUNTED
        assert sum(map(_read_units, reader.counted)) <= 150


def _read_units(rows: int) -> float:
    """Return the cost of counting rows of the index: half a unit for each 4 KB, read eventually consistently."""
    key = job_key(JobKey("acme", 26 * "x"))
    entry = {**key, LISTING.partition.name: list_key("acme", "completed", "x", SHARDS), LISTING.sort.name: 8 * "x"}
    size = sum(len(name) + len(value) for name, value in entry.items())
    return max(1, math.ceil(rows * size / 4096)) / 2


def test_the_strata_cover_the_listing_and_a_job_stays_in_its_own() -> None:
    for shards in (1, 4, 32, 64):
        assert sum(one.share for one in strata(shards)) == pytest.approx(1)
        assert strata(shards)[-1].end == 1
        assert [one.first for one in strata(shards)[1:]] == [one.end for one in strata(shards)[:-1]]
        assert len({one.name for one in strata(shards)}) == shards + 2
        assert [stratum_of("acme", f"job-{n}", shards) for n in range(50)].count("1/4096") == 0
