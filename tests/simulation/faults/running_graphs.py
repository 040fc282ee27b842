"""Faults of named cycles: which jobs have rows in them, and which parents a run waits for."""

from collections.abc import Sequence

import timeball.engine.backfills
from tests.simulation.faults.hands import Fault, both, instead
from timeball.domain.dependencies.evaluation import stopped_with_backfill
from timeball.domain.dependencies.named_cycle import takes_part
from timeball.domain.dependencies.trigger_rule import CycleStep, JoinDecision, ParentStanding, join
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.dependency import State, TriggerRule
from timeball.engine.context import Context
from timeball.engine.dependencies.named_cycles import read_descendants


def _without_children(job: Job) -> bool:
    return takes_part(job) and not job.spec.depends_on


def _waiting_for_all(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    going = [evolve(one, state=State.GOING) if one.state is State.OUTSIDE else one for one in parents]
    return join(rule, going)


def _not_waiting(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    is_named = any(one.state is State.OUTSIDE for one in parents)
    return JoinDecision(CycleStep.RUN) if is_named else join(rule, parents)


def _none(_context: Context, _start: Job) -> tuple[list[Job], bool]:
    return [], False


def _still_waiting(run: Run, _now: int) -> Run:
    return run


FAULTS = {
    "a cancel of a graph backfill stops the runs of its first job alone": Fault(
        both(
            instead(read_descendants, _none, timeball.engine.backfills), instead(stopped_with_backfill, _still_waiting)
        ),
        "no run of a cancelled graph backfill is left waiting or begins",
        scene="a cancel of a backfill of a graph with a slow job",
    ),
    "a named cycle has its first job alone": Fault(
        instead(takes_part, _without_children),
        "each job of a subtree has a row in its named cycle",
        scene="named cycles of a graph",
    ),
    "a run waits for a parent outside of its named cycle": Fault(
        instead(join, _waiting_for_all),
        "a job that waits at the end has a parent that may still end",
        scene="named cycles of a graph",
    ),
    "a run waits for no parent of its named cycle if one is outside": Fault(
        instead(join, _not_waiting), "a cycle starts only if its rule holds", scene="named cycles of a graph"
    ),
}
