"""The cost of the history of changes: nothing for a created job, two rows for a change."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from bench.metering import WRITES, Charges, meter
from tests.contract.backends import client, moto, new_table
from tests.engine.play import NOW, Play, spec
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.time.instants import HOUR_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import pause, revise
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import submit

BY = Actor("key_0123456789abcdef", "operator", "2001:db8:1234:5678:9abc:def0:1234:5678")
WANTED = spec("job", Every(3600, NOW + HOUR_MS))


@dataclass(frozen=True)
class Metered:
    """A Timeball on moto, and the requests that it makes."""

    play: Play
    charges: Charges

    def create(self) -> Job:
        """Create a job that is not yet due."""
        submit(self.play.context(), [WANTED], NOW, BY)
        job = self.play.store.jobs.read([WANTED.key], with_work=True)[0]
        assert job is not None
        return job

    def rows(self) -> dict[str, int]:
        """Return the price of all writes, by the kind of row."""
        return {
            kind: sum(one.computed for one in self.charges.of_runs if one.key[1].partition("#")[0] == kind)
            for kind in {one.key[1].partition("#")[0] for one in self.charges.of_runs}
        }


@pytest.fixture
def metered() -> Iterator[Metered]:
    with moto():
        dynamodb, looking = client("dynamodb"), client("dynamodb")
        store = dynamo_store(dynamodb, new_table(dynamodb))
        charges = meter(dynamodb, looking)
        yield Metered(Play(store), charges)


def test_a_creation_that_is_not_yet_due_is_one_request_of_four_units(metered: Metered) -> None:
    submit(metered.play.context(), [WANTED], NOW, BY)
    assert [name for name in metered.charges.requests if name in WRITES] == metered.charges.requests == ["PutItem"]
    assert metered.rows() == {"JOB": 4}


def test_a_change_costs_two_units_more_than_its_swap(metered: Metered) -> None:
    job = metered.create()
    metered.charges.clear()
    revise(metered.play.context(), [(job, replace(job.spec, name="another"))], Action.PATCH, BY)
    assert metered.rows() == {"JOB": 1, "REVISION": 1, "CHANGE": 1}
    writing = [name for name in metered.charges.requests if name in WRITES]
    assert sorted(writing) == ["PutItem", "PutItem", "UpdateItem"]


def test_a_request_that_changes_nothing_costs_nothing(metered: Metered) -> None:
    job = metered.create()
    pause(metered.play.context(), [(job.key, None)], BY)
    metered.charges.clear()
    pause(metered.play.context(), [(job.key, None)], BY)
    assert {"REVISION", "CHANGE"}.isdisjoint(metered.rows())


def test_a_trigger_costs_one_unit_more(metered: Metered) -> None:
    job = metered.create()
    metered.charges.clear()
    trigger(metered.play.context(), [Trigger(job.key, fingerprint="print")], BY)
    assert metered.rows()["CHANGE"] == 1
    assert "REVISION" not in metered.rows()
