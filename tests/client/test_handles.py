"""Waiting for runs, operations and backfills, and following them."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.client.in_memory import async_client, client
from tests.console.world import World
from timeball.client import Job, RunFailed, Timeball

HOOK = "https://example.com/hook"


def test_a_run_is_waited_for_until_it_has_succeeded(timeball: Timeball) -> None:
    timeball.jobs.put("slow", {"handler": "https://example.com/slow/40", "everySeconds": 86400})
    run = timeball.jobs.trigger("slow").wait(timeout=60)
    assert run.status == "succeeded"
    assert run.started_at is not None
    assert run.finished_at is not None
    assert (run.finished_at - run.started_at).total_seconds() == 40


@pytest.mark.parametrize("path", ["fail/400", "fail/503"])
def test_a_run_that_dies_is_an_error_with_the_run(timeball: Timeball, path: str) -> None:
    timeball.jobs.put("bad", Job(call=f"https://example.com/{path}", retries=0))
    run_id = timeball.jobs.runs("bad").all()[0].id
    with pytest.raises(RunFailed) as failed:
        timeball.runs.wait(run_id)
    assert failed.value.run.id == run_id
    assert str(failed.value).startswith(f"The run {run_id} is failed.")


def test_a_wait_that_is_over_says_so_and_cancels_nothing(world: World, timeball: Timeball) -> None:
    timeball.jobs.put("slow", {"handler": "https://example.com/slow/40", "everySeconds": 86400})
    handle, began = timeball.jobs.trigger("slow"), world.clock.now()
    with pytest.raises(TimeoutError, match="was not over after 10 s; it goes on"):
        handle.wait(timeout=10)
    assert 10_000 <= world.clock.now() - began < 11_000
    assert handle.wait(timeout=60).status == "succeeded"


def test_a_run_is_shown_at_each_change(timeball: Timeball) -> None:
    timeball.jobs.put("flaky", {"handler": "https://example.com/flaky", "retryPolicy": {"baseSeconds": 10}})
    (run,) = timeball.jobs.runs("flaky").all()
    seen = [(one.status, one.attempt) for one in timeball.runs.follow(run.id)]
    assert seen[-1] == ("succeeded", 2)
    assert ("retrying", 1) in seen
    assert len(seen) == len(set(seen))


def test_an_operation_is_followed_to_its_end(timeball: Timeball) -> None:
    for number in range(5):
        timeball.jobs.put(f"job-{number}", {"handler": HOOK, "everySeconds": 3600, "tags": {"team": "web"}})
    handle = timeball.operations.create("pause", tags={"team": "web"}, per_second=1)
    done = [one.progress.done for one in handle.follow(timeout=60)]
    assert done == sorted(done)
    assert done[-1] == 5
    assert handle.wait().status == "succeeded"


def test_a_backfill_is_followed_to_its_end(timeball: Timeball) -> None:
    timeball.jobs.put("report", {"handler": HOOK, "cronExpression": "0 2 * * *"})
    from_, to = datetime(2026, 11, 18, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC)
    handle = timeball.backfills.create("report", from_, to, pace_seconds=1)
    assert handle.answer.total == 4
    assert [one.remaining for one in handle.follow(timeout=300)][-1] == 0
    assert handle.wait().status == "completed"


def test_an_event_loop_waits_too(world: World) -> None:
    async def work() -> list[str]:
        async with async_client(world) as timeball:
            await timeball.jobs.put("report", {"handler": HOOK, "cronExpression": "0 2 * * *"})
            run = await timeball.jobs.trigger("report")
            operation = await timeball.operations.create("pause", all_jobs=True)
            backfill = await timeball.backfills.create(
                "report", datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC)
            )
            ended = [
                (await run.wait(timeout=60)).status,
                (await operation.wait()).status,
                (await backfill.wait()).status,
            ]
            return [str(one) for one in ended]

    assert asyncio.run(work()) == ["succeeded", "succeeded", "completed"]


def test_lists_are_read_with_an_event_loop(world: World) -> None:
    with client(world) as timeball:
        for number in range(3):
            timeball.jobs.put(f"job-{number}", {"handler": HOOK, "everySeconds": 3600})

    async def names() -> list[str]:
        async with async_client(world) as timeball:
            listed = timeball.jobs.list(limit=2)
            assert [len(page) async for page in listed.pages()] == [2, 1]
            assert len(await listed.all()) == 3
            return [job.id async for job in listed]

    assert sorted(asyncio.run(names())) == ["job-0", "job-1", "job-2"]
