"""Triggers in a row are collected into one run with the last payload. It starts after a pause, or the longest wait."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls
from timeball.domain.model.ids import Origin
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.flow import Debounce, Flow
from timeball.domain.planning.collecting import MOST_REQUESTS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.runs.manual import cancel_runs
from timeball.engine.runs.trigger import Trigger, Triggered, Triggering, trigger

STARTED, COLLECTED, REPEATED = Triggering.STARTED, Triggering.COLLECTED, Triggering.REPEATED


def begin(service: Service, seconds: int = 10, max_seconds: int = 30) -> None:
    wanted = spec("job", Every(86_400, at(86_400)))
    service.play.store_jobs([replace(wanted, flow=Flow(debounce=Debounce(seconds, max_seconds)))])


def push(service: Service, payload: int | None = None, **asked: Any) -> Triggered:
    asked = {"fingerprint": f"f{service.play.clock.now()} {payload}", **asked}
    own: dict[str, Any] = {} if payload is None else {"payload": str(payload), "has_payload": True}
    (one,) = trigger(service.play.context(), [Trigger(KEY, **own, **asked)])
    return one


def by_hand(service: Service) -> list[Run]:
    return [run for run in service.play.runs(KEY) if run.id.origin is Origin.MANUAL]


def counts(service: Service) -> list[int]:
    return [run.collected.count for run in by_hand(service) if run.collected is not None]


def payloads(service: Service) -> list[str | None]:
    return [call.work.payload for _, call in service.target.calls]


def test_one_run_starts_after_a_pause_of_triggers_with_the_last_payload(service: Service) -> None:
    begin(service)
    outcomes = []
    for second in (1, 6, 12):
        service.until(at(second))
        outcomes.append(push(service, second).outcome)
    service.until(at(60))
    assert outcomes == [STARTED, COLLECTED, COLLECTED]
    assert calls(service) == [(1, 22)]
    assert (payloads(service), counts(service)) == (["12"], [3])
    (run,) = by_hand(service)
    assert (run.state, run.lateness_ms, run.due_at) == (RunState.SUCCEEDED, 0, None)


def test_the_run_starts_when_the_longest_wait_is_over_at_the_latest(service: Service) -> None:
    begin(service)
    for second in range(0, 60, 5):
        service.until(at(second))
        push(service, second)
    service.until(at(120))
    assert [called for _, called in calls(service)] == [30, 60]
    assert sum(counts(service)) == 12


def test_a_trigger_without_a_payload_resets_it_to_the_jobs_payload(service: Service) -> None:
    begin(service)
    push(service, 1)
    push(service)
    service.until(at(20))
    assert payloads(service) == [spec("job", Every(1, 0)).work.payload]  # type: ignore[union-attr]


def test_a_trigger_after_the_run_has_begun_makes_another(service: Service) -> None:
    begin(service, seconds=2)
    service.target.takes = lambda _: 5_000
    push(service, 1)
    service.until(at(3))
    assert push(service, 2).outcome is STARTED
    service.until(at(30))
    assert (payloads(service), counts(service)) == (["1", "2"], [1, 1])


# Columns: `debounceSeconds`, how far apart triggers come, and how many. The claim is half a second before the start.
SHORT_WAITS = [
    (1, 0.3, 40),
    (1, 0.45, 20),
    (2, 1.45, 20),
    (4, 0.4, 75),
    (6, 3, 5),
    (6, 5.4, 9),
    (10, 9.3, 4),
    (14, 13, 3),
]


@pytest.mark.parametrize(("seconds", "apart", "count"), SHORT_WAITS)
@pytest.mark.parametrize("together", [1, 5])
def test_triggers_that_come_before_a_short_wait_is_over_have_one_run(
    service: Service, seconds: int, apart: float, count: int, together: int
) -> None:
    """This holds also if the executor has other runs at the same time, and would claim this run together with them."""
    begin(service, seconds, max_seconds=seconds * 100)
    for other in range(1, together):
        service.play.store_jobs([spec(f"beside-{other}", Every(1, at(other / 7)))])
    for number in range(count):
        service.until(at(number * apart))
        push(service, number)
    starts_at = (count - 1) * apart + seconds
    service.until(at(starts_at + 60))
    mine = [(call.work.payload, called) for called, call in service.target.calls if call.run.job == KEY]
    assert counts(service) == [count]
    assert [payload for payload, _ in mine] == [str(count - 1)]
    assert mine[0][1] == at((count - 1) * apart) + seconds * 1_000


@pytest.mark.parametrize("ahead_ms", [4_000, 2_000, 600])
def test_a_trigger_postpones_a_run_whose_message_is_on_its_way(service: Service, ahead_ms: int) -> None:
    begin(service)
    push(service, 1)
    service.until(at(10) - ahead_ms)
    assert by_hand(service)[0].due_at is None, "the scan has sent it"
    assert push(service, 2).outcome is COLLECTED
    service.until(at(60))
    assert [called for _, called in calls(service)] == [20 - ahead_ms / 1_000]
    assert payloads(service) == ["2"]


def test_a_repeated_request_is_counted_once_even_after_its_run_is_over(service: Service) -> None:
    begin(service)
    first = push(service, 1, request="a", fingerprint="f")
    push(service, 2, request="b", fingerprint="f")
    again = push(service, 1, request="a", fingerprint="f")
    assert (again.outcome, payloads(service)) == (REPEATED, [])
    service.until(at(30))
    later = push(service, 2, request="b", fingerprint="f")
    assert later.outcome is REPEATED
    assert later.run is not None
    assert first.run is not None
    assert later.run.id == first.run.id
    push(service, 3)
    assert push(service, 1, request="a", fingerprint="f").outcome is REPEATED
    service.until(at(60))
    assert (payloads(service), counts(service)) == (["2", "3"], [2, 1])


def test_a_request_name_that_is_reused_for_another_request_is_a_conflict(service: Service) -> None:
    begin(service)
    push(service, 1, request="a", fingerprint="f")
    assert push(service, 2, request="a", fingerprint="g").outcome is Triggering.CONFLICT
    service.until(at(60))
    assert (payloads(service), counts(service)) == (["1"], [1])


def test_requests_that_the_runs_row_no_longer_lists_make_no_second_run(service: Service) -> None:
    begin(service)
    for number in range(MOST_REQUESTS + 3):
        push(service, number, request=f"r{number}", fingerprint="f")
    service.until(at(60))
    assert push(service, 0, request="r0", fingerprint="f").outcome is REPEATED
    service.until(at(90))
    assert counts(service) == [MOST_REQUESTS + 3]


def test_a_request_that_the_runs_row_no_longer_lists_is_not_collected_again(service: Service) -> None:
    begin(service)
    for number in range(MOST_REQUESTS + 3):
        push(service, number, request=f"r{number}", fingerprint="f")
    again = [push(service, number, request=f"r{number}", fingerprint="f").outcome for number in (0, 2, 3)]
    assert again == [REPEATED] * 3
    push(service, 77)
    service.until(at(60))
    assert (payloads(service), counts(service)) == (["77"], [MOST_REQUESTS + 4])


def test_a_request_that_a_full_row_never_recorded_does_not_count_as_collected(service: Service) -> None:
    """The request's process died after it had noted the run, and the run began without the request."""
    begin(service)
    for number in range(MOST_REQUESTS):
        push(service, number, request=f"r{number}", fingerprint="f")
    (run,) = by_hand(service)
    service.play.store.requests.note([((KEY, "late 0"), run.id.fire_at)], at(0))
    service.until(at(30))
    assert push(service, 99, request="late", fingerprint="f").outcome is STARTED
    service.until(at(60))
    assert payloads(service) == [str(MOST_REQUESTS - 1), "99"]


def test_a_cancelled_run_collects_no_more_triggers(service: Service) -> None:
    begin(service)
    first = push(service, 1).run
    assert first is not None
    cancel_runs(service.play.context(), [first.id])
    service.until(at(1))
    assert push(service, 2).outcome is STARTED
    service.until(at(60))
    assert payloads(service) == ["2"]


def test_a_cancelled_job_collects_nothing_and_starts_nothing(service: Service) -> None:
    begin(service)
    push(service, 1)
    cancel(service.play.context(), [(KEY, None)])
    assert push(service, 2).outcome is Triggering.CANCELLED
    service.until(at(60))
    assert calls(service) == []


def test_a_paused_job_can_be_triggered(service: Service) -> None:
    begin(service)
    pause(service.play.context(), [(KEY, None)])
    push(service, 1)
    push(service, 2)
    service.until(at(20))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(60))
    assert (payloads(service), counts(service)) == (["2"], [2])
