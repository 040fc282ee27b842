"""The cost of a run as the endpoint counts it: the engine on the embedded DynamoDB, with the price of each write.

The embedded DynamoDB returns the price of single writes. For a batch of statements it returns only their number, while
AWS charges each statement like a single write. There the price is computed, by the rule that the single writes confirm
one by one.

These tests need no deployment. So they have their own emulator, and need not wait for the other tests of this folder.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from bench.metering import WRITES, Charges, meter
from local.installed import EMULATOR
from tests.contract.backends import new_table
from tests.engine.play import NOW, WORK, Play, spec
from timeball.aws.dynamodb.store import dynamo_store
from timeball.dev.emulator import Emulator
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.scheduling.submit import Submission, submit

pytestmark = pytest.mark.xdist_group("write_units")

AT_ONCE = 3
"""The number of runs that are due together, so that their writes do go out in batches."""

PERIOD_SECONDS = 120
LATER = NOW + 20 * SECOND_MS
RETRY = 5
"""Into the due index and out of it again, a unit each besides the row's own, and the second claim."""

NOTABLE = 6
"""The entry in the index of notable runs: it appears, follows the row's changes, and moves at the end."""

HOST = 3
"""For all runs together: their host gets a note when it fails, when it is tried again, and when it answers."""


@dataclass(frozen=True)
class Cost:
    """A kind of run, the most write units that it may cost, and how long its target takes to answer."""

    wanted: JobSpec
    budget: int
    takes_seconds: int = 0


OFTEN = spec("often", Every(PERIOD_SECONDS, NOW))
LOCKED = replace(OFTEN, overlap=OverlapPolicy.QUEUE_ONE)
LARGE = replace(WORK, payload='"' + 600 * "x" + '"')

# The budget of the architecture: a fire 6, a one-off 11 with its submission; with an overlap lock 2 more; 1 for each 10
# s of running, and 1 for each row of a payload or of a failed attempt. A notable run also pays for its index entry:
# 6 for a call that lasts 25 s, and 6 for a retry.
COSTS = {
    "recurring": Cost(OFTEN, 6),
    "recurring, guarded": Cost(LOCKED, 6 + 2),
    "recurring, 25 s long": Cost(OFTEN, 6 + 2 + NOTABLE, takes_seconds=25),
    "recurring, guarded, 25 s long": Cost(LOCKED, 6 + 2 + 2 + NOTABLE, takes_seconds=25),
    "recurring, its large payload written before": Cost(replace(OFTEN, work=LARGE), 6),
    "one-off, due now": Cost(spec("now", At(NOW)), 11),
    "one-off, due later": Cost(spec("later", At(LATER)), 11),
    "one-off, with a large payload": Cost(replace(spec("large", At(LATER)), work=LARGE), 11 + 1),
}


@dataclass(frozen=True)
class Metered:
    """A Timeball whose store is the embedded DynamoDB, and the charges of that store."""

    play: Play
    charges: Charges


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator(tmp_path_factory.mktemp("emulator"), EMULATOR) as emulator:
        emulator.await_health()
        yield emulator


@pytest.fixture(params=["single", "batch"])
def metered(emulator: Emulator, request: pytest.FixtureRequest) -> Iterator[Metered]:
    dynamodb = emulator.client("dynamodb")
    table = new_table(dynamodb)
    charges = meter(dynamodb, emulator.client("dynamodb"))
    yield Metered(Play(dynamo_store(dynamodb, table, writes=request.param)), charges)
    dynamodb.delete_table(TableName=table)


def submitted(metered: Metered, wanted: JobSpec) -> list[JobSpec]:
    """Submit the job as often as runs must be due together."""
    play = metered.play
    specs = [
        replace(wanted, key=replace(wanted.key, job_id=f"{wanted.key.job_id}-{number}")) for number in range(AT_ONCE)
    ]
    outcomes = submit(play.context(), specs, play.clock.now())
    assert {one.outcome for one in outcomes} == {Submission.CREATED}
    return specs


