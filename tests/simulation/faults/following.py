"""Faults of followed executions: they are not polled, not stopped, or mistaken for those of another run."""

from collections.abc import Mapping, Sequence
from typing import Any

import timeball.engine.runs.due_runs as following
from tests.simulation.faults.freezes import by_its_lease
from tests.simulation.faults.hands import Fault, given, instead
from timeball.aws.executions import AwsExecutions, of_task
from timeball.domain.attempts.callback import awaits_report, handed_over
from timeball.domain.attempts.claim import ClaimRules, Decision, decide_claim
from timeball.domain.attempts.retry import starts_as
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.sharing.slots_and_tokens import has_slot
from timeball.ports.target import UNDER_WAY, ExecutionStatus

_BEFORE_ITS_EXECUTION = "no attempt ends before its execution"


def _unknown(_: AwsExecutions, arns: Sequence[str]) -> list[ExecutionStatus | None]:
    return [None] * len(arns)


def _taken(_: AwsExecutions, arns: Sequence[str]) -> list[bool]:
    return [True] * len(arns)


def _by_exit_codes_alone(task: Mapping[str, Any]) -> ExecutionStatus:
    return of_task({**task, "stopCode": None})


def _over_once_it_is_to_stop(task: Mapping[str, Any]) -> ExecutionStatus:
    return of_task({**task, "lastStatus": task.get("desiredStatus", task["lastStatus"])})


def _to_report(run: Run, job: Job, called_at: int, now: int, margin_ms: int, _: str | None = None) -> Run:
    return handed_over(run, job, called_at, now, margin_ms)


def _any_holder(run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision:
    is_followed = run is not None and run.followed is not None
    return decide_claim(evolve(run, callback=None) if run and is_followed else run, job, now, rules, excluded)


def _ended_at_once(run: Run, reason: Reason) -> Run:
    return ended(run, RunState.CANCELLED, run.claimed_at or run.created_at, Guarantor.SCAN, reason)


def _whichever_attempt(run: Run, _: int) -> bool:
    return run.state is RunState.RUNNING


FAULTS = {
    "the state of an execution is never read": Fault(
        given(AwsExecutions, "poll", _unknown), "an end is seen", scene="executions of which AWS tells minutes later"
    ),
    "an execution's end ends a later attempt too": Fault(
        instead(awaits_report, lambda run, _: run.state is RunState.RUNNING),
        "only the holder of an attempt finishes it",
        9,
    ),
    "an execution that was asked to stop counts as stopped": Fault(
        given(AwsExecutions, "stop", _taken),
        "each execution whose run is cancelled is stopped",
        scene="executions that last, and are cancelled",
    ),
    "an execution that AWS does not show yet counts as gone": Fault(
        given(following, "UNKNOWN", UNDER_WAY), _BEFORE_ITS_EXECUTION, 12
    ),
    "a stopped task counts as succeeded": Fault(
        instead(of_task, _by_exit_codes_alone), "an attempt ends as its execution did", 42
    ),
    "a task is over once it is to stop": Fault(
        instead(of_task, _over_once_it_is_to_stop),
        _BEFORE_ITS_EXECUTION,
        scene="executions that last, and are cancelled",
    ),
    "a newer run takes the lock of a run whose execution goes on": Fault(
        instead(asked_to_stop, _ended_at_once),
        "executions of a guarded job come one by one",
        scene="executions that last, and are cancelled",
    ),
    "the hand-over forgets the execution that was started": Fault(
        instead(handed_over, _to_report),
        "each started execution is followed",
        scene="executions that last, and are cancelled",
    ),
    "a message claims a run that is followed": Fault(
        instead(decide_claim, _any_holder),
        "no executor claims a run that follows an execution",
        scene="executions that last, and are cancelled",
    ),
    "a run is cancelled and its execution is not": Fault(
        instead(asked_to_stop, _ended_at_once),
        "no execution goes on without a run that follows it",
        scene="executions that last, and are cancelled",
    ),
    "an attempt starts what another may have started": Fault(
        instead(starts_as, lambda run: run.attempt), "no run has two executions at once", 9
    ),
    "a run that follows an execution keeps its slot only for its lease": Fault(
        instead(has_slot, by_its_lease),
        "no more runs are under way than may",
        scene="a limiter of runs that outlive their executor",
    ),
}
