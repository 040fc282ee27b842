"""The work of a job, the work of a run, and the record of a client's request."""

from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, job, swapped, work
from timeball.domain.changes.change import new_task
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.jobs.task import TaskSpec
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import (
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    InvocationType,
    LambdaTarget,
    LaunchType,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
)
from timeball.ports.rows import Swap
from timeball.ports.store import Store


@pytest.mark.parametrize("characters", [20, 5_000])
@pytest.mark.parametrize("characters_before", [20, 5_001])
def test_a_swap_with_another_work_replaces_it_and_a_swap_without_work_leaves_it(
    subject: Subject, characters_before: int, characters: int
) -> None:
    store, before = subject.store, job(characters=characters_before)
    store.jobs.insert([before], NOW)
    after = with_spec(before, work=work(characters), name="other")
    if characters == 20:
        subject.lose_answer()
    written = swapped(store.jobs, before, after)
    assert written == with_spec(replace(after, revision=2), work=None)
    assert store.jobs.read([KEY], with_work=True) == [replace(after, revision=2)]
    later = swapped(store.jobs, written, with_spec(written, name="third"))
    assert store.jobs.read([KEY], with_work=True) == [with_spec(later, work=work(characters))]
    stale = with_spec(before, work=work(7))
    assert not store.jobs.swap([Swap(before, stale)], NOW)[0].done
    assert store.jobs.read([KEY], with_work=True) == [with_spec(later, work=work(characters))]


def test_a_runs_own_work_is_read_by_its_digest(store: Store) -> None:
    names = store.works.save([(KEY, work(10)), (KEY, work(9_000))], NOW)
    assert store.works.save([(KEY, work(10))], NOW) == names[:1]
    assert store.works.read([(KEY, names[1]), (KEY, "none"), (KEY, names[0])]) == [work(9_000), None, work(10)]
    assert store.works.read([(JobKey("other", "job"), names[0])]) == [None]


@pytest.mark.parametrize(
    "target",
    [
        HttpTarget("https://target.example", headers={"A": "b"}),
        LambdaTarget("arn:function", InvocationType.EVENT),
        SqsTarget("arn:queue"),
        SnsTarget("arn:topic", "subject", "group"),
        StepFunctionsTarget("arn:machine"),
        EcsTarget(
            "arn:cluster", "arn:task", "main", LaunchType.EC2, ("subnet-1", "subnet-2"), (), assign_public_ip=True
        ),
        EventBridgeTarget("arn:bus", "acme", "Due"),
    ],
)
def test_a_target_is_read_with_the_type_with_which_it_was_written(store: Store, target: Target) -> None:
    wanted = with_spec(job(), work=Work(target, "1"), notify=Notify(on_failure=target))
    store.jobs.insert([wanted], NOW)
    assert store.jobs.read([KEY], with_work=True) == [wanted]
    task = new_task(TaskSpec(TaskKey("acme", "report"), target), NOW)
    store.tasks.insert([task], NOW)
    assert store.tasks.read([task.key]) == [task]
