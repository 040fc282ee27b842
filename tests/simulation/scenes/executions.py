"""Scenes of runs that follow the executions that they start."""

from collections.abc import Mapping

from tests.simulation.actors.executions import tell_of_ends
from tests.simulation.actors.scripted import (
    asks_of_runs,
    changes,
    delivers_again,
    every,
    job,
    lets_executions_last,
    once,
    rests,
    storms_at_aws,
    submits_jobs,
    tells_very_late,
)
from tests.simulation.scenes.scene import LIMITED, Scene
from tests.simulation.world.receiver import REPORTS_LATER
from timeball.domain.model.jobs.job import Completion
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow
from timeball.domain.model.terms.policies import OverlapPolicy, RetryPolicy
from timeball.domain.model.terms.target import EcsTarget, HttpTarget, StepFunctionsTarget
from timeball.engine.changes.change import cancel
from timeball.engine.runs.manual import cancel_runs

_STEPS = StepFunctionsTarget("arn:aws:states:eu-west-1:123456789012:stateMachine:nightly", follow=True)
_TASK = EcsTarget(
    "arn:aws:ecs:eu-west-1:123456789012:cluster/c",
    "arn:aws:ecs:eu-west-1:123456789012:task-definition/t:1",
    "main",
    follow=True,
)
_ONE = Flow(concurrency=ConcurrencyLimit("key", 1))
_OTHER = Flow(concurrency=ConcurrencyLimit("other", 1))

_FOLLOWED = [
    job(
        f"steps-{n}",
        once(1 + n),
        target=_STEPS if n % 2 else _TASK,
        retry=RetryPolicy(1, 2, max_seconds=20),
        timeout_seconds=(20, 60)[n // 2 % 2],
    )
    for n in range(10)
]
"""One-offs, whose targets are executions that last longer than their calls."""

SCENES: Mapping[str, Scene] = {
    "runs that follow executions": Scene(
        [
            (0, storms_at_aws),
            (0, submits_jobs(*_FOLLOWED)),
            (0, submits_jobs(job("guarded", every(5), target=_TASK, overlap=OverlapPolicy.CANCEL_OTHER))),
            (8, asks_of_runs("cancel run", cancel_runs, lambda run: run.followed is not None)),
            (14, delivers_again(lambda run: run.state is RunState.RUNNING)),
            (30, changes(cancel, "guarded")),
        ],
        executors=3,
    ),
    "runs that follow executions of which AWS tells": Scene(
        [
            (0, storms_at_aws),
            (0, submits_jobs(*_FOLLOWED)),
            (30, rests),
        ],
        workers=(tell_of_ends,),
        executors=3,
    ),
    "executions of which AWS tells minutes later": Scene(
        [
            (0, submits_jobs(*(job(f"untold-{n}", once(1), target=(_STEPS, _TASK)[n % 2]) for n in range(4)))),
            (2, rests),
        ],
        workers=(tells_very_late,),
    ),
    "executions that last, and are cancelled": Scene(
        [
            (0, lets_executions_last(90)),
            (
                0,
                submits_jobs(
                    job("steps", once(1), target=_STEPS),
                    job("task", once(1), target=_TASK),
                    job("guarded", every(7), target=_TASK, overlap=OverlapPolicy.CANCEL_OTHER),
                ),
            ),
            (8, asks_of_runs("cancel run", cancel_runs, lambda run: run.followed is not None and not run.is_terminal)),
            (9, delivers_again(lambda run: run.state is RunState.RUNNING)),
            (25, changes(cancel, "guarded")),
        ],
        executors=2,
    ),
    "a limiter of runs that outlive their executor": Scene(
        [
            (
                0,
                submits_jobs(
                    *(
                        job(
                            f"later-{n}", once(2), flow=_ONE, target=_STEPS, timeout_seconds=60, retry=RetryPolicy(0, 2)
                        )
                        for n in range(3)
                    ),
                    *(
                        job(
                            f"reports-{n}",
                            once(2),
                            flow=_OTHER,
                            target=HttpTarget(REPORTS_LATER),
                            completion=Completion.CALLBACK,
                            timeout_seconds=40,
                            retry=RetryPolicy(0, 2),
                        )
                        for n in range(3)
                    ),
                ),
            ),
            (0, storms_at_aws),
            (70, rests),
        ],
        kind=LIMITED,
        executors=2,
    ),
}
