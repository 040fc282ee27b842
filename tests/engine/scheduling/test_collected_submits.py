"""Consecutive submits under one unique key make one job with the last payload, and one run."""

from dataclasses import replace

import pytest

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls
from tests.engine.submitting import submit_once
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.flow import Debounce, Flow, Unique, unique_key
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.schedule import At
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.scheduling.submit import Submission

CREATED, REPEATED = Submission.CREATED, Submission.REPEATED


def push(
    service: Service, name: str, payload: int, seconds: int = 10, window: int | None = None
) -> tuple[Submission, Job]:
    now = service.play.clock.now()
    wanted = replace(
        spec(name, At(now + seconds * 1_000)),
        work=Work(HttpTarget("https://target.example/hook"), str(payload)),
        flow=Flow(Unique("k", window), Debounce(seconds, 3 * seconds)),
    )
    return submit_once(service.play.context(), wanted, f"{name} {payload} {now}")


def told(service: Service) -> list[tuple[str | None, float]]:
    return [
        (call.work.payload, called) for (_, called), (_, call) in zip(calls(service), service.target.calls, strict=True)
    ]


def test_each_submit_postpones_the_start_and_the_last_payload_is_called_once(service: Service) -> None:
    done = []
    for second, name in enumerate(("job", "b", "c")):
        service.until(at(5 * second))
        done.append(push(service, name, second))
    service.until(at(60))
    assert [(outcome, job.key) for outcome, job in done] == [(CREATED, KEY), (REPEATED, KEY), (REPEATED, KEY)]
    assert told(service) == [("2", 20)]
    (run,) = service.play.runs(KEY)
    assert run.collected is not None
    assert (run.state, run.collected.count, run.lateness_ms) == (RunState.SUCCEEDED, 3, 0)
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_the_longest_wait_ends_the_collection_and_the_next_submit_makes_another_job(service: Service) -> None:
    for second in range(0, 40, 5):
        service.until(at(second))
        push(service, f"job-{second}", second)
    service.until(at(120))
    assert told(service) == [("25", 30), ("35", 45)]
    assert service.play.job(JobKey("acme", "job-30")).status is JobStatus.COMPLETED


def test_a_single_submit_is_counted(service: Service) -> None:
    push(service, "job", 1)
    service.until(at(20))
    (run,) = service.play.runs(KEY)
    assert run.collected is not None
    assert (run.collected.count, told(service)) == (1, [("1", 10)])


def test_within_its_window_a_key_stands_for_a_job_that_has_begun_and_drops_later_submits(service: Service) -> None:
    push(service, "job", 1, window=60)
    service.until(at(20))
    assert push(service, "b", 2, window=60)[0] is REPEATED
    service.until(at(60))
    assert push(service, "c", 3, window=60)[0] is CREATED
    service.until(at(80))
    assert told(service) == [("1", 10), ("3", 70)]


def test_a_cancelled_job_releases_its_key(service: Service) -> None:
    push(service, "job", 1)
    push(service, "b", 2)
    cancel(service.play.context(), [(KEY, None)])
    assert push(service, "c", 3)[0] is CREATED
    service.until(at(60))
    assert told(service) == [("3", 10)]


def test_a_paused_job_goes_on_collecting_and_starts_no_sooner_than_its_resume(service: Service) -> None:
    push(service, "job", 1)
    service.until(at(5))
    push(service, "b", 2)
    pause(service.play.context(), [(KEY, None)])
    service.until(at(8))
    push(service, "c", 3)
    service.until(at(12))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(60))
    assert told(service) == [("3", 18)]


def test_a_submit_joins_while_the_message_is_on_its_way(service: Service) -> None:
    push(service, "job", 1)
    service.until(at(8))
    push(service, "b", 2)
    service.until(at(60))
    assert told(service) == [("2", 18)]


@pytest.mark.parametrize(("window", "is_forgotten"), [(None, True), (3600, False)])
def test_a_key_without_a_window_is_released_when_its_job_is_over(
    service: Service, window: int | None, *, is_forgotten: bool
) -> None:
    push(service, "job", 1, window=window)
    row = unique_key("acme", "k")
    (standing,) = service.play.store.uniques.read([row])
    service.until(at(20))
    (after,) = service.play.store.uniques.read([row])
    assert standing is not None
    assert after is not None
    assert (after.until == after.since) is is_forgotten
    assert push(service, "next", 2, window=window)[0] is (CREATED if is_forgotten else REPEATED)
