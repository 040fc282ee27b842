"""The cost of a task on DynamoDB: one more read for a created job, and no more requests for a claim."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.backends import client, moto, new_table
from tests.contract.rows import NOW, task_spec
from tests.engine.play import Play, spec
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import At
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.execution.claim import claim
from timeball.engine.resolving import read_tasks
from timeball.engine.scheduling.dispatch import dispatch
from timeball.engine.scheduling.submit import submit
from timeball.engine.tasks import create_task, revise_task

OF_TASK = replace(spec("of-task", At(NOW)), work=Work(), task=TaskUse("send_mail"))
PLAIN = spec("job", At(NOW))


class Costs:
    """A play over a table, and the requests that it makes."""

    def __init__(self) -> None:
        dynamodb = client("dynamodb")
        self.play = Play(dynamo_store(dynamodb, new_table(dynamodb)), NOW)
        self.context = self.play.context()
        self.asked: list[str] = []
        dynamodb.meta.events.register("before-call.dynamodb", self._note)

    def _note(self, model: Any, **_: object) -> None:
        self.asked.append(model.name)

    def know_the_freezes(self) -> None:
        """Read the tenant's freezes, as a busy process has done lately."""
        read_blackouts(self.context, [new_job(PLAIN, NOW, Shards(1))])

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        self.asked.clear()
        yield self.asked


@pytest.fixture
def costs() -> Iterator[Costs]:
    with moto():
        costs = Costs()
        create_task(costs.context, task_spec())
        yield costs


def test_a_claim_makes_the_same_requests_with_and_without_a_task_however_often_the_task_has_changed(
    costs: Costs,
) -> None:
    submit(costs.context, [PLAIN, OF_TASK], NOW)
    runs = [RunId(one.key, NOW, Origin.SCHEDULE) for one in (PLAIN, OF_TASK)]
    costs.know_the_freezes()
    first = [_claim(costs, run, "first") for run in runs]
    assert first == [["BatchGetItem", "BatchGetItem", "BatchGetItem", "UpdateItem"]] * 2
    (task,) = costs.context.store.tasks.read([task_spec().key])
    assert task is not None
    revise_task(costs.context, task, replace(task_spec(), name="new"))
    costs.play.clock.advance(MINUTE_MS)
    costs.know_the_freezes()
    plain, of_task = (_claim(costs, run, "second") for run in runs)
    assert plain == of_task
    (run,) = costs.context.store.runs.read(runs[1:])
    assert run is not None
    assert (run.attempt, run.task_version) == (2, 1)


def _claim(costs: Costs, run: RunId, owner: str) -> list[str]:
    """Claim a run, and return the requests of the claim."""
    with costs.counted() as asked:
        (claimed,) = claim(costs.context, [run], owner)
        assert claimed.is_mine
        return [*asked]


def test_a_job_of_a_task_that_is_not_yet_due_is_created_in_two_requests(costs: Costs) -> None:
    later = replace(
        OF_TASK, key=JobKey("acme", "later"), schedule=replace(OF_TASK.schedule, timing=At(NOW + MINUTE_MS))
    )
    with costs.counted() as asked:
        read_tasks(costs.context, [task_spec().key])
        submit(costs.context, [later], NOW)
    assert asked == ["BatchGetItem", "PutItem"]


def test_a_dispatch_reads_no_task_for_jobs_without_one(costs: Costs) -> None:
    counts = []
    costs.know_the_freezes()
    for number, asked_for in enumerate((PLAIN, OF_TASK)):
        key = JobKey("acme", f"dispatched-{number}")
        later = replace(asked_for, key=key, schedule=replace(asked_for.schedule, timing=At(NOW + MINUTE_MS)))
        (submitted,) = submit(costs.context, [later], NOW)
        with costs.counted() as asked:
            dispatch(costs.context, [submitted.job], NOW + MINUTE_MS)
            counts.append(len(asked))
    assert counts[1] == counts[0] + 1
