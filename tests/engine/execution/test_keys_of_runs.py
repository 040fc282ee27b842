"""Limiters that jobs name: no more runs at once, or per second, than they allow; waiting runs have an order."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service, at
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.model.jobs.job import Completion, JobSpec, Priority
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, OnFull, RateLimit
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.blackouts.freezes import note_quotas
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.quotas import LimitOutcome, fix_limit, read_limit
from timeball.engine.scheduling.submit import submit
from timeball.testing.memory_store import MemoryStore

DB = LimiterKey("acme", "db")


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        yield made


def _spec(name: str, slots: int | None = 3, per_second: float | None = None, due_at: int = at(10)) -> JobSpec:
    return replace(
        spec(name, At(due_at)),
        flow=Flow(
            concurrency=None if slots is None else ConcurrencyLimit("db", slots),
            rate=None if per_second is None else RateLimit("api", per_second),
        ),
    )


def _runs(service: Service) -> list[Run]:
    assert isinstance(service.play.store, MemoryStore)
    return list(service.play.store.runs.values())


def _states(service: Service) -> Counter[tuple[RunState, Reason | None]]:
    return Counter((run.state, run.reason) for run in _runs(service))


def _most_at_once(service: Service) -> int:
    visits = service.target.visits
    return max(
        sum(one.from_at <= visit.from_at < max(one.to_at, one.from_at + 1) for one in visits) for visit in visits
    )


def _takes(service: Service, seconds: float) -> None:
    service.target.takes = lambda _: int(seconds * SECOND_MS)


def _order(service: Service) -> list[str]:
    return [call.run.job.job_id for _, call in service.target.calls]


def test_two_hundred_jobs_share_three_slots_while_executors_are_killed(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}") for n in range(200)])
    _takes(service, 1.5)
    for second in (11, 20, 31, 47, 90):
        service.until(at(second))
        service.kill_executors()
    service.until(at(600))
    assert _states(service) == {(RunState.SUCCEEDED, None): 200}
    assert _most_at_once(service) == 3


def test_a_slot_that_becomes_free_is_taken_within_a_second(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=1) for n in range(10)])
    _takes(service, 20)
    service.until(at(400))
    visits = sorted((one.from_at, one.to_at) for one in service.target.visits)
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(visits)]
    assert len(visits) == 10
    assert 0 <= max(gaps) <= SECOND_MS


def test_waiting_runs_begin_by_priority_and_then_by_fire_time(service: Service) -> None:
    named = [("first", Priority.NORMAL, 10.0)]
    named += [(f"{priority}-{n}", priority, 11 + n / 10) for n in range(3) for priority in reversed(Priority)]
    service.play.store_jobs(
        [replace(_spec(name, slots=1, due_at=at(second)), priority=priority) for name, priority, second in named]
    )
    _takes(service, 5)
    service.until(at(120))
    assert _order(service) == ["first", *[f"{priority}-{n}" for priority in Priority for n in range(3)]]


def test_a_later_run_does_not_overtake_waiting_runs(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=1, due_at=at(10 + n)) for n in range(20)])
    _takes(service, 1.7)
    service.until(at(120))
    assert _order(service) == [f"job-{n}" for n in range(20)]


def test_waiting_runs_show_the_reason_and_the_limiter_shows_its_holders(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=1) for n in range(3)])
    _takes(service, 30)
    service.until(at(14))
    view = read_limit(service.play.context(), DB)
    assert view is not None
    assert view.limiter.bounds == Bounds(slots=1)
    assert [(run.state, run.attempt) for run in view.holders] == [(RunState.RUNNING, 1)]
    assert [(run.state, run.reason) for run in view.waiters] == [(RunState.QUEUED, Reason.LIMIT_WAIT)] * 2
    assert read_limit(service.play.context(), LimiterKey("globex", "db")) is None


def test_a_limiter_exists_before_a_run_has_asked_for_it(service: Service) -> None:
    submit(service.play.context(), [_spec("job", due_at=at(3600))], NOW)
    view = read_limit(service.play.context(), DB)
    assert view is not None
    assert (view.limiter.bounds.slots, view.holders, view.waiters) == (3, (), ())


def test_a_run_that_finds_no_free_slot_is_skipped_if_its_job_says_so(service: Service) -> None:
    skipping = ConcurrencyLimit("db", 1, OnFull.SKIP)
    jobs = [replace(_spec(f"job-{n}", due_at=at(10 + n)), flow=Flow(concurrency=skipping)) for n in range(3)]
    service.play.store_jobs([*jobs, replace(_spec("late", due_at=at(20)), flow=Flow(concurrency=skipping))])
    _takes(service, 5)
    service.until(at(60))
    assert _states(service) == {(RunState.SUCCEEDED, None): 2, (RunState.SKIPPED, Reason.LIMIT_FULL): 2}
    assert _order(service) == ["job-0", "late"]


def test_a_raised_limit_lets_waiting_runs_begin_and_a_lowered_limit_admits_no_more(
    service: Service,
) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=2) for n in range(40)])
    _takes(service, 10)
    service.until(at(15))
    assert _states(service)[RunState.RUNNING, None] == 2
    outcome, raised = fix_limit(service.play.context(), DB, Bounds(slots=8), None, service.play.clock.now())
    assert (outcome, raised.fixed.version) == (LimitOutcome.DONE, 2)
    service.until(at(17))
    assert _states(service)[RunState.RUNNING, None] == 8
    fix_limit(service.play.context(), DB, Bounds(slots=1), None, service.play.clock.now())
    service.until(at(37))
    begun = len(service.target.visits)
    service.until(at(67))
    assert 2 <= len(service.target.visits) - begun <= 3
    fix_limit(service.play.context(), DB, Bounds(slots=20), None, service.play.clock.now())
    service.until(at(120))
    assert _states(service) == {(RunState.SUCCEEDED, None): 40}


def test_a_limit_set_by_a_person_overrides_the_jobs_limits_until_it_is_removed(service: Service) -> None:
    context = service.play.context()
    assert fix_limit(context, DB, Bounds(slots=0), None, NOW)[0] is LimitOutcome.CREATED
    service.play.store_jobs([_spec(f"job-{n}") for n in range(3)])
    service.until(at(100))
    assert _states(service) == {(RunState.QUEUED, Reason.LIMIT_WAIT): 3}
    assert fix_limit(context, DB, Bounds(), 7, service.play.clock.now())[0] is LimitOutcome.STALE
    assert fix_limit(context, DB, Bounds(), 1, service.play.clock.now())[0] is LimitOutcome.DONE
    service.until(at(102))
    assert _states(service) == {(RunState.SUCCEEDED, None): 3}


def test_a_rate_of_fifty_a_second_is_kept_within_five_percent(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=None, per_second=50) for n in range(1000)])
    service.until(at(60))
    begun = sorted(called_at for called_at, _ in service.target.calls)
    assert len(begun) == 1000
    seconds = (begun[-1] - begun[0]) / SECOND_MS
    assert 19 <= seconds <= 21
    apart = [later - earlier for earlier, later in pairwise(begun)]
    assert min(apart) >= 19  # ms: 20 apart, but both instants may be rounded up
    assert {run.attempt for run in _runs(service)} == {1}


@pytest.mark.parametrize(("burst", "at_once"), [(1, 1), (5, 5)])
def test_no_more_calls_begin_at_once_than_the_burst_allows(service: Service, burst: int, at_once: int) -> None:
    rate = RateLimit("api", 1, burst)
    service.play.store_jobs([replace(_spec(f"job-{n}", slots=None), flow=Flow(rate=rate)) for n in range(12)])
    service.until(at(60))
    begun = Counter((called_at - at(10)) // 100 for called_at, _ in service.target.calls)
    assert (begun[0], max([n for moment, n in begun.items() if moment])) == (at_once, 1)
    assert sum(begun.values()) == 12


def test_urgent_runs_get_a_rate_token_first(service: Service) -> None:
    low = [replace(_spec(f"low-{n}", None, 1), priority=Priority.LOW) for n in range(20)]
    high = [replace(_spec(f"high-{n}", None, 1, at(14)), priority=Priority.HIGH) for n in range(5)]
    service.play.store_jobs([*low, *high])
    service.until(at(120))
    order = _order(service)
    assert len(order) == 25
    assert max(order.index(f"high-{n}") for n in range(5)) < 15


def test_a_concurrency_limit_a_rate_limit_and_a_quota_hold_together(service: Service) -> None:
    note_quotas(service.play.context(), "acme", Quotas(runs_at_once=5, runs_per_second=4))
    service.play.store_jobs([_spec(f"job-{n}", slots=2, per_second=1) for n in range(12)])
    service.play.store_jobs([spec(f"plain-{n}", At(at(10))) for n in range(12)])
    _takes(service, 1.5)
    service.until(at(200))
    assert _states(service) == {(RunState.SUCCEEDED, None): 24}
    keyed = [one for one in service.target.visits if one.run.job.job_id.startswith("job")]
    assert max(sum(two.from_at <= one.from_at < two.to_at for two in keyed) for one in keyed) <= 2
    assert _most_at_once(service) <= 5


def test_a_waiting_retry_holds_no_slot(service: Service) -> None:
    service.target.statuses = [503]
    service.play.store_jobs([_spec("a", slots=1), _spec("b", slots=1, due_at=at(10.5))])
    service.until(at(13))
    assert _order(service) == ["a", "b"]
    service.until(at(60))
    assert _states(service) == {(RunState.SUCCEEDED, None): 2}


def test_a_run_that_its_target_has_accepted_keeps_its_slot_until_it_ends(service: Service) -> None:
    service.target.statuses = [202]
    held = replace(_spec("held", slots=1), completion=Completion.CALLBACK, timeout_seconds=60)
    service.play.store_jobs([replace(held, retry=replace(held.retry, max_retries=0)), _spec("next", 1, None, at(11))])
    service.until(at(60))
    assert _order(service) == ["held"]
    service.until(at(120))
    assert _order(service) == ["held", "next"]


def test_a_run_that_waits_longer_than_a_misfire_takes_still_runs(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=1) for n in range(4)])
    _takes(service, 100)
    service.until(at(600))
    assert _states(service) == {(RunState.SUCCEEDED, None): 4}


def test_a_run_that_is_cancelled_or_paused_in_the_line_blocks_no_other(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", slots=1, due_at=at(10 + n / 10)) for n in range(4)])
    _takes(service, 5)
    service.until(at(12))
    cancel(service.play.context(), [(JobKey("acme", "job-1"), None)])
    pause(service.play.context(), [(JobKey("acme", "job-2"), None)])
    service.until(at(21))
    assert _order(service) == ["job-0", "job-3"]
    resume(service.play.context(), [(JobKey("acme", "job-2"), None)])
    service.until(at(60))
    assert _order(service) == ["job-0", "job-3", "job-2"]


def test_a_run_in_a_line_keeps_the_lock_of_its_job(service: Service) -> None:
    jobs = [_spec("holder", slots=1), replace(_spec("job", slots=1, due_at=at(11)), overlap=OverlapPolicy.SKIP)]
    service.play.store_jobs(jobs)
    _takes(service, 5)
    service.until(at(12))
    assert service.play.job(JobKey("acme", "job")).holder is not None
    service.until(at(60))
    assert service.play.job(JobKey("acme", "job")).holder is None


def test_jobs_without_a_limiter_ask_none(service: Service) -> None:
    service.play.store_jobs([spec(f"job-{n}", At(at(10))) for n in range(5)])
    service.until(at(20))
    assert isinstance(service.play.store, MemoryStore)
    assert not service.play.store.limiters
    assert {run.slots for run in _runs(service)} == {()}
