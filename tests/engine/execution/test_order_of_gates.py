"""Which gates a run enters before its claim: only those whose feature it has, in one order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import NOW, spec
from timeball.domain.model.ids import Origin, RunId, Shards
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.flow import Flow
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.planning.waiting_events import needs_event
from timeball.domain.time.schedule import At, Every
from timeball.engine.execution.gates import (
    GATES,
    any_run,
    calls_target,
    may_be_replaced,
    may_start_late,
    takes_answers,
)
from timeball.engine.runs.overlap_lock import needs_lock

JOB = new_job(spec("job", Every(60, NOW)), NOW, Shards(1))
RUN = Run(RunId(JOB.key, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
ONCE = new_job(spec("job", At(NOW)), NOW, Shards(1))
FILLED = replace(RUN, id=replace(RUN.id, origin=Origin.BACKFILL))

PLAIN = [calls_target, any_run, may_start_late]
ALL = [may_be_replaced, needs_event, takes_answers, needs_lock, *PLAIN]

# Each case: what the job's spec has, the run, and the gates that it enters.
ENTERED: dict[str, tuple[dict[str, Any], Run, Sequence[object]]] = {
    "a plain run": ({}, RUN, PLAIN),
    "a newer run replaces it": ({"flow": Flow(supersede=True)}, RUN, [may_be_replaced, *PLAIN]),
    "its fire needs an event": ({"event": "{}"}, RUN, [needs_event, *PLAIN]),
    "its fire has its event": ({"event": "{}"}, replace(RUN, attempt=1, event_digest="e"), PLAIN),
    "it was retried by a person": (
        {"flow": Flow(supersede=True)},
        replace(RUN, budget_at=NOW),
        PLAIN,
    ),
    "it takes the answers of its parents": ({"pass_parents": True}, RUN, [takes_answers, *PLAIN]),
    "its job has an overlap lock": ({"overlap": OverlapPolicy.SKIP}, RUN, [needs_lock, *PLAIN]),
    "a backfill needs no lock, and its row names the run": (
        {"overlap": OverlapPolicy.SKIP},
        FILLED,
        [calls_target, any_run],
    ),
    "a retry may outlive the row of its backfill": ({}, replace(FILLED, budget_at=NOW), PLAIN),
    "its payload is gone": ({"work": None}, RUN, [any_run, may_start_late]),
    "all of them": (
        {"flow": Flow(supersede=True), "event": "{}", "pass_parents": True, "overlap": OverlapPolicy.QUEUE_ONE},
        RUN,
        ALL,
    ),
}


@pytest.mark.parametrize("case", ENTERED)
def test_a_run_enters_only_the_gates_of_the_features_that_it_has(case: str) -> None:
    of_spec, run, entered = ENTERED[case]
    assert [gate.applies for gate in GATES if gate.applies(run, with_spec(JOB, **of_spec))] == entered


def test_a_run_of_a_one_off_is_found_however_late_it_starts() -> None:
    assert [gate.applies for gate in GATES if gate.applies(RUN, ONCE)] == [calls_target, any_run]


def test_the_gates_stand_in_one_order() -> None:
    assert [gate.applies for gate in GATES] == ALL
