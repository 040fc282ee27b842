"""The archive's function as Lambda calls it, with AWS mocked: objects in a bucket; unreadable records in a queue."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.archive import handler
from tests.contract.backends import client
from tests.contract.test_executor_function import Invocation, sqs
from tests.streams import Tape, newest
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import At, Schedule
from timeball.ports.errors import UnavailableError
from timeball.runtime import wiring

__all__ = ["sqs"]  # the fixture: AWS as the functions find it

NOW = parse_instant("2026-11-24T05:30:07Z")
IN_TIME = Invocation(left_ms=60_000)


@pytest.fixture
def bucket(sqs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:  # noqa: ARG001 - AWS must be mocked
    """Return the client of S3, beside an empty bucket that the function knows."""
    s3 = client("s3")
    s3.create_bucket(Bucket="archive")
    monkeypatch.setenv("TIMEBALL_ARCHIVE_BUCKET", "archive")
    wiring.archive.cache_clear()
    yield s3
    wiring.archive.cache_clear()


def _ended(tenant: str, job_id: str, state: RunState = RunState.SUCCEEDED) -> Run:
    return Run(RunId(JobKey(tenant, job_id), NOW, Origin.SCHEDULE), state, 1, "normal", 0, NOW, NOW, finished_at=NOW)


def _objects(s3: Any) -> dict[str, list[str]]:
    found = s3.list_objects_v2(Bucket="archive").get("Contents", [])
    bodies = {one["Key"]: s3.get_object(Bucket="archive", Key=one["Key"])["Body"].read() for one in found}
    return {key: gzip.decompress(body).decode().splitlines() for key, body in bodies.items()}


def test_a_batch_becomes_an_object_for_each_tenant_and_a_repeat_changes_nothing(bucket: Any) -> None:
    tape = Tape()
    for tenant, job_id in (("acme", "a"), ("globex", "b"), ("acme", "c")):
        tape.run(None, _ended(tenant, job_id), NOW)
    assert handler({"Records": tape.records}, IN_TIME) == {"records": 3, "lines": 3, "objects": 2}
    found = _objects(bucket)
    assert sorted(key.rpartition("/")[0] for key in found) == [
        "tenant=acme/runs/day=2026-11-24/hour=05",
        "tenant=globex/runs/day=2026-11-24/hour=05",
    ]
    assert {name for lines in found.values() for name in newest(lines)} == {
        ("acme", f"a.{NOW}.s"),
        ("acme", f"c.{NOW}.s"),
        ("globex", f"b.{NOW}.s"),
    }
    handler({"Records": tape.records}, IN_TIME)
    assert _objects(bucket) == found


def test_a_batch_in_halves_leaves_doubles_that_a_reader_removes(bucket: Any) -> None:
    tape = Tape()
    for state in (RunState.FAILED, RunState.CANCELLED):
        tape.run(None, _ended("acme", "a", state), NOW)
    handler({"Records": tape.records}, IN_TIME)
    for record in tape.records:
        handler({"Records": [record]}, IN_TIME)
    lines = [line for lines in _objects(bucket).values() for line in lines]
    assert len(lines) == 4
    assert [line["status"] for line in newest(lines).values()] == ["cancelled"]


def test_a_large_payload_is_read_beside_the_job_that_was_changed(bucket: Any) -> None:
    work = Work(HttpTarget("https://example.com/hook"), json.dumps({"n": "x" * 500}))
    job = new_job(JobSpec(JobKey("acme", "j"), Schedule(At(NOW)), work), NOW, Shards(1))
    wiring.engine_context().store.jobs.insert([job], NOW)
    tape = Tape()
    tape.job(None, job, NOW)
    handler({"Records": tape.records}, IN_TIME)
    ((line,),) = _objects(bucket).values()
    assert json.loads(line)["after"]["payload"] == {"n": "x" * 500}


def test_records_of_no_interest_write_no_object(bucket: Any) -> None:
    tape = Tape()
    tape.write({"pk": "acme#j", "sk": "JOB", "version": 1}, {"pk": "acme#j", "sk": "JOB", "version": 1}, NOW)
    tape.write(None, {"pk": "SIGNING", "sk": "SECRET", "newest": "hidden"}, NOW)
    tape.write({"pk": "acme#j", "sk": "JOB", "version": 1}, None, NOW)
    assert handler({"Records": tape.records}, IN_TIME)["objects"] == 0
    assert _objects(bucket) == {}


@pytest.mark.usefixtures("bucket")
def test_a_record_that_cannot_be_read_is_kept_by_its_keys_and_stops_no_other(sqs: Any) -> None:
    tape = Tape()
    tape.write(None, {"pk": "acme#j", "sk": "RUN#nonsense", "state": "failed", "error": "hidden"}, NOW)
    tape.run(None, _ended("acme", "a"), NOW)
    assert handler({"Records": tape.records}, IN_TIME)["lines"] == 1
    (kept,) = sqs.receive_message(QueueUrl=wiring.environment().queue_unreadable)["Messages"]
    assert json.loads(kept["Body"])["keys"] == {"pk": {"S": "acme#j"}, "sk": {"S": "RUN#nonsense"}}
    assert "hidden" not in kept["Body"]


def test_a_job_without_its_version_stops_no_other(bucket: Any, sqs: Any) -> None:
    tape = Tape()
    tape.write({"pk": "acme#j", "sk": "JOB"}, {"pk": "acme#j", "sk": "JOB"}, NOW)
    tape.run(None, _ended("acme", "a"), NOW)
    assert handler({"Records": tape.records}, IN_TIME)["lines"] == 1
    assert _kept(sqs) == [("acme#j", "JOB")]
    assert len(_objects(bucket)) == 1


def test_a_work_that_cannot_be_read_stops_no_other(bucket: Any, sqs: Any) -> None:
    tape = Tape()
    for job_id in ("bad", "good"):
        work = Work(HttpTarget(f"https://example.com/{job_id}"), json.dumps({"n": "x" * 500}))
        job = new_job(JobSpec(JobKey("acme", job_id), Schedule(At(NOW)), work), NOW, Shards(1))
        wiring.engine_context().store.jobs.insert([job], NOW)
        tape.job(None, job, NOW)
    _damage_work("acme#bad")
    assert handler({"Records": tape.records}, IN_TIME)["lines"] == 1
    assert _kept(sqs) == [("acme#bad", "JOB")]
    ((line,),) = _objects(bucket).values()
    assert json.loads(line)["after"]["payload"] == {"n": "x" * 500}


def _damage_work(pk: str) -> None:
    table, dynamodb = wiring.environment().jobs_table, client("dynamodb")
    rows = dynamodb.query(
        TableName=table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": pk}}
    )["Items"]
    (row,) = (row for row in rows if "work" in row)
    dynamodb.put_item(TableName=table, Item={**row, "work": {"S": "no JSON"}})


def _kept(sqs: Any) -> list[tuple[str, str]]:
    url = wiring.environment().queue_unreadable
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    keys = [json.loads(one["Body"])["keys"] for one in found]
    return [(key["pk"]["S"], key["sk"]["S"]) for key in keys]


@pytest.mark.parametrize("image", ["OldImage", "NewImage"])
def test_a_row_of_a_later_hundred_is_left_to_the_newer_function(bucket: Any, sqs: Any, image: str) -> None:
    tape = Tape()
    tape.run(_ended("acme", "a"), _ended("acme", "a", RunState.CANCELLED), NOW)
    tape.records[0]["dynamodb"][image]["v"] = {"N": "100"}
    with pytest.raises(UnavailableError):
        handler({"Records": tape.records}, IN_TIME)
    assert (_objects(bucket), _kept(sqs)) == ({}, [])
    tape.records[0]["dynamodb"][image]["v"] = {"N": "2"}
    assert handler({"Records": tape.records}, IN_TIME)["lines"] == 1


def test_a_record_that_can_be_neither_read_nor_kept_comes_again(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape()
    tape.write(None, {"pk": "acme#j", "sk": "RUN#nonsense", "state": "failed"}, NOW)
    monkeypatch.setenv("TIMEBALL_QUEUE_UNREADABLE", "https://sqs.us-east-1.amazonaws.com/1/gone")
    wiring.environment.cache_clear()
    with pytest.raises(UnavailableError):
        handler({"Records": tape.records}, IN_TIME)
    assert _objects(bucket) == {}


def test_a_batch_whose_object_is_refused_comes_again(bucket: Any) -> None:
    tape = Tape()
    tape.run(None, _ended("acme", "a"), NOW)
    bucket.delete_bucket(Bucket="archive")
    with pytest.raises(Exception, match="NoSuchBucket"):
        handler({"Records": tape.records}, IN_TIME)
