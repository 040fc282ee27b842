"""A run that waits for an open circuit: what counts towards its waiting time, and what becomes of later fires."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import KEY, Service, assert_guard_is_free, at
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import pause, resume
from timeball.ports.rows import Swap

HOST = Circuit(CircuitKey("acme", "https://target.example"), failures=5, openings=1)
TEN_MINUTES = replace(PLAIN_RETRY, max_seconds=60)
"""The waiting time of a run whose retries might take three minutes."""


def _rest(service: Service, until: int, openings: int = 1) -> None:
    """Open the host's circuit until an instant, whatever its state was."""
    store, now = service.play.store, service.play.clock.now()
    (row,) = store.circuits.read([HOST.key])
    after = replace(HOST, openings=openings, open_until=until)
    if row is None:
        assert store.circuits.insert([after], now) == [None]
    else:
        assert store.circuits.swap([Swap(row, after)], now)[0].done


def _paused(service: Service, openings: int) -> None:
    service.play.store_jobs([spec("job", At(at(1)), TEN_MINUTES)])
    _rest(service, at(30), openings)
    service.until(at(5))
    pause(service.play.context(), [(KEY, None)])
    service.until(at(1200))
    _rest(service, at(1230))
    resume(service.play.context(), [(KEY, None)])


def _without_executors(service: Service) -> None:
    service.play.store_jobs([spec("job", At(at(1)), TEN_MINUTES)])
    _rest(service, at(30))
    service.until(at(5))
    service.engine.is_executing = False
    service.until(at(1200))
    _rest(service, at(1230))
    service.engine.is_executing = True


def _parked(service: Service) -> None:
    twice = Schedule(Every(10, NOW), end_at=at(10))
    service.play.store_jobs(
        [replace(spec("job", twice, TEN_MINUTES), overlap=OverlapPolicy.QUEUE_ONE, timeout_seconds=840)]
    )
    service.target.takes = lambda call: 800_000 if call.run.fire_at == NOW else 0
    service.until(at(8))
    _rest(service, at(30))
    service.until(at(790))
    _rest(service, at(830))


# The causes that delay a run for twenty minutes (the last: thirteen), between two short openings of its host's circuit.
KEPT: dict[str, Callable[[Service], None]] = {
    "its job is paused": lambda service: _paused(service, openings=1),
    "its job is paused while its host rests for long": lambda service: _paused(service, openings=6),
    "no executor works": _without_executors,
    "its guard is held by an earlier run": _parked,
}


@pytest.mark.parametrize("case", KEPT)
def test_a_later_delay_of_another_kind_does_not_count_as_waiting_for_the_host(case: str) -> None:
    with Service(Play()) as service:
        KEPT[case](service)
        service.until(at(3600))
        run = service.play.runs(KEY)[-1]
        assert (run.state, run.reason) == (RunState.SUCCEEDED, None)
        assert service.target.calls[-1][1].run == run.id


def test_consecutive_openings_add_up_to_a_runs_waiting_time() -> None:
    with Service(Play()) as service:
        service.play.store_jobs([spec("job", At(NOW), TEN_MINUTES)])
        for minute in range(15):
            _rest(service, at(60 * minute + 60))
            service.until(at(60 * minute + 59))
        (run,) = service.play.runs(KEY)
        assert (run.state, run.reason) == (RunState.FAILED, Reason.HOST_DOWN)
        assert service.target.calls == []
        assert run.finished_at is not None
        assert at(599) <= run.finished_at <= at(602)  # messages are received at whole seconds


# By policy: the fire that is called when the host is back, and why the fires before it are skipped.
OVERLAPS = {
    OverlapPolicy.SKIP: ([0], Reason.OVERLAP),
    OverlapPolicy.QUEUE_ONE: ([0, 10], Reason.OVERLAP),
    OverlapPolicy.CANCEL_OTHER: ([240], Reason.REPLACED),
}


@pytest.mark.parametrize("overlap", OVERLAPS, ids=str)
def test_an_open_circuit_does_not_pile_up_fires_of_a_job_with_an_overlap_lock(overlap: OverlapPolicy) -> None:
    called, reason = OVERLAPS[overlap]
    with Service(Play()) as service:
        service.play.store_jobs([replace(spec("job", Schedule(Every(10, NOW), end_at=at(240))), overlap=overlap)])
        _rest(service, at(245), openings=4)
        service.until(at(1500))
        assert [(call.run.fire_at - NOW) // 1000 for _, call in service.target.calls] == called
        assert {run.reason for run in service.play.runs(KEY) if run.state is RunState.SKIPPED} == {reason}
        assert_guard_is_free(service.play)
