"""Operations that retry dead letters: for each job its newest run, once."""

from dataclasses import replace

from tests.engine.operations.operations import RETRY, operation, repeat, standing
from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.operation import JobMatch, OperationStatus
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.operations.operation import advance_operations, create_operation

NO_RETRIES = RetryPolicy(max_retries=0)


def _dead_jobs(service: Service, count: int) -> list[JobKey]:
    """Let one-offs fail for good, and a recurring job's newest run."""
    play = service.play
    service.target.statuses = [400] * (count + 1)
    specs = [spec(f"once-{n}", At(NOW + SECOND_MS), retry=NO_RETRIES) for n in range(count)]
    specs.append(spec("recurring", Every(3600, NOW + SECOND_MS), retry=NO_RETRIES))
    play.store_jobs(specs)
    service.until(NOW + 5 * SECOND_MS)
    return [one.key for one in specs]


def test_the_newest_run_of_each_job_is_retried_if_it_is_a_dead_letter() -> None:
    with Service(Play()) as service:
        play = service.play
        keys = _dead_jobs(service, 4)
        (lively,) = play.store_jobs([spec("lively", Every(2, NOW))], NOW + 5 * SECOND_MS)
        play.clock.advance(1)
        create_operation(play.context(), operation(RETRY, play.clock.now()))
        service.until(NOW + 20 * SECOND_MS)
        over = standing(play)
        assert (over.status, over.matched, over.done) == (OperationStatus.SUCCEEDED, 6, 6)
        assert [[run.state for run in play.runs(key)] for key in keys] == [[RunState.SUCCEEDED]] * 5
        assert play.job(keys[0]).status is JobStatus.COMPLETED
        assert all(run.attempt <= 1 for run in play.runs(lively.key))


def test_a_run_that_fails_again_is_not_retried_by_the_same_operation() -> None:
    with Service(Play()) as service:
        play = service.play
        (key, _) = _dead_jobs(service, 1)
        at = play.clock.now()
        play.store.operations.insert([operation(RETRY, at, JobMatch(status="failed"))], at)
        advance_operations(play.context(), [standing(play)], at)
        begun = standing(play)
        service.target.statuses = [400]
        service.until(at + 5 * SECOND_MS)
        assert [(run.state, run.attempt) for run in play.runs(key)] == [(RunState.FAILED, 2)]
        repeat(play, begun)
        service.until(at + 10 * SECOND_MS)
        assert [(run.state, run.attempt) for run in play.runs(key)] == [(RunState.FAILED, 2)]
        assert standing(play).done == 1


def test_a_discarded_dead_letter_is_not_retried() -> None:
    with Service(Play()) as service:
        play = service.play
        (key, _) = _dead_jobs(service, 1)
        (run,) = play.runs(key)
        play.store.runs[run.id] = replace(run, discarded_at=play.clock.now())  # type: ignore[index]
        create_operation(play.context(), operation(RETRY, play.clock.now(), JobMatch(status="failed")))
        service.until(play.clock.now() + 5 * SECOND_MS)
        assert [run.state for run in play.runs(key)] == [RunState.FAILED]


def test_a_repeated_operation_does_not_retry_a_run_that_failed_after_the_request() -> None:
    with Service(Play()) as service:
        play = service.play
        service.target.statuses = [400]
        (job,) = play.store_jobs([spec("each-minute", Every(60, NOW + SECOND_MS), retry=NO_RETRIES)])
        service.until(NOW + 30 * SECOND_MS)
        at = play.clock.now()
        play.store.operations.insert([operation(RETRY, at)], at)
        advance_operations(play.context(), [standing(play)], at)
        begun = standing(play)
        service.target.statuses = [200, 400]
        service.until(NOW + 90 * SECOND_MS)
        repeat(play, begun)
        service.until(NOW + 100 * SECOND_MS)
        assert [(run.state, run.attempt) for run in play.runs(job.key)] == [
            (RunState.SUCCEEDED, 2),
            (RunState.FAILED, 1),
        ]


def test_a_run_that_waits_for_its_start_hides_no_dead_letter() -> None:
    """A job that fires every few seconds always has such a run: it is claimed ahead."""
    with Service(Play()) as service:
        play = service.play
        service.target.statuses = [400]
        (job,) = play.store_jobs([spec("often", Every(10, NOW + SECOND_MS), retry=NO_RETRIES)])
        service.until(NOW + 8 * SECOND_MS)
        assert [run.state for run in play.runs(job.key)] == [RunState.FAILED, RunState.QUEUED]
        create_operation(play.context(), operation(RETRY, play.clock.now()))
        service.until(NOW + 10 * SECOND_MS)
        assert play.runs(job.key)[0].state is RunState.SUCCEEDED
