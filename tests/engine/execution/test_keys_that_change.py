"""Jobs whose limits change while runs wait for them: the new limits hold at once, also for waiting runs."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.engine.play import WORK, Play, spec
from tests.engine.service import Service, at
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.model.jobs.job import JobSpec, with_spec
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, RateLimit
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import revise
from timeball.engine.quotas import fix_limit, read_limit

DB = ConcurrencyLimit("db", 1)
CRM = RateLimit("crm", 0.01)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        made.target.takes = lambda _: 200 * SECOND_MS
        yield made


def _spec(name: str, flow: Flow) -> JobSpec:
    return replace(spec(name, At(at(10))), flow=flow)


def _patch(service: Service, *jobs: JobSpec) -> None:
    for one in jobs:
        standing = with_spec(service.play.job(one.key), work=WORK)
        (changed,) = revise(service.play.context(), [(standing, one)])
        assert changed.job is not None
        assert changed.job.spec.flow == one.flow


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Flow(concurrency=DB), Flow(concurrency=replace(DB, limit=3))),
        (Flow(concurrency=DB), Flow()),
        (Flow(concurrency=DB), Flow(concurrency=ConcurrencyLimit("another", 3))),
        (Flow(rate=CRM), Flow(rate=replace(CRM, per_second=10))),
        (Flow(rate=CRM), Flow(rate=RateLimit("another", 10))),
        (Flow(concurrency=DB, rate=RateLimit("db", 10)), Flow(rate=RateLimit("db", 10))),
        (Flow(rate=CRM), Flow(concurrency=ConcurrencyLimit("crm", 3))),
    ],
)
def test_waiting_runs_begin_when_their_jobs_allow_it(service: Service, before: Flow, after: Flow) -> None:
    service.play.store_jobs([_spec(f"job-{n}", before) for n in range(3)])
    service.until(at(15))
    assert len(service.target.visits) == 1
    _patch(service, *(_spec(f"job-{n}", after) for n in range(3)))
    service.until(at(18))
    assert len(service.target.visits) == 3


def test_runs_of_other_jobs_still_wait_after_one_leaves_the_line(service: Service) -> None:
    service.play.store_jobs([_spec(f"job-{n}", Flow(concurrency=DB)) for n in range(4)])
    service.until(at(15))
    _patch(service, _spec("job-3", Flow()))
    service.until(at(20))
    assert sorted(one.run.job.job_id for one in service.target.visits) == ["job-0", "job-3"]
    view = read_limit(service.play.context(), LimiterKey("acme", "db"))
    assert view is not None
    assert [run.id.job.job_id for run in view.waiters] == ["job-1", "job-2"]


def test_a_lowered_limit_applies_to_waiting_runs(service: Service) -> None:
    service.target.takes = lambda _: 5 * SECOND_MS
    service.play.store_jobs([_spec(f"job-{n}", Flow(concurrency=replace(DB, limit=3))) for n in range(9)])
    service.until(at(12))
    _patch(service, *(_spec(f"job-{n}", Flow(concurrency=DB)) for n in range(9)))
    service.until(at(19.9))
    assert len(service.target.visits) == 4


def test_a_change_of_other_fields_asks_no_limiter(service: Service) -> None:
    service.play.store_jobs([_spec("job", Flow(concurrency=DB))])
    _patch(service, replace(_spec("job", Flow(concurrency=DB)), name="renamed"))
    assert read_limit(service.play.context(), LimiterKey("acme", "db")) is None
    assert service.play.job(JobKey("acme", "job")).spec.name == "renamed"


def test_a_limit_that_a_person_sets_gives_no_second_burst(service: Service) -> None:
    rate = RateLimit("crm", 1, 5)
    service.play.store_jobs([_spec(f"job-{n}", Flow(rate=rate)) for n in range(30)])
    service.until(at(11))
    begun = len(service.target.visits)
    fix_limit(service.play.context(), LimiterKey("acme", "crm"), Bounds(slots=100), None, service.play.clock.now())
    service.until(at(14))
    assert len(service.target.visits) - begun <= 3


def test_a_run_that_waited_before_its_job_got_an_overlap_policy_holds_no_slot_for_ever(service: Service) -> None:
    service.target.takes = lambda call: (100 if call.run.job.job_id == "holder" else 1) * SECOND_MS
    job = replace(spec("job", Every(5, at(12))), flow=Flow(concurrency=DB))
    service.play.store_jobs([_spec("holder", Flow(concurrency=DB)), job])
    service.until(at(20))
    _patch(service, replace(job, overlap=OverlapPolicy.QUEUE_ONE))
    service.until(at(116))
    assert len([one for one in service.target.visits if one.run.job == job.key]) >= 2
