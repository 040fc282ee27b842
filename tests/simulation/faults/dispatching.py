"""Faults in storing plans, and in inserting runs outside of plans."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulation.faults.hands import (
    Apply,
    Fault,
    answered,
    believed,
    given,
    inserted,
    instead,
    late,
    overwritten,
    swapped,
)
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.ledger import met
from timeball.engine.scanning.buckets import shards_of
from timeball.ports.rows import Swap
from timeball.testing.memory_kept import MemoryDueIndex


def _is_scheduled(run: Run) -> bool:
    return run.id.origin is Origin.SCHEDULE


def _advances(swap: Swap[Job]) -> bool:
    before, after = swap.before, swap.after
    return before.version == after.version and before.next_fire_at != after.next_fire_at


def _advanced_where(may_advance: Callable[[Job, Job], bool]) -> Apply:
    """Advance the current row of a job if `may_advance` allows it, given the row that was read.

    The engine's condition is the row's revision, which is stronger than what the design asks for.
    """

    def after(standing: Job, swap: Swap[Job]) -> Job | None:
        if not may_advance(standing, swap.before):
            return None
        return replace(standing, next_fire_at=swap.after.next_fire_at, due_at=swap.after.due_at)

    return overwritten(_advances, after)


def _as_due(standing: Sequence[Run | None]) -> list[Run | None]:
    """With a due key the plan believes that the run's writer has sent it, or left it to the scan."""
    return [run and replace(run, due_at=run.not_before) for run in standing]


def _with_any_stamp(standing: Run, planned: Run, now: int, rerun_at_version: int = 0) -> Run:
    return met(
        replace(standing, decided_at_version=min(standing.decided_at_version, planned.decided_at_version)),
        planned,
        now,
        rerun_at_version,
    )


def _without_its_due_key(run: Run) -> Run:
    return run if _is_scheduled(run) else replace(run, due_at=None)


def _as_claimed_as_its_final_run(swap: Swap[Job]) -> Job:
    job = swap.after
    return replace(job, due_at=None) if job.next_fire_at is None and job.intent is None else job


FAULTS = {
    "a scan checks a job no more before its final run is over": Fault(
        swapped("jobs.swap", _as_claimed_as_its_final_run),
        "a job ends with its final run",
        meeting="an execution, and a schedule whose final run it is",
    ),
    "a scan counts the partitions itself": Fault(
        instead(shards_of, lambda partition, _, shards: range(partition, shards, 2)), "nothing is stuck", 10
    ),
    "a scan uses the shards of its own settings": Fault(
        given(MemoryDueIndex, "most_shards", lambda _, shards: shards), "nothing is stuck", 14
    ),
    "advance before insert": Fault(
        late("runs.insert", behind="jobs.swap", which=_is_scheduled),
        "each due instant has one row",
        meeting="another schedule that takes long, and a slow plan of a fire that both have",
    ),
    "advance before send": Fault(
        late("queue.send", behind="jobs.swap"),
        "nothing is stuck",
        meeting="an execution of a path that fails, and one of another path",
    ),
    "advance unconditionally": Fault(
        _advanced_where(lambda *_: True),
        "each due instant has one row",
        meeting="a scan, and a schedule with the same next fire",
    ),
    "advance without schedule_version": Fault(
        _advanced_where(lambda standing, read: standing.next_fire_at == read.next_fire_at),
        "each due instant has one row",
        meeting="a scan, and a schedule with the same next fire that breaks off",
    ),
    "a refused insert of a queued run is not sent again": Fault(
        answered("runs.insert", _as_due), "nothing is stuck", meeting="another schedule that breaks off"
    ),
    "a plan goes on past its own row": Fault(  # whatever row stands there
        believed("runs.insert", lambda row, standing: row.is_terminal and standing.is_terminal),
        "each due instant has one row",
        meeting="a scan that breaks off after an outage",
    ),
    "a range of missed fires overwrites rows that stand": Fault(
        answered("runs.between", lambda _: []),
        "each due instant has one row",
        meeting="a resume after an outage, under another schedule",
    ),
    "an old plan revives what a newer version superseded": Fault(
        instead(met, _with_any_stamp),
        "no older version decides about a superseded run",
        meeting="another schedule, and a third",
    ),
    "no plan revives a run": Fault(
        believed("runs.insert", lambda _, standing: standing.is_superseded),
        "a superseded run is no fire of the newest schedule",
        meeting="a scan, and another schedule",
    ),
    "a run is inserted outside dispatch without a due key": Fault(
        inserted("runs.insert", _without_its_due_key), "nothing is stuck", meeting="a trigger of which a call fails"
    ),
    "a retry is queued before it is sent": Fault(
        late("queue.send", behind="runs.swap"),
        "nothing is stuck",
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
}
