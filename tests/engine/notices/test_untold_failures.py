"""A failure that is noted on its job, and for which no notice was sent: the process that noted it died before."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.engine.notices.desk import begin, notices
from tests.engine.service import KEY, Service, at
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.notify import News
from timeball.domain.planning.ledger import queued_run
from timeball.domain.run_ends.notices import end_of
from timeball.engine.context import Context
from timeball.engine.runs.dead_letters import DeadPage, replay
from timeball.engine.runs.manual import retry_runs
from timeball.ports.rows import Swap

RETRIES: Sequence[Callable[[Context, Run], object]] = (
    lambda context, run: retry_runs(context, [run.id]),
    lambda context, run: replay(context, DeadPage((run,)), per_second=1),
)


@pytest.mark.parametrize("retry", RETRIES, ids=["retried", "replayed"])
def test_its_notice_is_sent_when_its_run_is_retried(service: Service, retry: Callable[[Context, Run], object]) -> None:
    run = noted(service, RunState.FAILED)
    retry(service.play.context(), run)
    told = [(notice.spec.notice.news, notice.spec.notice.run) for notice in notices(service) if notice.spec.notice]
    assert told == [(News.FAILURE, RunId(KEY, at(60), Origin.SCHEDULE))]


def test_a_run_that_is_already_being_retried_is_no_failure(service: Service) -> None:
    run = noted(service, RunState.QUEUED)
    retry_runs(service.play.context(), [run.id])
    assert notices(service) == []


def noted(service: Service, state: RunState) -> Run:
    """Store a run that has ended, or waits for its retry, of a job that is failing since the run ended."""
    begin(service)
    store, job = service.play.store, service.play.job(KEY)
    run = replace(queued_run(job, Origin.SCHEDULE, at(60), at(60)), state=state, attempt=1, finished_at=at(60))
    store.runs.insert([run], at(60))
    store.jobs.swap([Swap(job, replace(job, failing=end_of(run)))], at(60))
    return run
