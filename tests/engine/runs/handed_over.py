"""Runs that their targets have accepted with a 202, and the targets' reports about them."""

from dataclasses import replace

from tests.engine.play import NOW, Play, spec
from tests.engine.runs.outcomes import outcome
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Completion, Guarantee, Job
from timeball.domain.model.runs.run import Run
from timeball.domain.time.schedule import At
from timeball.engine.runs.callback import Report, heartbeat, report

TIMEOUT_SECONDS = 600
HEARTBEAT_SECONDS = 60


def handed_over(
    heartbeat_seconds: int | None = HEARTBEAT_SECONDS, delivery: Guarantee = Guarantee.AT_LEAST_ONCE
) -> tuple[Play, Job, RunId]:
    """Return a play in which a one-off's target has answered 202."""
    play = Play()
    wanted = replace(
        spec("job", At(NOW), timeout_seconds=TIMEOUT_SECONDS),
        completion=Completion.CALLBACK,
        heartbeat_seconds=heartbeat_seconds,
        delivery=delivery,
    )
    (job,) = play.store_jobs([wanted])
    play.scan_all()
    play.caller.statuses = [202]
    play.drain()
    return play, job, play.runs(job.key)[0].id


def the_run(play: Play, run_id: RunId) -> Run:
    (run,) = play.store.runs.read([run_id])
    assert run is not None
    return run


def say(play: Play, run_id: RunId, attempt: int = 1, error: str | None = None, *, may_retry: bool = True) -> str:
    told = Report(run_id, attempt, error, "done" if error is None else None, may_retry)
    return outcome(report(play.context(), [told])[0])


def beat(play: Play, run_id: RunId, attempt: int = 1) -> str:
    return outcome(heartbeat(play.context(), [(run_id, attempt)])[0])