def run_on(metered: Metered, specs: list[JobSpec], fires: int = 1) -> None:
    """Carry the runs that are due, or will be soon, through to their ends."""
    for one in specs:
        metered.play.run_on(one.key, HOUR_MS)
        states = [run.state for run in metered.play.runs(one.key)]
        assert states == [RunState.SUCCEEDED] * fires


def second_fires(metered: Metered, wanted: JobSpec) -> list[JobSpec]:
    """Let the first fires of the job pass, and advance the clock to the second ones, with nothing charged yet."""
    specs = submitted(metered, wanted)
    run_on(metered, specs)
    clock = metered.play.clock
    clock.advance(PERIOD_SECONDS * SECOND_MS - (clock.now() - NOW))
    metered.charges.clear()
    return specs


def figures(charges: Charges) -> str:
    """Return the charge of one run, and the number of requests for all runs together, scans included."""
    counts = Counter("writing" if name in WRITES else "reading" for name in charges.requests)
    asked = " and ".join(f"{counts[kind]} {kind}" for kind in ("writing", "reading"))
    return f"{charges.units / AT_ONCE:g} write units a run; {asked} requests for {AT_ONCE} at once"


@pytest.mark.parametrize("kind", COSTS)
def test_a_run_stays_within_its_budget_of_write_units(
    metered: Metered, kind: str, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    cost = COSTS[kind]
    metered.play.caller.takes_ms = cost.takes_seconds * SECOND_MS
    if isinstance(cost.wanted.schedule.timing, At):
        specs = submitted(metered, cost.wanted)
        metered.play.clock.advance(cost.wanted.schedule.timing.at - NOW)
        run_on(metered, specs)
    else:
        run_on(metered, second_fires(metered, cost.wanted), fires=2)

    record_property(f"cost, {request.node.callspec.params['metered']} writes, {kind}", figures(metered.charges))
    assert metered.charges.units <= cost.budget * AT_ONCE, metered.charges.writes


def test_a_failed_attempt_costs_a_row_the_passage_through_the_due_index_and_a_note_about_its_host(
    metered: Metered, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    specs = second_fires(metered, OFTEN)
    metered.play.caller.statuses = [500] * AT_ONCE
    run_on(metered, specs, fires=2)

    record_property(f"cost, {request.node.callspec.params['metered']} writes, one retry", figures(metered.charges))
    units: Counter[str] = Counter()
    for charge in metered.charges.of_runs:
        units[charge.key[1].partition("#")[0]] += charge.computed
    assert units["RESULT"] == AT_ONCE
    assert units["HOST"] <= HOST
    assert units["JOB"] + units["RUN"] <= (6 + RETRY + NOTABLE) * AT_ONCE
    assert set(units) == {"JOB", "RUN", "RESULT", "HOST"}


def test_the_counts_of_all_runs_of_a_process_cost_one_unit_together(
    metered: Metered, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    play = metered.play
    run_on(metered, submitted(metered, OFTEN))
    metered.charges.clear()
    for _ in range(5):
        play.tally.flush(play.store.usage)
    record_property(f"cost, {request.node.callspec.params['metered']} writes, counting", figures(metered.charges))
    assert metered.charges.units == 1
    assert [key for charge in metered.charges.writes for key in (charge.key[0],)] == ["acme#!"]


@pytest.mark.parametrize("metered", ["single"], indirect=True)
def test_every_price_is_what_the_endpoint_counted(metered: Metered) -> None:
    specs = second_fires(metered, replace(LOCKED, work=LARGE))
    metered.play.caller.statuses = [500] * AT_ONCE
    run_on(metered, specs, fires=2)

    writes = [charge for charge in metered.charges.writes if not charge.refused]
    assert len(writes) >= 10 * AT_ONCE
    assert [charge for charge in writes if charge.counted != charge.computed] == []
