"""Faults of reruns: which jobs are cleared, and which end concludes them."""

from collections.abc import Sequence

from tests.simulation.faults.hands import Fault, both, instead
from timeball.domain.dependencies.rerun import is_cleared, is_under_way, job_cleared
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.operation import Failure, Operation, progressed
from timeball.engine.operations.rerun import read_list


def _not_marked(job: Job, since: int, now: int) -> Job:
    return evolve(job_cleared(job, since, now), rerun_at=job.rerun_at)


def _done_already(*_: object) -> bool:
    return True


def _again_and_again(job: Job, run: Run | None, since: int) -> bool:
    return is_cleared(job, run, since) and is_under_way(job, run)


def _not_counted(
    row: Operation, begun: Operation, failures: Sequence[Failure], _: int, now: int, *, is_stuck: bool
) -> Operation | None:
    return progressed(row, begun, failures, 0, now, is_stuck=is_stuck)


def _no_list_but_the_first(*_: object) -> tuple[str, ...]:
    return ()


FAULTS = {
    "a rerun has its first batch alone": Fault(
        instead(read_list, _no_list_but_the_first),
        "a rerun that is through has cleared all that it named",
        scene="reruns of a graph",
    ),
    "a rerun clears no run": Fault(
        instead(is_cleared, _done_already),
        "a rerun that is through has cleared all that it named",
        scene="reruns of a graph",
    ),
    "a cleared job has no mark": Fault(
        instead(job_cleared, _not_marked), "a job is opened again by a rerun alone", scene="reruns of a graph"
    ),
    "a job is cleared more than once": Fault(
        both(instead(is_cleared, _again_and_again), instead(progressed, _not_counted)), "a rerun clears a run once", 106
    ),
}
