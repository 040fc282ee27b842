"""Faults of versions: which one of a task a run uses and shows, and which generation of a job a run belongs to."""

from dataclasses import replace

from tests.simulation.faults.hands import Fault, both, given, instead, lost
from timeball.domain.changes.change import revised_task
from timeball.domain.changes.resolve import version_for
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task, TaskRef, TaskSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import using
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.planning.ledger import queued_run


def _the_newest(run: Run, job: Job) -> TaskRef | None:
    return version_for(replace(run, task_version=None), job)


def _says_the_old_one(run: Run, task: TaskUse | None) -> Run:
    if task is None or run.task_version is None or run.task_id != task.task_id:
        return using(run, task)
    return using(run, replace(task, version=run.task_version))


def _says_the_next_one(run: Run, task: TaskUse | None) -> Run:
    is_new = task is not None and task.version is not None and run.task_version is None
    return using(run, replace(task, version=task.version + 1) if is_new and task and task.version else task)


def _counts_no_version(task: Task, spec: TaskSpec, now: int) -> Task:
    return replace(revised_task(task, spec, now), version=task.version)


def _of_the_first_generation(job: Job, origin: Origin, fire_at: int, now: int) -> Run:
    run = queued_run(job, origin, fire_at, now)
    return replace(run, id=replace(run.id, generation=1))


FAULTS = {
    "a run of an earlier generation goes on": Fault(
        given(Job, "owns", lambda *_: True), "nothing of an earlier generation is called", 110
    ),
    "a run's id lacks its generation": Fault(
        instead(queued_run, _of_the_first_generation), "each due instant has one row", scene="a job that is put again"
    ),
    "a retry takes a newer version of its task": Fault(
        instead(version_for, _the_newest),
        "a run keeps the version that it began with",
        scene="jobs of tasks that change",
    ),
    "a replaced version is not kept": Fault(
        lost("task_versions.insert"), "a run keeps the version that it began with", scene="jobs of tasks that change"
    ),
    "a retry calls the target of a newer version": Fault(
        both(instead(version_for, _the_newest), instead(using, _says_the_old_one)),
        "a call goes to the target of its runs version",
        scene="jobs of tasks that change",
    ),
    "a run's row names another version than it uses": Fault(
        instead(using, _says_the_next_one),
        "a version that a run begins with is current",
        scene="jobs of tasks that change",
    ),
    "a change of a task is no new version": Fault(
        instead(revised_task, _counts_no_version),
        "a version of a task has one content",
        scene="jobs of tasks that change",
    ),
}
