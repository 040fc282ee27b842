"""The function of lifecycle events as Lambda calls it, with AWS mocked: events on a bus, from the bus into a queue."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.lifecycle import handler
from tests.contract.backends import client
from tests.contract.test_executor_function import Invocation, sqs
from tests.streams import Tape
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import parse_instant
from timeball.ports.errors import UnavailableError
from timeball.runtime import wiring

__all__ = ["sqs"]  # the fixture: AWS as the functions find it

NOW = parse_instant("2026-11-24T05:30:07Z")
IN_TIME = Invocation(left_ms=60_000)


class Received:
    """A queue to which a rule on the bus sends the events of one type, as other services would get them."""

    def __init__(self, sqs: Any) -> None:
        self._sqs, events = sqs, client("events")
        events.create_event_bus(Name="Timeball")
        self._url = sqs.create_queue(QueueName="pager")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        pattern = {"source": ["timeball.lifecycle"], "detail-type": ["timeball.run.failed"]}
        events.put_rule(Name="pager", EventBusName="Timeball", EventPattern=json.dumps(pattern))
        events.put_targets(Rule="pager", EventBusName="Timeball", Targets=[{"Id": "q", "Arn": arn}])

    def take(self) -> list[dict[str, Any]]:
        """Return the events that have come, and remove them."""
        found: list[dict[str, Any]] = []
        while messages := self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10).get("Messages"):
            found += [json.loads(one["Body"]) for one in messages]
            for one in messages:
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=one["ReceiptHandle"])
        return found


@pytest.fixture
def received(sqs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Received]:
    monkeypatch.setenv("TIMEBALL_LIFECYCLE_BUS", "Timeball")
    monkeypatch.setenv("TIMEBALL_LIFECYCLE_EVENTS", "run.*")
    wiring.environment.cache_clear()
    wiring.lifecycle_bus.cache_clear()
    yield Received(sqs)
    wiring.environment.cache_clear()
    wiring.lifecycle_bus.cache_clear()


def _tape(*states: RunState) -> Tape:
    tape = Tape()
    for number, state in enumerate(states):
        run = RunId(JobKey("acme", "j"), NOW + number, Origin.SCHEDULE)
        tape.run(None, Run(run, state, 1, "normal", 0, NOW, NOW, finished_at=NOW), NOW)
    return tape


def _kept(sqs: Any) -> list[str]:
    url = wiring.environment().queue_unreadable
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return [json.loads(one["Body"])["keys"]["sk"]["S"] for one in found]


def test_a_rule_on_the_bus_gets_the_runs_that_it_asks_for(received: Received) -> None:
    tape = _tape(RunState.FAILED, RunState.SUCCEEDED, RunState.FAILED)
    assert handler({"Records": tape.records}, IN_TIME) == {"records": 3, "events": 3, "refused": 0}
    events = received.take()
    assert [one["detail"]["subject"] for one in events] == [f"j.{NOW}.s", f"j.{NOW + 2}.s"]
    assert {one["detail-type"] for one in events} == {"timeball.run.failed"}
    assert all(one["detail"]["data"]["runId"] == one["detail"]["subject"] for one in events)


def test_a_batch_that_comes_again_brings_events_with_the_same_ids(received: Received) -> None:
    tape = _tape(*[RunState.FAILED] * 25)  # three requests
    for _ in range(2):
        handler({"Records": tape.records}, IN_TIME)
    ids = [one["detail"]["id"] for one in received.take()]
    assert (len(ids), len({*ids})) == (50, 25)


def test_a_record_that_cannot_be_read_is_kept_by_its_keys_and_stops_no_other(received: Received, sqs: Any) -> None:
    tape = _tape(RunState.FAILED)
    tape.write(None, {"pk": "acme#j", "sk": "RUN#nonsense", "state": "failed", "error": "hidden"}, NOW)
    assert handler({"Records": tape.records}, IN_TIME)["events"] == 1
    assert len(received.take()) == 1
    assert _kept(sqs) == ["RUN#nonsense"]


def test_a_row_of_a_later_hundred_is_left_to_the_newer_function(received: Received, sqs: Any) -> None:
    tape = _tape(RunState.FAILED)
    tape.records[0]["dynamodb"]["NewImage"]["v"] = {"N": "100"}
    with pytest.raises(UnavailableError):
        handler({"Records": tape.records}, IN_TIME)
    assert (received.take(), _kept(sqs)) == ([], [])


class Bus:
    """EventBridge as boto3 shows it. It answers each entry with the next code; empty: it takes the entry."""

    def __init__(self, *codes: str) -> None:
        self.codes, self.taken = [*codes], list[str]()

    def put_events(self, Entries: list[Any]) -> dict[str, Any]:  # noqa: N803 - as boto3 names it
        answers = []
        for entry in Entries:
            code = self.codes.pop(0) if self.codes else ""
            answers.append({"ErrorCode": code, "ErrorMessage": "no"} if code else {"EventId": "1"})
            self.taken += [] if code else [json.loads(entry["Detail"])["subject"]]
        return {"Entries": answers, "FailedEntryCount": 0}


def _use(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "_client", lambda service, _: bus if service == "events" else client(service))
    wiring.lifecycle_bus.cache_clear()


@pytest.mark.usefixtures("received")
def test_a_throttled_event_is_sent_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = Bus("ThrottlingException", "")
    _use(bus, monkeypatch)
    tape = _tape(RunState.FAILED, RunState.FAILED)
    assert handler({"Records": tape.records}, IN_TIME)["refused"] == 0
    assert bus.taken == [f"j.{NOW + 1}.s", f"j.{NOW}.s"]


@pytest.mark.usefixtures("received")
def test_a_batch_that_the_bus_does_not_take_comes_again(monkeypatch: pytest.MonkeyPatch, sqs: Any) -> None:
    _use(Bus(*["ThrottlingException"] * 20), monkeypatch)
    with pytest.raises(UnavailableError):
        handler({"Records": _tape(RunState.FAILED).records}, Invocation(left_ms=9_000))
    assert _kept(sqs) == []


@pytest.mark.usefixtures("received")
def test_an_event_that_the_bus_refuses_is_kept_and_stops_no_other(monkeypatch: pytest.MonkeyPatch, sqs: Any) -> None:
    bus = Bus("MalformedDetail", "")
    _use(bus, monkeypatch)
    tape = _tape(RunState.FAILED, RunState.FAILED)
    assert handler({"Records": tape.records}, IN_TIME)["refused"] == 1
    assert bus.taken == [f"j.{NOW + 1}.s"]
    assert _kept(sqs) == [tape.records[0]["dynamodb"]["Keys"]["sk"]["S"]]
