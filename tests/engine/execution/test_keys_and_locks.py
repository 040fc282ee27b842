"""Limiters together with overlap locks: a run that waits for its job's lock takes no slot of a limiter from others."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.engine.play import WORK, Play, spec
from tests.engine.service import Service, at
from timeball.domain.attempts.claim import ClaimAction
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.model.jobs.job import JobSpec, with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, RateLimit
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import cancel, pause, revise
from timeball.engine.execution.claim import claim
from timeball.engine.quotas import read_limit
from timeball.engine.runs.manual import cancel_runs, retry_runs

JOB = JobKey("acme", "job")
SLOT, TOKEN = ConcurrencyLimit("db", 1), RateLimit("crm", 0.05)
BOTH = replace(spec("job", Every(15, at(10))), flow=Flow(concurrency=SLOT, rate=TOKEN))


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        yield made


def _patch(service: Service, wanted: JobSpec) -> None:
    standing = with_spec(service.play.job(wanted.key), work=WORK)
    (changed,) = revise(service.play.context(), [(standing, wanted)])
    assert changed.job is not None


def _begun(service: Service, job_id: str) -> list[float]:
    """Return when each call of a job began, in seconds."""
    return [(one.from_at - at(0)) / SECOND_MS for one in service.target.visits if one.run.job.job_id == job_id]


def _spends(name: str, second: float) -> JobSpec:
    return replace(spec(name, At(at(second))), flow=Flow(rate=TOKEN))


def test_a_run_that_waits_for_its_lock_releases_its_slot(service: Service) -> None:
    other = replace(spec("other", At(at(32))), flow=Flow(concurrency=SLOT))
    service.play.store_jobs([_spends("spender", 9), BOTH, other])
    service.until(at(17))  # its first run has the slot, and waits for a token
    _patch(service, replace(BOTH, overlap=OverlapPolicy.QUEUE_ONE))
    service.until(at(300))
    assert len(_begun(service, "other")) == 1
    assert len(_begun(service, "job")) >= 10


def test_a_retry_that_waits_for_its_lock_releases_its_slot(service: Service) -> None:
    service.target.statuses = [200, 503]
    job = replace(BOTH, schedule=Schedule(Every(60, at(10))))
    service.play.store_jobs([_spends("spender", 9), job])
    service.until(at(40))  # its first run has failed once, has the slot again, and waits for a token
    (first, *_) = service.play.runs(JOB)
    assert (first.attempt, first.slots) == (1, ("db",))
    _patch(service, replace(job, schedule=Schedule(Every(2, at(42))), overlap=OverlapPolicy.SKIP))
    service.play.store_jobs([replace(spec("other", At(at(52))), flow=Flow(concurrency=SLOT))])
    service.until(at(300))
    assert len(_begun(service, "other")) == 1
    assert service.play.runs(JOB)[0].state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    "change",
    [
        lambda service: cancel(service.play.context(), [(JOB, None)]),
        lambda service: pause(service.play.context(), [(JOB, None)]),
        lambda service: cancel_runs(service.play.context(), [service.play.runs(JOB)[0].id]),
        lambda service: _patch(service, replace(BOTH, schedule=Schedule(At(at(5_000))))),
    ],
)
def test_a_run_that_a_user_removes_from_its_line_releases_its_slot_at_once(
    service: Service, change: Callable[[Service], object]
) -> None:
    job = replace(BOTH, schedule=Schedule(At(at(10))))
    other = replace(spec("other", At(at(12))), flow=Flow(concurrency=SLOT))
    service.play.store_jobs([_spends("spender", 9), job, other])
    service.until(at(17))
    assert service.play.runs(JOB)[0].slots == ("db",)
    change(service)
    service.until(at(19))
    assert len(_begun(service, "other")) == 1


def test_a_run_whose_executor_died_releases_its_slot_while_it_waits_for_its_lock(service: Service) -> None:
    service.target.takes = lambda _: 20 * SECOND_MS
    job = replace(spec("job", Every(30, at(10))), flow=Flow(concurrency=SLOT))
    service.play.store_jobs([job])
    service.until(at(12))
    service.kill_executors()
    service.engine.is_executing = False
    _patch(service, replace(job, overlap=OverlapPolicy.QUEUE_ONE))
    service.until(at(42))
    deliveries = [one for one in service.play.queue.receive("normal") if one.run.fire_at > at(30)]
    assert (
        claim(service.play.context(), [one.run for one in deliveries], "another")[0].decision.action
        is ClaimAction.LINE_UP
    )
    service.engine.is_executing = True
    service.until(at(300))
    assert len(_begun(service, "job")) >= 6


def test_a_run_under_way_has_no_slot_of_a_limiter_that_its_job_no_longer_names(service: Service) -> None:
    service.target.takes = lambda call: (200 if call.run.job.job_id == "job" else 0) * SECOND_MS
    job = replace(spec("job", At(at(10))), flow=Flow(concurrency=SLOT))
    service.play.store_jobs([job, replace(spec("other", At(at(20))), flow=Flow(concurrency=SLOT))])
    service.until(at(30))
    assert not _begun(service, "other")
    _patch(service, replace(job, flow=Flow()))
    service.until(at(33))
    assert len(_begun(service, "other")) == 1


def test_a_run_that_waits_for_a_token_has_no_slot_of_a_limiter_that_its_job_no_longer_names(service: Service) -> None:
    job = replace(spec("job", At(at(10))), flow=Flow(concurrency=SLOT, rate=replace(TOKEN, per_second=0.001)))
    spender = replace(_spends("spender", 9), flow=Flow(rate=replace(TOKEN, per_second=0.001)))
    service.play.store_jobs([spender, job, replace(spec("other", At(at(20))), flow=Flow(concurrency=SLOT))])
    service.until(at(30))
    assert not _begun(service, "other")
    _patch(service, replace(job, flow=Flow(rate=job.flow.rate)))
    service.until(at(33))
    assert len(_begun(service, "other")) == 1


def test_a_run_that_begins_after_its_job_names_no_limiter_releases_the_slot_that_it_was_admitted_to(
    service: Service,
) -> None:
    service.target.takes = lambda call: (200 if call.run.job.job_id == "job" else 2) * SECOND_MS
    job = replace(spec("job", At(at(10))), flow=Flow(concurrency=SLOT, rate=TOKEN))
    service.play.store_jobs([_spends("spender", 9), job])
    service.until(at(15))
    assert service.play.runs(JOB)[0].slots == ("db",)
    _patch(service, replace(job, flow=Flow()))
    service.until(at(17))
    assert service.play.runs(JOB)[0].slots == ()
    view = read_limit(service.play.context(), LimiterKey("acme", "db"))
    assert view is not None
    assert view.holders == ()


def test_a_manual_retry_is_not_overtaken_by_every_newer_fire(service: Service) -> None:
    service.target.statuses = [404]
    service.target.takes = lambda _: 1_300
    job = replace(spec("job", Every(1, at(10))), overlap=OverlapPolicy.QUEUE_ONE)
    service.play.store_jobs([job])
    service.until(at(20))
    failed = service.play.runs(JOB)[0]
    assert failed.state is RunState.FAILED
    retry_runs(service.play.context(), [failed.id])
    service.until(at(35))
    assert service.play.runs(JOB)[0].state is RunState.SUCCEEDED
