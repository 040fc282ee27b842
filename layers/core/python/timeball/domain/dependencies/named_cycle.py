"""A cycle with a name of its own: one job and all jobs that depend on it run once, beside their schedules.

A manual trigger, a fire of a backfill or an event begins it, with a run of its first job: the *root*. That run waits
until each other job of the cycle has a row, and each of these rows waits for the rows of its parents. So a parent
without a row is outside the cycle: no run waits for it.

All events of a job that depends on jobs with events come from one of these jobs (examine.py). So an event begins one
cycle that the job takes part in, however many jobs it runs.

Invariant: rows are inserted parents first, and the root starts last. So a row that is evaluated finds the rows of all
its parents in the cycle.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import SERIES, CycleId, JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.ledger import queued_run
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

MAX_JOBS = 10_000
"""The most jobs of a named cycle."""
MAX_RUNS = 100_000
"""The most runs of all cycles of a backfill together."""
NAMED_CYCLE = r"^((manual|event)-(0|[1-9][0-9]{0,14})-[a-z0-9]{1,26}|[a-z0-9]{26}-.+)$"
"""The pattern of the texts of named cycles."""
_FIRST_EVALUATION_MS = 30 * SECOND_MS
"""When a run of the cycle is evaluated by itself: usually the ends of its parents wake it before."""
_YEAR = re.compile(r"\d{4}")
_BEGUN = re.compile(rf"(manual|event)-(0|[1-9][0-9]{{0,14}})-({SERIES.pattern})")


def cycle_name(job_id: str, request: str | None) -> str:
    """Return the name of the cycle that a request for a job begins: the same for each repeat."""
    return hashlib.blake2b(f"{job_id}\x1f{request}".encode(), digest_size=5).hexdigest()


def begun(root: Run) -> Run:
    """Return the first run of a named cycle: it waits until the other jobs have their rows."""
    return evolve(root, root=root.id.job.job_id, waits=True)


def begun_by_event(run: Run, job: Job) -> Run:
    """Return the run that an event makes of a job: it begins a named cycle if other jobs depend on the job."""
    return begun(run) if job.has_children and not run.is_terminal else run


def takes_part(job: Job) -> bool:
    """Say whether a job that depends on a job of a named cycle has a run there."""
    return job.status is not JobStatus.CANCELLED and not job.spec.schedule.is_one_off


def member_run(root: Run, job: Job, now: int) -> Run:
    """Return the run of a job in the named cycle that a run begins. It waits for its parents there."""
    run = queued_run(job, root.id.origin, root.id.fire_at, now)
    return evolve(
        run,
        id=run_of(job, root.id.cycle),
        priority=root.priority if root.id.origin is Origin.BACKFILL else run.priority,
        depth=max(run.depth, root.depth),
        root=root.root,
        waits=True,
        reason=Reason.WAITING_FOR_PARENTS,
        due_at=now + _FIRST_EVALUATION_MS,
    )


def run_of(job: Job, cycle: CycleId) -> RunId:
    """Return the run that a job has in a cycle by its present generation."""
    return cycle.run_of(job.key, job.generation) if cycle.series else job.run_id(cycle.fire_at)


def names_of(key: JobKey, job: Job | None, cycle: CycleId) -> list[RunId]:
    """Return the names that the run of a job may have in a named cycle: the job may have begun a generation since."""
    generation = 1 if job is None else job.generation
    return [cycle.run_of(key, number) for number in range(generation, max(generation - 2, 0), -1)]


def layers(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Yield jobs in layers, parents first; within a layer they are ordered by their ids."""
    left = {job.key: job for job in jobs}
    sorter = TopologicalSorter({key: [one for one in job.spec.parent_keys if one in left] for key, job in left.items()})
    with suppress(CycleError):  # a circle cannot be stored; its jobs come last
        sorter.prepare()
    while ready := sorter.get_ready():
        yield [left.pop(key) for key in sorted(ready)]
        sorter.done(*ready)
    if left:
        yield [left[key] for key in sorted(left)]


def cycle_text(cycle: CycleId) -> str:
    """Return the text that names a cycle to people."""
    match cycle.origin:
        case Origin.MANUAL | Origin.EVENT:
            return f"{cycle.origin}-{cycle.fire_at}-{cycle.series}"
        case Origin.BACKFILL:
            return f"{cycle.series}-{format_instant(cycle.fire_at)}"
        case _:
            return format_instant(cycle.fire_at)


def parse_cycle(text: str) -> CycleId:
    """Return the cycle that a text names. Raises ValueError if it can name none."""
    if (begun_by := _BEGUN.fullmatch(text)) is not None:
        return CycleId(int(begun_by[2]), Origin(begun_by[1]), begun_by[3])
    series, dash, rest = text.partition("-")
    if dash and SERIES.fullmatch(series) and not _YEAR.fullmatch(series):
        return CycleId(parse_instant(rest), Origin.BACKFILL, series)
    return CycleId(parse_instant(text))


def cycle_of(run: Run) -> CycleId | None:
    """Return the cycle that a run belongs to; None: it runs beside all cycles."""
    cycle = run.id.cycle
    return cycle if run.root is not None or cycle.origin is Origin.SCHEDULE else None
