"""Queues and inboxes: a message arrives, later if it was delayed, and again if it is not deleted."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.contract.queues import ENDPOINT, LEAD, PRIORITIES, Queues, queues_of
from tests.contract.rows import NOW, run
from timeball.aws.sqs import UnreadableMessageError, parse_message, parse_watch
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run
from timeball.ports.queue import FEW, MAX_WATCHED, Delivery, Depth, Watch

NOTHING = Depth(0, 0, 0)


@pytest.fixture(params=["memory", "moto", "moto-thin", *(["endpoint", "endpoint-thin"] if ENDPOINT else [])])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def queues(kind: str) -> Iterator[Queues]:
    with queues_of(kind, 1) as one_by_one:
        yield one_by_one


@pytest.fixture
def together(kind: str) -> Iterator[Queues]:
    with queues_of(kind, 5) as in_fives:
        yield in_fives


def _message(run_id: RunId, priority: str, not_before: int) -> Run:
    return replace(run(), id=run_id, priority=priority, not_before=not_before)


def _run(step: int) -> RunId:
    return RunId(JobKey("acme", "job_1-a"), NOW + step, Origin.SCHEDULE)


def _receive_all(queues: Queues, priority: str) -> list[Delivery]:
    deliveries: list[Delivery] = []
    while more := queues.receive(priority):
        deliveries += more
    return deliveries


def test_each_message_arrives_on_the_queue_of_its_priority(queues: Queues) -> None:
    messages = [_message(_run(step), ("high", "normal")[step % 2], NOW) for step in range(23)]
    assert queues.queue.send(messages, NOW) == [True] * 23
    for number, priority in enumerate(("high", "normal")):
        runs = [delivery.run for delivery in _receive_all(queues, priority)]
        assert sorted(runs) == [_run(step) for step in range(23) if step % 2 == number]
    assert queues.queue.send([], NOW) == []


def test_a_send_of_many_batches_over_all_priorities_answers_in_order_and_delivers_each_message_once(
    queues: Queues,
) -> None:
    messages = [_message(_run(step), PRIORITIES[step % 3], NOW) for step in range(35)]
    assert queues.queue.send(messages, NOW) == [True] * 35
    for number, priority in enumerate(PRIORITIES):
        deliveries = _receive_all(queues, priority)
        assert sorted(delivery.run for delivery in deliveries) == [_run(step) for step in range(number, 35, 3)]
        inbox = queues.inbox(priority)
        inbox.hide(deliveries, 0)
        again = _receive_all(queues, priority)
        assert len(again) == len(deliveries)
        inbox.delete(again)
        inbox.hide(again, 0)
        assert _receive_all(queues, priority) == []


def test_a_delay_counts_from_the_moment_of_sending_and_not_from_an_older_now(queues: Queues) -> None:
    queues.queue.send([_message(_run(0), "normal", NOW)], NOW - 60_000)
    assert [delivery.run for delivery in _receive_all(queues, "normal")] == [_run(0)]


@pytest.mark.parametrize(("others", "lead_ms"), [(FEW - 4, LEAD.few_ms), (FEW - 3, LEAD.ms)])
def test_a_message_less_than_a_lead_and_a_second_ahead_comes_at_once_and_a_later_one_does_not(
    queues: Queues, others: int, lead_ms: int
) -> None:
    """The lead is shorter if few runs are sent together."""
    ahead = {0: 0, 1: lead_ms + 999, 2: lead_ms + 1_000, 3: -5_000}
    runs = [_message(_run(step), "normal", NOW + ms) for step, ms in ahead.items()]
    queues.queue.send([*runs, *(_message(_run(10 + number), "low", NOW) for number in range(others))], NOW)
    assert sorted(delivery.run for delivery in _receive_all(queues, "normal")) == [_run(0), _run(1), _run(3)]


def test_a_message_has_the_earliest_instant_of_its_runs_call_as_a_hint(queues: Queues) -> None:
    queues.queue.send([_message(_run(0), "normal", NOW + 2_345)], NOW)
    assert [delivery.not_before for delivery in _receive_all(queues, "normal")] == [NOW + 2_345]


@pytest.mark.parametrize("hint", ["", ',"not_before":null', ',"not_before":"soon"', ',"not_before":{}'])
def test_a_message_without_a_readable_hint_still_names_its_run(hint: str) -> None:
    body = f'{{"tenant":"acme","runs":["{_run(0)}"]{hint}}}'
    assert parse_message({"body": body, "receiptHandle": "r"}) == [Delivery(_run(0), "r", None)]


def test_a_message_further_ahead_than_a_queue_can_delay_is_still_sent(queues: Queues) -> None:
    assert queues.queue.send([_message(_run(0), "normal", NOW + 10**8)], NOW) == [True]


def test_a_hidden_message_stays_away_and_a_returned_one_comes_again(queues: Queues) -> None:
    queues.queue.send([_message(_run(step), "normal", NOW) for step in range(12)], NOW)
    deliveries = sorted(_receive_all(queues, "normal"), key=lambda delivery: delivery.run)
    assert len(deliveries) == 12
    inbox = queues.inbox("normal")
    inbox.hide(deliveries[:11], 60)
    inbox.hide(deliveries[11:], 0)
    assert [delivery.run for delivery in _receive_all(queues, "normal")] == [_run(11)]
    inbox.hide(deliveries[:11], 0)
    again = _receive_all(queues, "normal")
    assert sorted(delivery.run for delivery in again) == [_run(step) for step in range(11)]
    inbox.delete(again)
    inbox.hide(again, 0)
    assert _receive_all(queues, "normal") == []


def test_a_stale_receipt_does_no_harm(queues: Queues) -> None:
    queues.queue.send([_message(_run(0), "normal", NOW)], NOW)
    (delivery,) = _receive_all(queues, "normal")
    inbox = queues.inbox("normal")
    inbox.delete([delivery])
    inbox.delete([delivery])
    inbox.hide([delivery], 5)
    inbox.hide([], 5)
    inbox.delete([])


_SERIES = {Origin.BACKFILL: "9" * 26, Origin.EVENT: "a" * 26, Origin.DEPENDENCY: "1000"}


@pytest.mark.parametrize("origin", Origin)
def test_a_message_names_its_run_whatever_its_origin_and_tenant(queues: Queues, origin: Origin) -> None:
    run = RunId(JobKey("zürich-✓", "x" * 64), 0, origin, _SERIES.get(origin, ""))
    queues.queue.send([_message(run, "high", 0)], NOW)
    assert [delivery.run for delivery in _receive_all(queues, "high")] == [run]


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "[]", "{}", '"text"', '{"tenant":"acme"}', '{"tenant":"acme","runs":["job.1"]}'),
        *('{"tenant":1,"runs":[null]}', '{"tenant":"acme","runs":[]}', '{"tenant":"acme","runs":7}'),
        f'{{"tenant":"acme","runs":["{RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE)}","job.1"]}}',
        pytest.param("[" * 100_000, id="nested too deeply"),
    ],
)
def test_a_message_that_names_no_run_is_an_error_of_its_own(body: str) -> None:
    with pytest.raises(UnreadableMessageError):
        parse_message({"messageId": "m", "body": body, "receiptHandle": "r"})


def test_a_watch_arrives_as_it_was_sent_when_its_time_has_come(queues: Queues) -> None:
    due = Watch(tuple(_run(step) for step in range(MAX_WATCHED)), NOW, round_number=3)
    later = Watch((_run(0),), NOW + 60_000)
    assert queues.queue.watch([due, later]) == [True, True]
    assert list(queues.due_watches()) == [due]


def test_a_watch_further_ahead_than_a_queue_can_delay_is_still_sent(queues: Queues) -> None:
    assert queues.queue.watch([Watch((_run(0),), NOW + 10**8)]) == [True]


def test_the_depth_of_a_queue_shows_waiting_received_and_delayed_messages(queues: Queues) -> None:
    queues.queue.send([_message(_run(step), "normal", NOW) for step in range(12)], NOW)
    queues.queue.send([_message(_run(step), "normal", NOW + 60_000) for step in range(3)], NOW)
    assert [queues.queue.depth(priority) for priority in PRIORITIES] == [NOTHING, Depth(12, 0, 3), NOTHING]
    assert len(queues.receive("normal")) == 10
    assert queues.queue.depth("normal") == Depth(2, 10, 3)


@pytest.mark.parametrize(
    "body",
    [
        *("", "[]", "{}", '{"runs":[],"at":1,"look":1}', '{"runs":[["acme","job.1"]],"at":1,"look":1}'),
        *('{"runs":7,"at":1,"look":1}', '{"runs":[[1,"x"]],"at":1,"look":1}', '{"runs":[["acme"]],"at":1,"look":1}'),
        pytest.param("[" * 100_000, id="nested too deeply"),
    ],
)
def test_a_watch_that_names_no_runs_is_an_error_of_its_own(body: str) -> None:
    with pytest.raises(UnreadableMessageError):
        parse_watch({"messageId": "m", "body": body})


def test_a_message_sent_again_for_later_stays_away_and_counts_how_often_it_did_not_fit(queues: Queues) -> None:
    queues.queue.send([_message(_run(step), "low", NOW) for step in range(2)], NOW)
    inbox = queues.inbox("low")
    now, later = inbox.receive(10, 60)
    assert inbox.send_again([replace(later, unfit=7)], 60) == [True]
    assert inbox.send_again([replace(now, unfit=1)], 0) == [True]
    assert [(one.run, one.not_before, one.unfit) for one in inbox.receive(10, 60)] == [(now.run, now.not_before, 1)]


@pytest.mark.parametrize("unfit", ["-1", '"often"', "null", "{}"])
def test_a_message_with_an_unreadable_count_of_misfits_counts_as_new(unfit: str) -> None:
    body = f'{{"tenant":"acme","runs":["{_run(0)}"],"unfit":{unfit}}}'
    assert [one.unfit for one in parse_message({"body": body, "receiptHandle": "r"})] == [0]


def test_an_executor_takes_waiting_messages_and_sends_them_again_for_others(queues: Queues) -> None:
    queues.queue.send([_message(_run(step), "low", NOW) for step in range(4)], NOW)
    inbox = queues.inbox("low")
    assert queues.inbox("high").receive(10, 60) == []
    taken = inbox.receive(3, 60)
    assert len(taken) == 3
    assert inbox.send_again(taken[:2], 0) == [True] * 2
    again = _receive_all(queues, "low")
    assert sorted(one.run for one in again) == sorted({_run(step) for step in range(4)} - {taken[2].run})
    inbox.delete([*taken, *again])
    inbox.hide([*taken, *again], 0)
    assert inbox.receive(10, 60) == []


def test_runs_of_one_tenant_and_instant_share_a_message_and_others_do_not(together: Queues) -> None:
    alike = [_message(_run(step), "normal", NOW) for step in range(12)]
    another = replace(_message(_run(12), "normal", NOW), id=replace(_run(12), job=JobKey("other", "job")))
    later = _message(_run(13), "normal", NOW + 1)
    assert together.queue.send([*alike[:6], another, later, *alike[6:]], NOW) == [True] * 14
    deliveries = _receive_all(together, "normal")
    assert sorted(one.together for one in deliveries) == [1] * 2 + [2] * 2 + [5] * 10
    assert len({one.receipt for one in deliveries}) == 5
    for one in deliveries:
        of_its_message = [other for other in deliveries if other.receipt == one.receipt]
        assert len(of_its_message) == one.together
        assert len({(other.run.job.tenant, other.not_before) for other in of_its_message}) == 1
    assert sorted(one.run for one in deliveries) == sorted(row.id for row in [*alike, another, later])


def test_runs_of_one_message_are_hidden_and_removed_together_and_some_may_be_sent_again(
    together: Queues,
) -> None:
    together.queue.send([_message(_run(step), "normal", NOW) for step in range(5)], NOW)
    deliveries, inbox = together.receive("normal"), together.inbox("normal")
    inbox.hide(deliveries[:1], 0)
    deliveries = together.receive("normal")
    assert len(deliveries) == 5
    assert inbox.send_again(deliveries[1:3], 0) == [True, True]
    inbox.delete(deliveries[:1])
    inbox.hide(deliveries[:1], 0)
    again = _receive_all(together, "normal")
    assert [(one.run, one.together) for one in again] == [(_run(1), 2), (_run(2), 2)]
    assert inbox.send_again(again[:1], 60) == [True]
    assert _receive_all(together, "normal") == []


def test_the_limit_of_a_receive_counts_messages(together: Queues) -> None:
    together.queue.send([_message(_run(step), "low", NOW) for step in range(15)], NOW)
    assert len(together.inbox("low").receive(2, 60)) == 10
    assert together.queue.depth("low") == Depth(1, 2, 0)
