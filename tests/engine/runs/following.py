"""A run whose target has started an execution that ends when and as a test says."""

from collections.abc import Sequence
from dataclasses import replace

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import StepFunctionsTarget
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.ports.target import ExecutionStatus

SECRET = "s" * 64
HOUR_MS = 60 * MINUTE_MS
MACHINE = StepFunctionsTarget("arn:aws:states:eu-west-1:123456789012:stateMachine:m", follow=True)
KEY = JobKey("acme", "job")
DONE = ExecutionStatus(is_over=True, body='{"rows": 7}')
BROKEN = ExecutionStatus(is_over=True, error="The execution ended as FAILED.")
JOB = replace(spec("job", At(NOW), PLAIN_RETRY, timeout_seconds=6 * 3600), work=Work(MACHINE, "{}"))


def started(
    takes_ms: int = 5 * HOUR_MS, *ends: ExecutionStatus, job: JobSpec = JOB, statuses: Sequence[int] = ()
) -> Play:
    """Return a play in which a one-off has started its execution, and its retries will. Each has its own end."""
    play = Play()
    play.caller.statuses = [*statuses]
    play.caller.lasts_ms, play.caller.ends = takes_ms, [*ends] or [DONE]
    play.store_jobs([job])
    play.scan_all()
    play.drain()
    return play


def run_of(play: Play) -> Run:
    return play.runs(KEY)[0]


def execution_of(run: Run) -> str:
    assert run.callback is not None
    return run.callback.execution or ""


def let_pass(play: Play, for_ms: int, every_ms: int = 5 * SECOND_MS) -> None:
    """Let the scan work for a while, and execute the messages that it sends."""
    until = play.clock.now() + for_ms
    while play.clock.now() < until:
        play.clock.advance(every_ms)
        play.scan_all()
        while play.execute_next():
            pass
