"""Faults of recoveries: fires and messages stay lost, runs that may not begin again do, and others are in doubt."""

from dataclasses import replace

from tests.simulation.faults.hands import Fault, given, instead
from timeball.domain.attempts.recovery import Repair, lost_fires, repair_of, restart_of
from timeball.domain.model.jobs.job import Job, advanced
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import planned_anew
from timeball.domain.operation import Operation
from timeball.domain.planning.ledger import met

_ONE_ROW = "each due instant since a loss has one row"
_TWICE = "nothing that may begin once is called twice"


def _starts_again(standing: Run, planned: Run, now: int, rerun_at_version: int = 0) -> Run:
    if standing.is_terminal and standing.last_fire_at is None and planned.last_fire_at is None:
        return replace(planned_anew(standing, planned, now), budget_at=standing.budget_at)
    return met(standing, planned, now, rerun_at_version)


def _doubts_all(*asked: object) -> Repair:
    repair = repair_of(*asked)  # type: ignore[arg-type]
    return Repair.DOUBT if repair is Repair.MAKE_DUE else repair


def _ends_due_no_more(job: Job, row: Run, now: int, *, is_older: bool = False) -> Job:
    after = advanced(job, row, now, is_older=is_older)
    return replace(after, due_at=None) if after.next_fire_at is None and job.spec.schedule.is_one_off else after


RECOVERY_FAULTS = {
    "a recovery plans no fire again": Fault(instead(restart_of, lambda *_: None), _ONE_ROW, 1),
    "a recovery makes no live run due": Fault(
        instead(repair_of, lambda *_: Repair.KEEP), "nothing is left behind by a loss", 5
    ),
    "a recovery has no doubt about lost fires": Fault(instead(lost_fires, lambda *_: iter(())), _TWICE, 25),
    "a recovery has doubts about each live run": Fault(
        instead(repair_of, _doubts_all), "only what may not begin again is in doubt", 0
    ),
    "a plan that meets a run that is over starts it again": Fault(
        instead(met, _starts_again), "what was over after a loss is not called", 0
    ),
    "a second recovery takes what came after the first for lost": Fault(
        given(Operation, "lost_by", property(lambda operation: operation.created_at)),
        "a second recovery puts nothing in doubt",
        0,
    ),
    "a one-off that meets its ended run is not due again": Fault(
        instead(advanced, _ends_due_no_more), "a job ends with its final run", 1946
    ),
}
"""They are found in stories of losses (recovery.py)."""
