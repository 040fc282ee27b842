"""Lateness counts from the end of the last gate that delayed a run, and the row shows how long each gate did."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY, Service, at
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import NO_WAITS, GateWaits
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, RateLimit
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.blackouts.freezes import create_freeze, note_quotas
from timeball.engine.changes.change import pause, resume
from timeball.engine.metrics import Metric


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        yield made


def _one(service: Service, job_id: str = "job") -> Run:
    (run,) = service.play.runs(JobKey("acme", job_id))
    return run


def _in_seconds(held: GateWaits) -> dict[str, int]:
    """Return the gates that delayed a run, in whole seconds; other gates are left out."""
    gates = ("parents", "limits", "quota", "overlap", "circuit", "frozen")
    return {gate: round(ms / SECOND_MS) for gate in gates if (ms := getattr(held, gate))}


def _assert_held(run: Run, **seconds: int) -> None:
    assert _in_seconds(run.gate_waits) == seconds
    assert run.lateness_ms is not None
    assert run.lateness_ms <= SECOND_MS


def _keyed(job_id: str, flow: Flow) -> JobSpec:
    return replace(spec(job_id, At(at(10))), flow=flow)


def test_the_row_of_a_plain_run_shows_no_gates(service: Service) -> None:
    service.play.store_jobs([spec("job", At(at(10)))])
    service.until(at(20))
    assert _one(service).gate_waits == NO_WAITS
    assert _one(service).lateness_ms == 0


@pytest.mark.parametrize("is_recurring", [True, False])
def test_a_child_is_not_late_because_of_its_parents_time(*, is_recurring: bool) -> None:
    parent = evolve(node("a"), schedule=Schedule(Every(60, BEGIN))) if is_recurring else node("a")
    with Graph(parent, node("b", "a")) as graph:
        graph.takes_ms["a"] = 12 * SECOND_MS
        graph.until(30)
        (child,) = graph.play.runs(key("b"))
        assert child.lateness_ms is not None
        assert child.lateness_ms <= 2 * SECOND_MS
        assert 12 <= _in_seconds(child.gate_waits)["parents"] <= 14


def test_jitter_is_not_lateness(service: Service) -> None:
    service.play.store_jobs([replace(spec("job", Schedule(Every(600, at(10)), max_runs=1)), jitter_seconds=300)])
    service.until(at(400))
    run = _one(service)
    assert run.first_started_at is not None
    assert run.first_started_at > run.regular_at + SECOND_MS
    _assert_held(run)


def test_the_wait_in_a_limiters_line_counts_as_limits(service: Service) -> None:
    flow = Flow(concurrency=ConcurrencyLimit("db", 1))
    service.play.store_jobs([_keyed("a", flow), _keyed("b", flow)])
    service.target.takes = lambda _: 20 * SECOND_MS
    service.until(at(90))
    held = sorted(((_one(service, name)) for name in "ab"), key=lambda run: run.first_started_at or 0)
    _assert_held(held[0])
    _assert_held(held[1], limits=20)


def test_the_wait_for_a_rate_token_counts_as_limits(service: Service) -> None:
    flow = Flow(rate=RateLimit("api", 0.2))
    service.play.store_jobs([_keyed(name, flow) for name in "abc"])
    service.until(at(90))
    runs = sorted((_one(service, name) for name in "abc"), key=lambda run: run.first_started_at or 0)
    for number, run in enumerate(runs):
        _assert_held(run, **({"limits": number * 5} if number else {}))


def test_the_wait_for_a_tenants_quota_counts_as_quota(service: Service) -> None:
    note_quotas(service.play.context(), "acme", Quotas(runs_at_once=1))
    service.play.store_jobs([spec(name, At(at(10))) for name in "ab"])
    service.target.takes = lambda _: 20 * SECOND_MS
    service.until(at(120))
    runs = sorted((_one(service, name) for name in "ab"), key=lambda run: run.first_started_at or 0)
    _assert_held(runs[1], quota=20)


def test_the_wait_for_an_earlier_run_of_the_job_counts_as_overlap(service: Service) -> None:
    wanted = spec("job", Schedule(Every(10, NOW), end_at=at(10)))
    service.play.store_jobs([replace(wanted, overlap=OverlapPolicy.QUEUE_ONE)])
    service.target.takes = lambda _: 125 * SECOND_MS
    service.until(at(300))
    first, second = service.play.runs(KEY)
    _assert_held(first)
    _assert_held(second, overlap=115)


def test_the_wait_for_an_open_circuit_counts_as_circuit(service: Service) -> None:
    dead = Circuit(CircuitKey("acme", "https://target.example"), failures=5, openings=1, open_until=at(40))
    service.play.store.circuits.insert([dead], service.play.clock.now())
    service.play.store_jobs([spec("job", At(at(10)))])
    service.until(at(120))
    run = _one(service)
    assert run.first_started_at is not None
    _assert_held(run, circuit=round((run.first_started_at - at(10)) / SECOND_MS))
    assert run.gate_waits.circuit >= 30 * SECOND_MS


@pytest.mark.parametrize("is_sent", [True, False])
def test_the_wait_of_a_one_off_for_a_freezes_end_counts_as_frozen(service: Service, *, is_sent: bool) -> None:
    service.play.store_jobs([spec("job", At(at(10)))])
    service.until(at(6 if is_sent else 1))
    start = 9 if is_sent else 4
    create_freeze(service.play.context(), "acme", Freeze("f", at(start), at(100), FreezeMatch(everything=True), NOW))
    service.until(at(130))
    _assert_held(_one(service), frozen=90)


def test_the_wait_of_a_one_off_for_a_resume_counts_as_frozen(service: Service) -> None:
    service.play.store_jobs([spec("job", At(at(10)))])
    service.until(at(1))
    pause(service.play.context(), [(KEY, None)])
    service.until(at(70))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(90))
    _assert_held(_one(service), frozen=60)


def test_a_fire_that_is_caught_up_has_no_lateness_and_counts_as_started(service: Service) -> None:
    catch_up = CatchUp(CatchUpPolicy.ALL, max_runs=5)
    service.play.store_jobs([replace(spec("job", Schedule(Every(10, NOW), end_at=at(30))), catch_up=catch_up)])
    service.engine.is_scanning = False
    service.until(at(200))
    service.engine.is_scanning = True
    service.until(at(230))
    runs = service.play.runs(KEY)
    assert len(runs) == 4
    assert all(run.first_started_at is not None and run.lateness_ms is None for run in runs)
    assert service.play.telemetry.totals[Metric.RUNS_STARTED] == 4
    assert service.play.telemetry.timings[Metric.LATENESS] == []


def test_a_run_that_starts_late_for_lack_of_executors_is_late(service: Service) -> None:
    service.play.store_jobs([spec("job", Every(600, at(10)))])
    service.engine.is_executing = False
    service.until(at(40))
    service.engine.is_executing = True
    service.until(at(60))
    run = _one(service)
    assert run.lateness_ms is not None
    assert run.lateness_ms >= 29 * SECOND_MS
