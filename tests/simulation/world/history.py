"""All writes, with their process and time: the past that rows do not show. Checks of single writes read it."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from typing import Generic, TypeVar

from timeball.domain.backfill import Backfill
from timeball.domain.changes.resolve import resolve
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId, TaskKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey
from timeball.domain.model.jobs.freeze import Freeze, Freezes
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.domain.time.schedule import Schedule, first_fire, is_occurrence

_Row = TypeVar("_Row", Job, Run, Backfill, Task, Operation)
_Noted = TypeVar("_Noted")


@dataclass(frozen=True, slots=True)
class Write(Generic[_Row]):
    """One change of a row at a true time (ms), by the process of that name. `before` is None for an insert."""

    at: int
    by: str
    before: _Row | None
    after: _Row


@dataclass(frozen=True, slots=True)
class Reign:
    """A schedule that a job had from an instant on (ms), the first fire that it had to plan, and when it ended."""

    schedule: Schedule
    begun_at: int
    first_at: int
    ended_at: int
    generation: int

    def has(self, fire_at: int, leeway_ms: int = 0) -> bool:
        """Return whether an instant had to be planned. A fire that was planned ahead may lie after the reign's end."""
        return self.first_at <= fire_at <= self.ended_at + leeway_ms and is_occurrence(self.schedule, fire_at)


