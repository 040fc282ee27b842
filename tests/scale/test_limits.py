"""The model respects its limits: units, pollers, processors, and throttled writes."""

from dataclasses import replace

import pytest

from bench.scale.cases import Case, Wave
from bench.scale.deployment import Deployment
from bench.scale.limits import Cpu
from bench.scale.outcome import play
from bench.scale.placement import partition_of
from bench.scale.queues import Mapping
from bench.scale.trace import STEPS
from bench.scale.units import Bounds, Table, Tokens, Units, units_of
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.time.schedule import Every
from timeball.ports.rows import Swap

SMALL = Deployment("small", cpu=Cpu(0.2, 0.5))


def test_a_moved_due_key_takes_two_units_of_its_index_and_a_new_or_removed_one_takes_one() -> None:
    (job,) = Play().store_jobs([spec("job", Every(60, NOW))])
    assert job.due_at is not None
    row = "acme#job"
    assert units_of(job) == Units(1, 1, job.shard, row)
    assert units_of(Swap(job, evolve(job, due_at=job.due_at + 1))) == Units(1, 2, job.shard, row)
    assert units_of(Swap(job, evolve(job, due_at=None))) == Units(1, 1, job.shard, row)
    assert units_of(Swap(job, evolve(job, version=9))) == Units(1, 0, job.shard, row)


def test_shards_on_one_partition_of_the_due_index_share_its_units_and_throttle_no_others() -> None:
    bounds = Bounds(40_000, 40_000, [40_000])
    table = Table(bounds, replace(bounds, writes_of=[1_000, 1_000]), partition_of_shard=[0, 1, 0])
    (job,) = Play().store_jobs([spec("job", Every(60, NOW))])
    first, second, third = (evolve(job, shard=shard) for shard in range(3))
    assert sum(table.admit([first, third] * 750, NOW)) == 1_000
    assert table.admit([first, third, second], NOW) == [False, False, True]
    assert sum(table.admit([third] * 1_500, NOW + 500)) == 500
    assert table.fullest() == 1.5


def test_a_full_partition_of_the_table_throttles_only_its_own_jobs() -> None:
    bounds = Bounds(40_000, 40_000, [1_000, 1_000])
    table = Table(bounds, replace(bounds, writes_of=[10_000]), partition_of_shard=[0])
    names = [f"job-{number}" for number in range(20)]
    jobs = Play().store_jobs([spec(name, Every(60, NOW)) for name in names])
    of_first = [job for job in jobs if partition_of(f"acme#{job.key.job_id}", 2) == 0]
    of_second = [job for job in jobs if job not in of_first]
    assert sum(table.admit([of_first[0]] * 1_500, NOW)) == 1_000
    assert table.admit([of_first[1], of_second[0]], NOW) == [False, True]


def test_unused_units_last_no_longer_than_a_second() -> None:
    tokens = Tokens(10)
    assert tokens.has(10, NOW)
    tokens.take(10)
    assert not tokens.has(1, NOW + 50)
    assert not tokens.has(11, NOW + 60_000)


@pytest.mark.parametrize(("pollers", "at_once", "after_a_minute"), [(None, 5, 305), ((4, 50), 40, 500)])
def test_a_mapping_starts_with_few_batches_and_adds_more_while_there_is_a_backlog(
    pollers: tuple[int, int] | None, at_once: int, after_a_minute: int
) -> None:
    mapping = Mapping(1_000, 1, pollers)
    for milliseconds in range(0, 2_000, 20):
        if milliseconds == 1_000:
            assert at_once <= mapping.under_way <= at_once + 20
        mapping.under_way += mapping.begins(100_000, NOW + milliseconds)
    for milliseconds in range(2_000, 61_000, 20):
        mapping.under_way += mapping.begins(100_000, NOW + milliseconds)
    assert mapping.under_way == pytest.approx(after_a_minute, abs=10)


def test_a_mapping_gains_raised_pollers_after_a_minute_and_at_the_documented_rate() -> None:
    mapping = Mapping(1_000, 1, (4, 50))
    mapping.make_ready(40, NOW)
    levels = {}
    for milliseconds in range(0, 90_000, 20):
        mapping.begins(0, NOW + milliseconds)
        levels[milliseconds] = mapping.level
    assert levels[59_980] == 40
    assert levels[66_000] == pytest.approx(140, abs=2)
    assert levels[89_980] == 400


def test_the_scan_raises_the_pollers_before_a_spike() -> None:
    large = Deployment("large", parts=8, is_warm=False, changed=(("raised_pollers", 40),), cpu=SMALL.cpu)
    outcome = play(Case("", large, (Wave(6_400),), 5, quiet_seconds=310))
    assert outcome.stack.raised.pollers == {"high": 24, "normal": 14, "low": 2}
    assert outcome.is_kept


def test_a_run_passes_its_steps_in_order_and_the_latest_runs_are_reported() -> None:
    steps = play(Case("", SMALL, (Wave(200),), 30)).steps()
    assert list(steps["all"].values()) == sorted(steps["all"].values())
    assert list(steps["all"]) == list(STEPS)
    assert steps["latest"]["called"] > steps["all"]["called"] >= 0


def test_a_slower_processor_is_later() -> None:
    case = Case("", SMALL, (Wave(400),), 30)
    slow = replace(case, deployment=replace(SMALL, cpu=Cpu(0.2, 50)))
    assert play(slow).late_at(0.5) > 10 * play(case).late_at(0.5)


def test_a_throttled_shard_makes_its_runs_late_and_loses_none() -> None:
    outcome = play(Case("", SMALL, (Wave(4_000, shard=0),), 30))
    assert outcome.stack.world.table.refused > 0
    assert (outcome.lost, outcome.doubled, outcome.early) == (0, 0, 0)
    assert outcome.late_at(0.99) > 100
