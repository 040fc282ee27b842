"""The bus of events: an event that a rule matches reaches its queue with the rule's name, while the rule exists."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.backends import client, moto
from tests.contract.waits import Waits
from tests.patterns import matches
from timeball.aws.event_bridge import BusNames, EventBridgeBus, UnreadableEventError, parse_matched
from timeball.domain.model.terms.event import (
    MOST_BYTES,
    BusRule,
    Event,
    Matched,
    Subscription,
    SubscriptionKey,
    subscription_key,
)
from timeball.ports.event_bus import EventBus, PatternRefusedError, RulesUsedUpError
from timeball.testing.memory_services import MemoryBus

PATTERN = '{"detail-type":["order.placed"],"source":["shop"]}'


@dataclass(frozen=True)
class Subject:
    """A bus, and a reader of its queue."""

    bus: EventBus
    matched: Callable[[], list[Matched]]

    def received(self) -> list[tuple[BusRule, Event]]:
        return [(one.rule, one.event) for one in self.matched()]


@pytest.fixture(params=["memory", "moto"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    if request.param == "memory":
        memory = MemoryBus(matches)
        yield Subject(memory, lambda: memory.queue)
        return
    with moto():
        events, sqs = client("events"), client("sqs")
        yield Subject(*on_moto(events, sqs))


def on_moto(events: Any, sqs: Any) -> tuple[EventBridgeBus, Callable[[], list[Matched]]]:
    """Return moto's bus, and a function that reads its queue."""
    urls = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("events", "undelivered")]
    arns = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"] for url in urls]
    events.create_event_bus(Name="Timeball")
    names = BusNames("Timeball", arns[0]["QueueArn"], arns[1]["QueueArn"], urls[0])

    def matched() -> list[Matched]:
        found = []
        while messages := sqs.receive_message(QueueUrl=urls[0], MaxNumberOfMessages=10).get("Messages"):
            found += [parse_matched({"messageId": one["MessageId"], "body": one["Body"]}) for one in messages]
        return found

    return EventBridgeBus(lambda: _Ungrouped(events), names, Waits().asker(), lambda: sqs), matched  # type: ignore[arg-type,return-value]


class _Ungrouped:
    """A client of moto's EventBridge, which delivers nothing to a standard queue if a target has a message group."""

    def __init__(self, events: Any) -> None:
        self._events = events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    def put_targets(self, **asked: Any) -> Any:
        targets = [{name: it for name, it in one.items() if name != "SqsParameters"} for one in asked["Targets"]]
        return self._events.put_targets(**asked | {"Targets": targets})


def subscription(tenant: str = "acme", pattern: str = PATTERN, generation: int = 1) -> Subscription:
    return Subscription(subscription_key(tenant, pattern), pattern, 5, generation=generation)


def event(tenant: str = "acme", **attributes: object) -> Event:
    told = {"specversion": "1.0", "id": "7", "source": "shop", "type": "order.placed", "time": "2026-11-21T09:30:00Z"}
    return Event(tenant, {**told, **attributes}, 1_763_717_400_250, 2)


def test_a_matching_event_reaches_the_queue_as_sent_with_the_rules_name(subject: Subject) -> None:
    subject.bus.ensure(subscription())
    sent = event(data={"total": 250, "lines": [{"sku": 'ä"<x>', "price": 1.5}]}, subject="eu/7")
    assert subject.bus.put([sent]) == [None]
    assert subject.received() == [(subscription().rule, sent)]


def test_an_event_that_does_not_match_or_is_another_tenants_does_not_reach_the_queue(subject: Subject) -> None:
    subject.bus.ensure(subscription())
    others = [event("globex"), event(type="order.lost"), event(source="market")]
    assert subject.bus.put(others) == [None] * 3
    assert subject.received() == []


def test_more_events_than_one_request_carries_are_put(subject: Subject) -> None:
    subject.bus.ensure(subscription())
    many = [event(id=str(number)) for number in range(23)]
    assert subject.bus.put(many) == [None] * 23
    assert {one.attributes["id"] for _, one in subject.received()} == {str(number) for number in range(23)}


def test_an_empty_list_of_events_returns_an_empty_list(subject: Subject) -> None:
    assert subject.bus.put([]) == []


def test_a_rule_can_be_ensured_again_and_another_generation_is_another_rule(subject: Subject) -> None:
    for _ in range(2):
        subject.bus.ensure(subscription())
    subject.bus.ensure(subscription(generation=2))
    assert sorted(subject.bus.rules()) == [subscription().rule, subscription(generation=2).rule]
    subject.bus.put([event()])
    assert {rule.generation for rule, _ in subject.received()} == {1, 2}


def test_a_removed_rule_matches_nothing_and_can_be_removed_again(subject: Subject) -> None:
    subject.bus.ensure(subscription())
    for _ in range(2):
        subject.bus.remove([subscription().rule])
    subject.bus.put([event()])
    assert (subject.bus.rules(), subject.received()) == ([], [])


def test_all_rules_are_listed_however_many_there_are(subject: Subject) -> None:
    wanted = [subscription(pattern=f'{{"source":["{number}"]}}') for number in range(60)]
    for one in wanted:
        subject.bus.ensure(one)
    assert sorted(subject.bus.rules()) == sorted(one.rule for one in wanted)