class History:
    """All writes of runs, jobs, tasks, backfills and operations, also by row; and where each scan begins.

    Also noted: the jobs that unique keys have `named`, and which process `looks` into the ledger of a job, from which
    instant on, when, and up to which.
    """

    def __init__(self) -> None:
        self.runs: list[Write[Run]] = []
        self.jobs: list[Write[Job]] = []
        self.tasks: list[Write[Task]] = []
        self.backfills: list[Write[Backfill]] = []
        self.freezes: list[tuple[int, Freezes]] = []
        self.frozen_at: dict[str, int] = {}
        self.quotas: dict[str, list[tuple[int, Freezes]]] = defaultdict(list)
        self.limiters: dict[LimiterKey, list[tuple[int, Limiter]]] = defaultdict(list)
        self.calendars: dict[CalendarKey, list[tuple[int, Calendar]]] = defaultdict(list)
        self.operations: list[Write[Operation]] = []
        self.scans: dict[str, list[int]] = defaultdict(list)
        self.named: list[tuple[int, UniqueKeyRow | None, UniqueKeyRow]] = []
        self.looks: dict[tuple[str, JobKey, int | None], list[tuple[int, int]]] = defaultdict(list)
        self._runs: dict[RunId, list[Write[Run]]] = defaultdict(list)
        self._runs_of: dict[JobKey, list[RunId]] = defaultdict(list)
        self._jobs: dict[JobKey, list[Write[Job]]] = defaultdict(list)
        self._lost_of: dict[JobKey, list[Write[Job]]] = defaultdict(list)

    def note_run(self, write: Write[Run]) -> None:
        """Keep a write of a run."""
        self.runs.append(write)
        if write.before is None:
            self._runs_of[write.after.id.job].append(write.after.id)
        self._runs[write.after.id].append(write)

    def note_job(self, write: Write[Job]) -> None:
        """Keep a write of a job."""
        self.jobs.append(write)
        self._jobs[write.after.key].append(write)

    def forget_run(self, run: RunId, standing: Run | None) -> list[Write[Run]]:
        """Forget, and return, the writes of a run after a row of it; or all, if that is None."""
        gone = _after(self._runs[run], standing)
        self.runs = _without(self.runs, gone)
        if standing is None:
            self._runs_of[run.job].remove(run)
        return gone

    def forget_job(self, job: JobKey, standing: Job) -> None:
        """Forget the writes of a job after a row of it, but for `of_job_and_lost`."""
        gone = _after(self._jobs[job], standing)
        self.jobs = _without(self.jobs, gone)
        self._lost_of[job].extend(gone)

    def note_task(self, write: Write[Task]) -> None:
        """Keep a write of a task."""
        self.tasks.append(write)

    def note_freezes(self, at: int, row: Freezes) -> None:
        """Keep a tenant's freezes, and when each was stored first."""
        self.freezes.append((at, row))
        self.quotas[row.tenant].append((at, row))
        for one in row.items:
            self.frozen_at.setdefault(one.name, at)

    def freezes_between(self, job: Job, from_at: int, to_at: int) -> list[Freeze]:
        """Return every freeze of a job, in every version that stood at some time between two true times."""
        standing = [row for at, row in self.freezes if at <= from_at and row.tenant == job.key.tenant][-1:]
        rows = [*standing, *(row for at, row in self.freezes if from_at < at <= to_at and row.tenant == job.key.tenant)]
        return [one for row in rows for one in row.items if one.match.matches(job)]

    def is_closed(self, job: Job, fire_at: int, from_at: int, to_at: int) -> set[bool]:
        """Return whether a fire of a job is on a date of its calendar, in all versions between two true times."""
        if job.spec.calendar is None:
            return {False}
        writes = self.calendars[CalendarKey(job.key.tenant, job.spec.calendar.name)]
        standing = [row for at, row in writes if at <= from_at][-1:]
        rows = [*standing, *(row for at, row in writes if from_at < at <= to_at)]
        return {row.spans.end_of(fire_at) is not None for row in rows} | (set() if standing else {False})

    def has_another_calendar(self, key: JobKey, from_at: int, to_at: int) -> bool:
        """Return whether the calendar of a job has changed between two true times."""
        calendars = {one.after.spec.calendar for one in self.of_job(key) if one.after.spec.calendar is not None}
        writes = [write for use in calendars for write in self.calendars.get(CalendarKey(key.tenant, use.name), [])]
        return any(from_at < at <= to_at for at, _ in writes)

    @staticmethod
    def rows_between(noted: list[tuple[int, _Noted]], from_at: int, to_at: int) -> list[_Noted]:
        """Return every version of one key's row that stood at some time between two true times."""
        first = bisect_right(noted, from_at, key=itemgetter(0))
        return [row for _, row in noted[max(0, first - 1) : bisect_right(noted, to_at, key=itemgetter(0))]]

    def note_scan(self, by: str) -> None:
        """Note that a scan of a process begins."""
        self.scans[by].append(len(self.runs))

    def inserted_by_scans(self) -> Iterator[list[Run]]:
        """Yield the runs of schedules that each scan inserted, in order."""
        for by, begins in self.scans.items():
            for begin, end in pairwise([*begins, len(self.runs)]):
                writes = (one for one in self.runs[begin:end] if one.by == by and one.before is None)
                yield [write.after for write in writes if write.after.id.origin is Origin.SCHEDULE]

    def of_run(self, run: RunId) -> list[Write[Run]]:
        """Return the writes of a run."""
        return self._runs[run]

    def runs_of(self, job: JobKey) -> list[RunId]:
        """Return the runs of a job, in the order of their insertion."""
        return self._runs_of[job]

    def of_job(self, job: JobKey) -> list[Write[Job]]:
        """Return the writes of a job."""
        return self._jobs[job]

    def of_job_and_lost(self, job: JobKey) -> list[Write[Job]]:
        """Return the writes of a job, and those that a loss took back: runs may have been decided by both."""
        return [*self._lost_of[job], *self._jobs[job]]

    def of_task(self, key: TaskKey) -> list[Write[Task]]:
        """Return the writes of a task."""
        return [write for write in self.tasks if write.after.key == key]

    def tasks_between(self, key: TaskKey, from_at: int, to_at: int) -> list[Task]:
        """Return every state of a task that was its current one at some time between two true times, both included."""
        writes = self.of_task(key)
        standing = [write.after for write in writes if write.at <= from_at][-1:]
        return standing + [write.after for write in writes if from_at < write.at <= to_at]

    def seen_until(self, job: Job, at: int) -> list[Job]:
        """Return a job as its runs may have seen it until a true time: with any version of its task."""
        if job.task_id is None:
            return [job]
        writes = self.of_task(TaskKey(job.key.tenant, job.task_id))
        return [resolve(write.after, job) for write in writes if write.at <= at]

    def claims(self) -> Iterator[tuple[Write[Run], Run]]:
        """Yield the writes that began an attempt, by its number or by its owner, and the run as it was before."""
        for write in self.runs:
            before, after = write.before, write.after
            if before is None or after.fan is not None:
                continue
            if after.attempt != before.attempt or (after.owner is not None and after.owner != before.owner):
                yield write, before

    def reigns(self, key: JobKey, ends_at: int) -> Iterator[Reign]:
        """Yield each schedule of a job, except those that had nothing to plan. The last one reigns until `ends_at`."""
        lives = [list(rows) for _, rows in groupby((one.after for one in self._jobs[key]), attrgetter("generation"))]
        for rows, following in zip(lives, [*lives[1:], None], strict=True):
            yield from self._reigns_of(rows, ends_at if following is None else following[0].updated_at)

    @staticmethod
    def _reigns_of(rows: Sequence[Job], ends_at: int) -> Iterator[Reign]:
        """Yield the schedules of one generation."""
        begun, *versions = rows
        for job in [*versions, None]:
            if job is None or job.spec.schedule != begun.spec.schedule or job.status is JobStatus.CANCELLED:
                first_at = first_fire(begun.spec.schedule, begun.updated_at)
                if first_at is not None:
                    ended_at = ends_at if job is None else job.updated_at
                    yield Reign(begun.spec.schedule, begun.updated_at, first_at, ended_at, begun.generation)
                if job is None or job.status is JobStatus.CANCELLED:
                    return
                begun = job

    def job_at(self, job: JobKey, at: int) -> Job | None:
        """Return a job as it stood at a true time, or None before its creation."""
        writes = self._jobs[job]
        position = bisect_right(writes, at, key=lambda write: write.at)
        return writes[position - 1].after if position else None

    def jobs_between(self, job: JobKey, from_at: int, to_at: int) -> list[Job]:
        """Return every version of a job that stood at some time between two true times, both included."""
        standing = self.job_at(job, from_at)
        later = [write.after for write in self._jobs[job] if from_at < write.at <= to_at]
        return later if standing is None else [standing, *later]

    def run_at(self, run: RunId, at: int) -> Run | None:
        """Return a run as it stood at a true time, or None before its insertion."""
        writes = self._runs[run]
        position = bisect_right(writes, at, key=lambda write: write.at)
        return writes[position - 1].after if position else None


def _after(writes: list[Write[_Row]], standing: _Row | None) -> list[Write[_Row]]:
    """Take the writes after a row from its writes."""
    first = next((number for number, one in enumerate(writes, 1) if one.after is standing), 0)
    gone = writes[first:]
    del writes[first:]
    return gone


def _without(writes: list[Write[_Row]], gone: list[Write[_Row]]) -> list[Write[_Row]]:
    names = {id(one) for one in gone}
    return [one for one in writes if id(one) not in names]
