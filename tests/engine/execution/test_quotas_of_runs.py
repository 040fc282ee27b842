"""Quotas of runs: no more runs begin in a second, or are under way, than a tenant's quota allows; the others wait."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service, at
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.blackouts.freezes import note_quotas
from timeball.engine.changes.change import pause, resume
from timeball.engine.context import Rules
from timeball.engine.stats import used_of_quotas
from timeball.testing.memory_store import MemoryStore


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        yield made


def _begin(service: Service, jobs: int, quotas: Quotas, takes_seconds: float = 0, tenant: str = "acme") -> None:
    """Store jobs that are due at once, of a tenant with quotas; each call takes this long."""
    note_quotas(service.play.context(), tenant, quotas)
    service.target.takes = lambda _: int(takes_seconds * SECOND_MS)
    made = [spec(f"job-{n}", At(at(10))) for n in range(jobs)]
    service.play.store_jobs([replace(one, key=JobKey(tenant, one.key.job_id)) for one in made])


def _runs(service: Service) -> list[Run]:
    assert isinstance(service.play.store, MemoryStore)
    return list(service.play.store.runs.values())


def _begins(service: Service, tenant: str = "acme") -> Counter[int]:
    """Return how many calls began in each second of the clock, counted from the second in which all were due."""
    calls = [called_at for called_at, call in service.target.calls if call.run.job.tenant == tenant]
    return Counter(called_at // SECOND_MS - at(10) // SECOND_MS for called_at in calls)


def _most_at_once(service: Service) -> int:
    visits = service.target.visits
    return max(
        sum(one.from_at <= visit.from_at < max(one.to_at, one.from_at + 1) for one in visits) for visit in visits
    )


def test_no_more_runs_begin_in_a_second_than_the_quota_allows_and_each_waits_once(service: Service) -> None:
    _begin(service, 60, Quotas(runs_per_second=10))
    service.until(at(60))
    assert (max(_begins(service).values()), sum(_begins(service).values()), max(_begins(service))) == (10, 60, 6)
    assert {run.state for run in _runs(service)} == {RunState.SUCCEEDED}
    assert {run.attempt for run in _runs(service)} == {1}
    assert len(service.play.queue.sent) <= 60 + 50


def test_no_more_runs_are_under_way_than_the_quota_allows_and_all_run(service: Service) -> None:
    _begin(service, 12, Quotas(runs_at_once=3), takes_seconds=2.5)
    service.until(at(120))
    assert _most_at_once(service) == 3
    assert {(run.state, run.attempt) for run in _runs(service)} == {(RunState.SUCCEEDED, 1)}
    assert len(service.target.visits) == 12


def test_both_quotas_hold_at_once(service: Service) -> None:
    _begin(service, 12, Quotas(runs_at_once=3, runs_per_second=2), takes_seconds=1.5)
    service.until(at(120))
    assert max(_begins(service).values()) == 2
    assert _most_at_once(service) == 3
    assert len(service.target.visits) == 12


def test_waiting_runs_show_the_reason(service: Service) -> None:
    _begin(service, 3, Quotas(runs_at_once=1), takes_seconds=20)
    service.until(at(12))
    reasons = Counter((run.state, run.reason) for run in _runs(service))
    assert reasons == {(RunState.RUNNING, None): 1, (RunState.QUEUED, Reason.QUOTA_WAIT): 2}
    used = used_of_quotas(service.play.context(), "acme", Quotas(runs_at_once=1))
    assert (used["runs_at_once"], "runs_per_second" in used) == (1, False)


def test_while_runs_wait_for_the_rate_quota_all_tokens_of_the_second_are_shown_as_used(service: Service) -> None:
    quotas = Quotas(runs_per_second=10)
    _begin(service, 60, quotas)
    told = []
    for second in (9, 11, 12, 14, 17):
        service.until(at(second))
        used = used_of_quotas(service.play.context(), "acme", quotas)
        told.append((used["runs_per_second"], "runs_at_once" in used))
    assert told == [(0, False), (10, False), (10, False), (10, False), (0, False)]


def test_other_tenants_are_on_time_and_pay_nothing(service: Service) -> None:
    _begin(service, 5, Quotas(), tenant="globex")
    _begin(service, 20, Quotas(runs_at_once=1), takes_seconds=1)
    service.until(at(20))
    assert _begins(service, "globex") == {0: 5}
    assert isinstance(service.play.store, MemoryStore)
    assert set(service.play.store.limiters) == {LimiterKey("acme")}


def test_the_settings_bound_tenants_without_a_quota_of_their_own() -> None:
    with Service(Play(rules=Rules(shards=1, runs_per_second=4))) as service:
        _begin(service, 8, Quotas())
        service.until(at(30))
        assert _begins(service) == {0: 3, 1: 4, 2: 1}  # the first second is not a whole one


def test_a_slot_of_an_executor_that_died_is_free_after_its_lease(service: Service) -> None:
    _begin(service, 2, Quotas(runs_at_once=1), takes_seconds=1_000)
    service.until(at(11))
    service.kill_executors()
    service.target.takes = lambda _: 1_000
    service.until(at(200))
    assert [run.state for run in _runs(service)] == [RunState.SUCCEEDED] * 2
    assert _most_at_once(service) == 1


def test_retries_take_rate_tokens_too() -> None:
    with Service(Play(rules=Rules(shards=1, host_failures=1_000))) as service:
        service.target.statuses = [503] * 6
        _begin(service, 6, Quotas(runs_per_second=2))
        service.until(at(60))
        assert _begins(service) == {**dict.fromkeys(range(3), 2), **dict.fromkeys(range(5, 8), 2)}


def test_a_rate_token_that_a_pause_discards_is_taken_anew(service: Service) -> None:
    _begin(service, 6, Quotas(runs_per_second=1))
    service.until(at(11))
    keys = [(JobKey("acme", f"job-{n}"), None) for n in range(6)]
    pause(service.play.context(), keys)
    service.until(at(20))
    resume(service.play.context(), keys)
    service.until(at(60))
    assert max(_begins(service).values()) == 1
    assert len(service.target.calls) == 6


def test_a_run_is_named_in_the_limiter_before_it_is_claimed(service: Service) -> None:
    _begin(service, 1, Quotas(runs_at_once=1), takes_seconds=5)
    service.until(at(12))
    assert isinstance(service.play.store, MemoryStore)
    (begun,) = service.play.store.limiters[LimiterKey("acme")].begun
    assert (begun.run, begun.attempt) == (RunId(JobKey("acme", "job-0"), at(10), Origin.SCHEDULE), 1)
    assert begun.until > NOW
