"""A dead host costs a bounded number of calls, delays no other host's runs, and is not flooded when it is back."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play
from tests.engine.service import Service, Target, at
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import cancel
from timeball.engine.context import Rules
from timeball.ports.target import Answer, Call
from timeball.targets.calls import unanswered

BACK_AT = at(600)
"""The instant at which the dead host answers again."""


@dataclass
class Hosts(Target):
    """Two hosts: one always answers, and the other only from an instant on."""

    back_at: int = BACK_AT
    takes_to_fail_ms: int = 0

    async def call(self, call: Call) -> Answer:
        if call.work.target.resource == "https://dead.example" and self.clock.now() < self.back_at:
            called_at = self.clock.now()
            self.calls.append((called_at, call))
            await self.clock.sleep_until(called_at + self.takes_to_fail_ms)
            return unanswered(call, None, self.clock.now(), "It refused the connection.")
        return await super().call(call)

    def of(self, host: str) -> list[int]:
        """Return when a host was called."""
        return [called_at for called_at, call in self.calls if call.work.target.resource == f"https://{host}"]


def _job(
    name: str, host: str, timing: Timing | Schedule, retry: RetryPolicy = PLAIN_RETRY, tenant: str = "acme"
) -> JobSpec:
    schedule = timing if isinstance(timing, Schedule) else Schedule(timing)
    work = Work(HttpTarget(f"https://{host}/hook"))
    return JobSpec(JobKey(tenant, name), schedule, work, f"print-{name}", retry=retry)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        made.target = Hosts(made.play.clock)
        yield made


def _calls(service: Service, host: str) -> list[int]:
    assert isinstance(service.target, Hosts)
    return service.target.of(host)


def _begin(service: Service, jobs: int = 300) -> None:
    """Store jobs of a dead host, one due every second, each retried for hours; and one of a host that answers."""
    patient = RetryPolicy(max_retries=20, base_seconds=5, max_seconds=600)
    dead = [_job(f"dead-{n}", "dead.example", At(at(n)), patient) for n in range(jobs)]
    service.play.store_jobs([*dead, _job("alive", "alive.example", Every(1, NOW))])


def test_a_dead_host_costs_a_bounded_number_of_calls_however_many_runs_are_due(service: Service) -> None:
    _begin(service)
    service.until(BACK_AT - 1)
    calls = _calls(service, "dead.example")
    # Five failures, then a probe after 30, 60, 120 and 240 s; without the breaker each of 300 jobs calls several times.
    assert 5 < len(calls) <= 10
    assert all(later - earlier >= 29_000 for earlier, later in pairwise(calls[5:]))


def test_runs_of_other_hosts_are_on_time_beside_a_dead_host(service: Service) -> None:
    assert isinstance(service.target, Hosts)
    service.target.takes_to_fail_ms = 20_000
    _begin(service)
    service.until(at(300))
    alive = [
        (at, call.run.fire_at)
        for at, call in service.target.calls
        if call.work.target.resource == "https://alive.example"
    ]
    assert len(alive) == 301
    assert [called_at - fire_at for called_at, fire_at in alive if called_at != fire_at] == []


def test_after_their_host_is_back_all_waiting_runs_are_called_at_the_allowed_rate(service: Service) -> None:
    _begin(service)
    service.until(BACK_AT + 20 * MINUTE_MS)
    calls = [called_at for called_at in _calls(service, "dead.example") if called_at >= BACK_AT]
    assert len(calls) == 300
    rules = Rules().circuits
    for begin in calls:
        within = [called_at for called_at in calls if begin <= called_at < begin + SECOND_MS]
        assert len(within) <= rules.burst + rules.retries_per_second
    for n in range(300):
        (run,) = service.play.runs(JobKey("acme", f"dead-{n}"))
        assert run.state is RunState.SUCCEEDED
        assert run.attempt <= 4  # waiting uses up no attempts


def test_a_storm_of_retries_keeps_the_rate_after_its_first_burst() -> None:
    """Two hundred runs fail at once, and their retries are due in the same seconds. The circuit never opens."""
    play = Play(rules=Rules(shards=1, host_failures=10_000))
    with Service(play) as service:
        jobs = [_job(f"job-{n}", "busy.example", At(NOW), replace(PLAIN_RETRY, base_seconds=20)) for n in range(200)]
        play.store_jobs(jobs)
        service.target.statuses = [503] * 200
        service.until(at(120))
        retries = Counter(
            (called_at - NOW) // SECOND_MS for called_at, call in service.target.calls if call.attempt > 1
        )
    rules = play.rules.circuits
    (first, burst), *later = sorted(retries.items())
    assert first == 20
    assert burst <= rules.burst + rules.retries_per_second
    assert {count for _, count in later[:-1]} == {rules.retries_per_second}
    assert sum(retries.values()) == 200


# How long (s) the only attempt before took; its retry then meets an open circuit.
OCCUPIED = {"a call of minutes": 800, "a guard that is held for minutes": 0}


@pytest.mark.parametrize("case", OCCUPIED)
def test_only_the_wait_for_its_host_uses_up_a_runs_waiting_time(service: Service, case: str) -> None:
    patient = replace(PLAIN_RETRY, max_seconds=60)
    openings = Circuit(CircuitKey("acme", "https://slow.example"), failures=5, openings=1, open_until=at(830))
    if OCCUPIED[case]:
        service.target.statuses = [503]
        job = replace(_job("job", "slow.example", At(NOW), patient), timeout_seconds=840)
    else:
        twice = Schedule(Every(10, NOW), end_at=at(10))
        job = replace(_job("job", "slow.example", twice, patient), timeout_seconds=840, overlap=OverlapPolicy.QUEUE_ONE)
    service.target.takes = lambda call: 800 * SECOND_MS if call.attempt == 1 and call.run.fire_at == NOW else 0
    service.play.store_jobs([job])
    service.until(at(799))
    service.play.store.circuits.insert([openings], service.play.clock.now())
    service.until(at(1000))
    run = service.play.runs(job.key)[-1]
    assert (run.state, run.reason) == (RunState.SUCCEEDED, None)
    assert run.first_started_at is not None
    assert [called_at for called_at in _calls(service, "slow.example") if called_at < at(830)] == [NOW]


def test_a_run_becomes_a_dead_letter_after_waiting_for_as_long_as_its_retries_might_have_taken(
    service: Service,
) -> None:
    assert isinstance(service.target, Hosts)
    service.target.back_at = at(10**6)
    short = replace(PLAIN_RETRY, max_retries=0)
    jobs = [_job(f"dead-{n}", "dead.example", At(at(n)), short) for n in range(20)]
    service.play.store_jobs(jobs)
    service.until(at(40 * 60))
    runs = [service.play.runs(job.key)[0] for job in jobs]
    assert {run.state for run in runs} == {RunState.FAILED}
    assert {run.reason for run in runs} == {Reason.RETRIES_EXHAUSTED, Reason.HOST_DOWN}
    given_up = [run for run in runs if run.reason is Reason.HOST_DOWN]
    assert all(run.attempt == 0 and run.is_dead_letter for run in given_up)
    assert all((run.finished_at or 0) <= run.id.fire_at + 11 * MINUTE_MS for run in given_up)


def test_a_run_that_waits_for_its_host_shows_the_reason_and_can_be_cancelled(service: Service) -> None:
    _begin(service, 20)
    service.until(at(25))
    (run,) = service.play.runs(JobKey("acme", "dead-19"))
    assert (run.state, run.reason, run.attempt) == (RunState.QUEUED, Reason.CIRCUIT_OPEN, 0)
    assert (run.due_at or 0) > at(25)
    cancel(service.play.context(), [(run.id.job, None)])
    service.until(BACK_AT + 20 * MINUTE_MS)
    (run,) = service.play.runs(JobKey("acme", "dead-19"))
    assert (run.state, run.reason, run.attempt) == (RunState.CANCELLED, Reason.JOB_CANCELLED, 0)


def test_a_run_that_waits_for_the_overlap_lock_does_not_use_up_a_probe_of_the_lock_holder(
    service: Service,
) -> None:
    assert isinstance(service.target, Hosts)
    service.target.back_at = at(100)
    patient = replace(PLAIN_RETRY, max_retries=20)
    locked = replace(_job("guarded", "dead.example", Every(3, NOW), patient), overlap=OverlapPolicy.QUEUE_ONE)
    service.play.store_jobs([locked])
    service.until(at(300))
    rows = service.play.runs(locked.key)
    assert len([called_at for called_at in _calls(service, "dead.example") if called_at < at(100)]) <= 8
    assert sum(row.state is RunState.SUCCEEDED for row in rows) > 20
    assert {row.reason for row in rows if row.state is RunState.SKIPPED} == {Reason.OVERLAP}


def test_a_tenants_dead_host_does_not_affect_other_tenants(service: Service) -> None:
    _begin(service, 20)
    service.play.store_jobs([_job("other", "dead.example", At(at(25)), tenant="other")])
    service.until(at(26))
    assert at(25) in _calls(service, "dead.example")
    acme, other = service.play.store.circuits.read(
        [CircuitKey("acme", "https://dead.example"), CircuitKey("other", "https://dead.example")]
    )
    assert acme is not None
    assert other is not None
    assert (acme.openings, other.openings) == (1, 0)


def test_a_host_that_answers_has_no_row(service: Service) -> None:
    service.play.store_jobs([_job("alive", "alive.example", Every(1, NOW))])
    service.until(at(10))
    assert service.play.store.circuits.read([CircuitKey("acme", "https://alive.example")]) == [None]
