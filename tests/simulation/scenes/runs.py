"""Scenes of runs: failing targets, reports, users who act on runs, lists, operations, versions of tasks."""

from collections.abc import Callable, Mapping

from tests.simulation.actors.listings import list_tenants_runs
from tests.simulation.actors.scripted import (
    answers_with,
    asks,
    asks_of_runs,
    backfills,
    changes,
    delivers_again,
    every,
    job,
    keeps,
    once,
    operates,
    puts_again,
    rests,
    skips,
    submits_jobs,
)
from tests.simulation.actors.targets import report_later
from tests.simulation.actors.users import replay_some
from tests.simulation.scenes.scene import Scene
from tests.simulation.world.receiver import REPORTS_LATER
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Completion, Guarantee
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import TASKS_TARGET, OverlapPolicy, RetryPolicy
from timeball.domain.model.terms.target import HttpTarget, TaskUse
from timeball.domain.operation import OperationAction
from timeball.engine.changes.change import cancel, pause
from timeball.engine.runs.dead_letters import DeadFilter
from timeball.engine.runs.manual import cancel_runs, retry_runs


def _key(name: str, tenant: str = "acme") -> JobKey:
    return JobKey(tenant, name)


def _of(name: str) -> Callable[[Run], bool]:
    return lambda run: run.id.job.job_id == name


SCENES: Mapping[str, Scene] = {
    "targets fail, and runs are retried": Scene(
        [
            (0, answers_with(500)),
            (
                0,
                submits_jobs(
                    job("retries", once(2), retry=RetryPolicy(2, 2, max_seconds=20)),
                    job(
                        "old",
                        once(2),
                        retry=RetryPolicy(5, 4, max_seconds=20, max_age_seconds=10),
                        target=HttpTarget("https://two.example/a"),
                    ),
                    job(
                        "at-most-once",
                        once(2),
                        delivery=Guarantee.AT_MOST_ONCE,
                        retry=RetryPolicy(2, 2, max_seconds=20),
                        target=HttpTarget("https://three.example/b"),
                    ),
                    job(
                        "guarded",
                        every(3),
                        overlap=OverlapPolicy.QUEUE_ONE,
                        retry=RetryPolicy(2, 4, max_seconds=20),
                        target=HttpTarget("https://three.example/c"),
                    ),
                ),
            ),
            (4, delivers_again(lambda run: run.state is RunState.RETRYING)),
            (20, answers_with(200)),
            (20, submits_jobs(job("fine", once(21), target=HttpTarget("https://three.example/d")))),
            (25, delivers_again(lambda run: run.state is RunState.SUCCEEDED)),
            (26, changes(cancel, "guarded")),
        ]
    ),
    "users retry, cancel and replay runs": Scene(
        [
            (0, answers_with(404)),
            (0, submits_jobs(*(job(f"dead-{n}", once(2)) for n in range(5)))),
            (5, answers_with(200, takes_ms=8_000)),
            (5, asks_of_runs("retry", retry_runs, _of("dead-0"))),
            (5.5, asks("replay", _key("dead-1"), replay_some, DeadFilter("acme"), 1)),
            (6, submits_jobs(job("cancelled", once(7)), job("later", once(60)))),
            (9, asks_of_runs("cancel run", cancel_runs, _of("cancelled"))),
            (9, asks_of_runs("cancel run", cancel_runs, _of("later"))),
        ]
    ),
    "targets report later": Scene(
        [
            (
                0,
                submits_jobs(
                    *(
                        job(
                            f"later-{n}",
                            once(1 + n),
                            target=HttpTarget(REPORTS_LATER),
                            completion=Completion.CALLBACK,
                            heartbeat_seconds=(None, 5)[n % 2],
                            retry=RetryPolicy(2, 2, max_seconds=20),
                            timeout_seconds=20,
                        )
                        for n in range(12)
                    )
                ),
            ),
            (30, rests),
        ],
        workers=(report_later,),
    ),
    "bulk operations": Scene(
        [
            (0, answers_with(404)),
            (0, submits_jobs(*(job(f"job-{n}", once(3) if n % 2 else every(15), tenant="user-1") for n in range(6)))),
            (6, operates(OperationAction.TRIGGER, 1)),
            (7, operates(OperationAction.RETRY, 1)),
            (8, operates(OperationAction.PAUSE, 100)),
            (14, operates(OperationAction.RESUME, 2)),
            (20, operates(OperationAction.CANCEL, 2)),
            (26, rests),
        ],
        kind=1,
    ),
    "jobs of tasks that change": Scene(
        [
            (0, keeps("mail", "https://one.example/hook?of=1", RetryPolicy(3, 2, max_seconds=20))),
            (
                0.5,
                submits_jobs(
                    *(
                        job(f"job-{n}", every(6), tenant="user-1", target=TASKS_TARGET, task=TaskUse("mail"))
                        for n in range(2)
                    )
                ),
            ),
            (5, answers_with(500)),
            (7, keeps("mail", "https://two.example/hook?of=2", RetryPolicy(3, 2, max_seconds=20))),
            (9, answers_with(200)),
            (13, keeps("mail", "https://three.example/hook?of=3", RetryPolicy(3, 2, max_seconds=20))),
            (22, rests),
        ],
        kind=8,
    ),
    "a job that is put again": Scene(
        [
            (0, submits_jobs(job("again", once(2)), job("recurs", every(5)))),
            (3, changes(cancel, "recurs")),
            (6, puts_again("again", once(30))),
            (7, puts_again("recurs", every(5))),
            (20, changes(cancel, "again")),
            (21, puts_again("again", once(30))),
            (22, rests),
        ]
    ),
    "a fire that is skipped by hand": Scene(
        [
            (0, submits_jobs(job("skipped", every(8)))),
            (2, skips("skipped", "once")),
            (10, skips("skipped", "once")),
            (12, changes(pause, "skipped")),
        ]
    ),
    "backfills that share slots": Scene(
        [
            (0, submits_jobs(job("a", every(5)), job("b", every(5)), job("c", every(5)))),
            (21, backfills("a", 4)),
            (21, backfills("b", 4)),
            (22, backfills("c", 4)),
        ]
    ),
    "a user lists runs that fail": Scene(
        [
            (0, answers_with(404, 200)),
            (0, submits_jobs(*(job(f"job-{n}", every(4), tenant="user-1") for n in range(3)))),
            (40, rests),
        ],
        workers=(list_tenants_runs,),
        kind=4,
    ),
}