def test_an_event_that_is_put_off_comes_again_with_the_job_after_which_it_continues(subject: Subject) -> None:
    sent = [event(id=str(number), data="ü") for number in range(12)]
    rule = subscription().rule
    put_off = [(Matched(rule, one, f"job_{number}", again=True), 0) for number, one in enumerate(sent)]
    assert subject.bus.put_off(put_off) == [True] * 12
    assert sorted(subject.matched(), key=lambda one: int(one.after[4:])) == [one for one, _ in put_off]
    assert subject.bus.put_off([]) == []


def test_an_invalid_pattern_is_refused(subject: Subject) -> None:
    with pytest.raises(PatternRefusedError):
        subject.bus.ensure(subscription(pattern='{"source":[]}'))


def test_rules_of_other_applications_are_left_alone() -> None:
    with moto():
        events = client("events")
        bus, _ = on_moto(events, client("sqs"))
        events.put_rule(Name="somebody-elses", EventBusName="Timeball", EventPattern='{"source":["x"]}')
        assert bus.rules() == []


class Scripted:
    """An EventBridge that answers each request as its script says: with an answer, or an error code."""

    def __init__(self, *script: Any) -> None:
        self.script, self.asked = list(script), []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        def ask(**arguments: Any) -> Any:
            self.asked.append((name, arguments))
            answer = self.script.pop(0)
            if isinstance(answer, str):
                told = {"Error": {"Code": answer, "Message": "so it is"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
                raise ClientError(told, name)  # type: ignore[arg-type]
            return answer

        return ask


def scripted(*script: Any) -> tuple[EventBridgeBus, Scripted]:
    events = Scripted(*script)
    return EventBridgeBus(lambda: events, BusNames("b", "q", "u"), Waits().asker()), events  # type: ignore[arg-type,return-value]


def test_only_throttled_events_are_put_again() -> None:
    throttled, refused = {"ErrorCode": "ThrottlingException"}, {"ErrorCode": "MalformedDetail", "ErrorMessage": "No."}
    bus, events = scripted({"Entries": [{"EventId": "1"}, throttled, refused]}, {"Entries": [{"EventId": "2"}]})
    outcomes = bus.put([event(id=str(number)) for number in range(3)])
    assert [None if one is None else (one.why, one.is_unknown) for one in outcomes] == [None, None, ("No.", False)]
    assert [len(arguments["Entries"]) for _, arguments in events.asked] == [3, 1]


def test_events_without_an_answer_are_unknown_and_events_of_other_requests_are_not() -> None:
    bus, _ = scripted(*["ThrottlingException"] * 6, {"Entries": [{"EventId": "1"}]})
    outcomes = bus.put([event(id=str(number)) for number in range(11)])
    assert [one is not None and one.is_unknown for one in outcomes] == [True] * 10 + [False]


def test_large_events_go_in_requests_of_their_own() -> None:
    bus, events = scripted(*[{"Entries": [{"EventId": "1"}]}] * 3)
    large = event(data="x" * (MOST_BYTES // 2))
    assert bus.put([large, large, large]) == [None] * 3
    assert [len(arguments["Entries"]) for _, arguments in events.asked] == [1, 1, 1]


def test_a_used_up_quota_of_rules_is_raised_at_once() -> None:
    bus, events = scripted("LimitExceededException")
    with pytest.raises(RulesUsedUpError):
        bus.ensure(subscription())
    assert [name for name, _ in events.asked] == ["put_rule"]


def test_a_rule_that_vanishes_while_its_target_is_put_is_made_again() -> None:
    done = {"FailedEntryCount": 0}
    bus, events = scripted({}, "ResourceNotFoundException", "ConcurrentModificationException", {}, done)
    bus.ensure(subscription())
    assert [name for name, _ in events.asked] == ["put_rule", "put_targets", "put_rule", "put_rule", "put_targets"]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"rule": "x", "event": {}}',
        '{"rule": 7, "event": {}}',
        '{"rule": "acme.aaaaaaaaaaaaaaaa.1", "event": {}}',
    ],
)
def test_a_message_without_an_event_is_unreadable(body: str) -> None:
    with pytest.raises(UnreadableEventError):
        parse_matched({"messageId": "1", "body": body})


def test_the_name_of_a_rule_contains_its_tenant_and_is_short_enough() -> None:
    longest = BusRule(SubscriptionKey("t" * 40, "a" * 16), 999_999)
    assert BusRule.parse(str(longest)) == longest
    assert len(str(longest)) <= 64
    assert BusRule.parse("somebody-elses") is None


def test_a_rule_sends_to_the_message_group_of_its_tenant() -> None:
    bus, events = scripted({}, {"FailedEntryCount": 0})
    bus.ensure(subscription("globex"))
    (target,) = events.asked[1][1]["Targets"]
    assert target["SqsParameters"] == {"MessageGroupId": "globex"}


def test_large_events_are_put_off_in_separate_requests_and_an_unaccepted_one_is_reported() -> None:
    sqs = Scripted({"Successful": [{"Id": "0"}]}, {"Successful": []})
    names = BusNames("b", "q", "u", "url")
    bus = EventBridgeBus(lambda: sqs, names, Waits().asker(), lambda: sqs)  # type: ignore[arg-type,return-value]
    large = Matched(subscription().rule, event(data="x" * (MOST_BYTES // 2)), again=True)
    assert bus.put_off([(large, 5), (large, 2_000)]) == [True, False]
    assert [[entry["DelaySeconds"] for entry in asked["Entries"]] for _, asked in sqs.asked] == [[5], [900]]
