"""Records of a stream, as DynamoDB writes them about rows of the real adapter, are read as the rows are."""

from collections.abc import Iterator
from typing import Any

import pytest
from moto.dynamodb.models import dynamodb_backends

from tests.contract.backends import REGION, MotoTable, moto
from tests.streams import STREAM
from timeball.api.archive import lines_of
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.stream import named_works, read_write
from timeball.aws.dynamodb.table.keys import attempt_in, attempt_key
from timeball.domain.archive import RowWrite, StoredAttempt
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Job, JobSpec, with_spec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.jobs.revision import request_announced
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed, ended
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome
from timeball.domain.model.tenants.actor import Action, Actor, Resource, ResourceKind
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import Every, Schedule
from timeball.ports.rows import Swap
from timeball.ports.store import Store

NOW = parse_instant("2026-11-21T09:30:00.250Z")
KEY = JobKey("acme", "j")
RUN = Run(RunId(KEY, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)


class Streamed:
    """A store over moto, and the records of its table's stream as Lambda is given them."""

    def __init__(self, store: Store, records: list[Any]) -> None:
        self.store, self._records = store, records

    def records(self) -> list[dict[str, Any]]:
        """Return the records so far."""
        found = [record.to_json() for record in self._records]
        for record in found:  # as Lambda writes them
            noted = record["dynamodb"]
            noted |= {
                "ApproximateCreationDateTime": noted["ApproximateCreationDateTime"].timestamp(),
                "SequenceNumber": str(noted["SequenceNumber"]),
            }
            record["eventSourceARN"] = f"{STREAM}2026-11-21T09:00:00.000"
        return found

    def writes(self) -> list[RowWrite]:
        """Return the writes that they are about."""
        records = self.records()
        names = named_works(records)
        works = dict(zip(names, self.store.works.read(names), strict=True))
        return [write for record in records if (write := read_write(record, works)) is not None]


@pytest.fixture
def streamed() -> Iterator[Streamed]:
    with moto():
        table = MotoTable()
        view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        table.client.update_table(TableName=table.name, StreamSpecification=view)
        (shard,) = (
            backend.tables[table.name].stream_shard
            for regions in dynamodb_backends.values()
            for backend in [regions[REGION]]
        )
        yield Streamed(dynamo_store(table.client, table.name, writes="single", threads=2), shard.items)


def test_a_run_is_read_before_and_after_each_write(streamed: Streamed) -> None:
    running = claimed(RUN, "executor", NOW, 30_000)
    done = ended(running, RunState.SUCCEEDED, NOW + 200, Guarantor.MESSAGE)
    streamed.store.runs.insert([RUN], NOW)
    for before, after in ((RUN, running), (evolve(running, revision=2), evolve(done, revision=2))):
        assert streamed.store.runs.swap([Swap(before, after)], NOW)[0].done
    first, second, third = streamed.writes()
    assert (first.before, first.after) == (None, RUN)
    assert (second.before, second.after) == (RUN, evolve(running, revision=2))
    assert (third.before, third.after) == (second.after, evolve(done, revision=3))
    assert first.position < second.position < third.position
    assert len({write.name for write in (first, second, third)}) == 3
    assert [line.kind for write in (first, second, third) for line in lines_of(write)] == ["runs"]


@pytest.mark.parametrize("size", [1, 1_000])
def test_only_writes_of_a_job_that_change_its_version_are_read_with_the_jobs_work(
    streamed: Streamed, size: int
) -> None:
    work = Work(HttpTarget("https://example.com/hook"), f'"{"x" * size}"')
    job = new_job(JobSpec(KEY, Schedule(Every(60, NOW)), work), NOW, Shards(4))
    streamed.store.jobs.insert([job], NOW)
    (read,) = streamed.store.jobs.read([KEY], with_work=True)
    assert read is not None
    planned = evolve(read, next_fire_at=NOW)
    changed = evolve(planned, revision=2, version=2)
    for before, after in ((read, planned), (evolve(planned, revision=2), changed)):
        assert streamed.store.jobs.swap([Swap(before, after)], NOW)[0].done
    created, patched = streamed.writes()
    assert isinstance(created.after, Job)
    assert isinstance(patched.after, Job)
    assert created.before is None
    assert created.after.spec.work == patched.after.spec.work == work
    assert patched.before == with_spec(evolve(planned, revision=2), work=work)
    assert patched.after.version == 2


def test_attempts_and_requests_are_read_from_their_rows(streamed: Streamed) -> None:
    attempt = Attempt(2, Outcome.FAILED, NOW, NOW, NOW + 5, 503, "The target answered with status 503.")
    by = Actor("key_1", "admin")
    about = Resource(ResourceKind.CALENDAR, "closed")
    streamed.store.attempts.insert([(RUN.id, attempt)], NOW)
    announced = request_announced("acme", about, Action.PUT, by, NOW)
    streamed.store.changes.note([announced], NOW)
    first, second = streamed.writes()
    assert (first.tenant, first.after) == ("acme", StoredAttempt(RUN.id, attempt))
    assert (second.tenant, second.after) == ("acme", announced)


@pytest.mark.parametrize(
    "run",
    [
        RUN.id,
        RunId(KEY, NOW, Origin.MANUAL, generation=3),
        RunId(KEY, NOW, Origin.MANUAL, "2vq", 12),
        RunId(KEY, 0, Origin.BACKFILL, "b"),
        RunId(KEY, NOW, Origin.DEPENDENCY, "12mabc"),
        RunId(JobKey("acme", "event"), NOW, Origin.EVENT, "event", 2),
    ],
)
def test_the_key_of_an_attempt_names_its_run(run: RunId) -> None:
    assert attempt_in(*attempt_key(run, 7).values()) == (run, 7)
