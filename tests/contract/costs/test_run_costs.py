"""The cost on a run's row equals what was written for it: each kind of run, on moto, by the rules of metering."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from bench.metering import Charges, meter
from tests.contract.backends import client, moto, new_table
from tests.contract.rows import task_spec
from tests.engine.play import NOW, WORK, Play, spec
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.backfill import instants, new_backfill
from timeball.domain.model.ids import BackfillKey, JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Completion, JobSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import NOTHING, Spent
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.model.terms.policies import OverlapPolicy, Work
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.backfills import create_backfills
from timeball.engine.dependencies.examine import examine
from timeball.engine.runs.callback import Naming, Report, name_items, report
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import submit
from timeball.engine.tasks import create_task

OFTEN = spec("often", Every(120, NOW))
LATER = spec("later", At(NOW + 20 * SECOND_MS))
SKIP = OverlapPolicy.SKIP


def large(letters: int) -> Work:
    return replace(WORK, payload='"' + letters * "x" + '"')


@dataclass(frozen=True)
class Metered:
    """A Timeball on moto, and its charges."""

    play: Play
    charges: Charges

    def units(self, job: str = "") -> int:
        """Return the charges for rows of runs and jobs, without rows of hosts, which belong to no run."""
        return sum(
            one.computed
            for one in self.charges.of_runs
            if one.key[1] != "HOST" and one.key[0].endswith("#" + job if job else "")
        )

    def submit(self, *specs: JobSpec) -> None:
        submit(self.play.context(), specs, self.play.clock.now())

    def fire_again(self, *keys: JobKey) -> None:
        """Let the first fires pass, then meter the second ones."""
        for key in keys:
            self.play.run_on(key, HOUR_MS)
        self.play.clock.advance(30 * SECOND_MS)
        self.play.scan_all()
        self.charges.clear()
        self.play.clock.advance(NOW + 120 * SECOND_MS - self.play.clock.now())
        for key in reversed(keys):
            self.play.run_on(key, HOUR_MS)

    def newest(self, key: JobKey) -> Spent:
        return self.play.runs(key)[-1].spent


@pytest.fixture
def metered() -> Iterator[Metered]:
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb)
        charges = meter(dynamodb, client("dynamodb"))
        yield Metered(Play(dynamo_store(dynamodb, table)), charges)


RECURRING: dict[str, tuple[JobSpec, list[int], int]] = {
    # The job's spec, the target's answers, the seconds of each call.
    "plain": (OFTEN, [], 0),
    "guarded": (replace(OFTEN, overlap=SKIP), [], 0),
    "jittered beyond the look-ahead": (replace(OFTEN, jitter_seconds=30), [], 0),
    "25 s long": (OFTEN, [], 25),
    "a retry": (OFTEN, [500], 0),
    "two retries": (OFTEN, [500, 500], 0),
}


@pytest.mark.parametrize("kind", RECURRING)
def test_a_fire_of_a_recurring_job_records_what_was_written_for_it(metered: Metered, kind: str) -> None:
    wanted, statuses, takes_seconds = RECURRING[kind]
    metered.submit(wanted)
    metered.play.run_on(wanted.key, HOUR_MS)
    metered.play.caller.statuses, metered.play.caller.takes_ms = statuses, takes_seconds * SECOND_MS
    metered.fire_again(wanted.key)
    assert metered.newest(wanted.key).write_units == metered.units()


ONE_OFFS = {
    "plain": LATER,
    "guarded": replace(LATER, overlap=SKIP),
    "with a large payload": replace(LATER, work=large(600)),
    "with one of three KB": replace(LATER, work=large(2_500)),
    "of a task": replace(LATER, work=Work(), task=TaskUse("send_mail")),
}


@pytest.mark.parametrize("kind", ONE_OFFS)
def test_a_one_offs_run_records_the_writes_of_its_jobs_whole_life(metered: Metered, kind: str) -> None:
    wanted = ONE_OFFS[kind]
    create_task(metered.play.context(), task_spec())
    metered.charges.clear()
    metered.submit(wanted)
    metered.play.clock.advance(20 * SECOND_MS)
    metered.play.run_on(wanted.key, HOUR_MS)
    assert metered.newest(wanted.key).write_units == metered.units()


def test_a_run_that_was_handed_over_records_the_writes_of_its_report_too(metered: Metered) -> None:
    play, wanted = metered.play, replace(LATER, completion=Completion.CALLBACK)
    metered.submit(wanted)
    play.caller.statuses = [202]
    play.clock.advance(20 * SECOND_MS)
    play.scan_all()
    play.drain()
    (run,) = play.runs(wanted.key)
    report(play.context(), [Report(run.id, 1, None)])
    play.run_on(wanted.key, HOUR_MS)
    assert metered.newest(wanted.key).write_units == metered.units()


@pytest.mark.parametrize("overlap", [OverlapPolicy.ALLOW, SKIP])
def test_a_manual_run_records_what_was_written_for_it(metered: Metered, overlap: OverlapPolicy) -> None:
    wanted = replace(spec("far", At(NOW + DAY_MS)), overlap=overlap)
    metered.submit(wanted)
    metered.charges.clear()
    trigger(metered.play.context(), [Trigger(wanted.key, fingerprint="print")])
    metered.play.run_on(wanted.key, HOUR_MS)
    assert metered.newest(wanted.key).write_units == metered.units()


def test_a_backfills_runs_record_what_was_written_for_them_except_for_its_creation(metered: Metered) -> None:
    play, runs = metered.play, 10
    (job,) = play.store_jobs([spec("often", Every(60, NOW + DAY_MS))])
    metered.charges.clear()
    fires = list(instants(job.spec.schedule, NOW - DAY_MS, NOW - DAY_MS + (runs - 1) * MINUTE_MS))
    made = new_backfill(BackfillKey(job.key, "bf"), job, fires[:runs], 1, OverlapPolicy.ALLOW, NOW)
    create_backfills(play.context(), [made])
    for _ in range(2 * runs):
        play.clock.advance(SECOND_MS)
        play.scan_all()
        play.drain()
    told = sum(run.spent.write_units for run in play.runs(job.key))
    assert told <= metered.units() <= told + 5


def test_runs_of_a_cycle_record_the_writes_of_waiting_and_of_notifying_children(metered: Metered) -> None:
    parent, child = OFTEN, replace(spec("child", Every(120, NOW)), depends_on=(Parent("often"),))
    metered.submit(parent, child)
    metered.fire_again(parent.key, child.key)
    assert metered.newest(parent.key).write_units == metered.units("often")
    assert metered.newest(child.key).write_units == metered.units("child")


def test_the_cost_on_a_row_is_kept(metered: Metered) -> None:
    metered.submit(LATER)
    metered.play.clock.advance(20 * SECOND_MS)
    metered.play.caller.takes_ms = 2 * SECOND_MS
    metered.play.run_on(LATER.key, HOUR_MS)
    assert metered.newest(LATER.key) == Spent(write_units=11, read_units=4, batches=1_000, executor_ms=2_000)
    assert NOTHING.beyond(NOTHING) == NOTHING


def _charged_for_items(metered: Metered, count: int) -> tuple[int, int]:
    """Run a job for this many items; return the charges, and the costs on its runs."""
    name = f"each-{count}"
    fires = At(metered.play.clock.now() + 20 * SECOND_MS)
    parent = spec(f"list-{count}", fires)
    child = replace(
        spec(name, fires), depends_on=(Parent(parent.key.job_id),), inherits=True, for_each=parent.key.job_id
    )
    examined = [one.spec for one in examine(metered.play.context(), [parent, child])]
    submit(metered.play.context(), examined, metered.play.clock.now())
    run_id, play = RunId(parent.key, fires.at, Origin.SCHEDULE), metered.play
    naming = Naming(run_id, 1, tuple(map(str, range(count))), "request", "print")
    play.caller.calls.clear()
    play.caller.meanwhile = lambda: name_items(play.context(), [naming])
    for _ in range(40):
        play.clock.advance(SECOND_MS)
        play.scan_all()
        play.drain()
    runs = metered.play.runs(child.key)
    assert [run.state for run in runs] == [RunState.SUCCEEDED] * (count + 1)
    return metered.units(name), sum(run.spent.write_units for run in runs)


def test_an_item_costs_seven_units_and_records_them(metered: Metered) -> None:
    few, told_of_few = _charged_for_items(metered, 2)
    more, told_of_more = _charged_for_items(metered, 7)
    assert more - few == told_of_more - told_of_few == 5 * 7
    assert few - told_of_few <= 50
