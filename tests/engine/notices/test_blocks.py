"""A job that its parents stop run after run tells so, once for a streak."""

import json
from dataclasses import replace
from typing import Any

from tests.engine.dependencies.graphs import BEGIN, ONCE, Graph, key, node
from tests.engine.notices.desk import FAILED
from tests.engine.play import PLAIN_RETRY, spec
from tests.urls import url_of
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.runs.manual import cancel_runs, retry_runs
from timeball.engine.runs.trigger import Trigger, trigger

PERIOD = 60
BLOCKED = HttpTarget("https://told.example/blocked")


def often(job_id: str) -> JobSpec:
    return spec(job_id, Schedule(Every(PERIOD, BEGIN), max_runs=10), ONCE)


def child(notify: Notify | None, parents: str = "p", job_id: str = "c") -> JobSpec:
    return replace(node(job_id, parents), notify=notify)


def told(graph: Graph) -> list[tuple[str, dict[str, Any]]]:
    """Return the notices that were sent: the last part of each URL, and the payload."""
    calls = [(url_of(call.work.target), call.work.payload) for call in graph.calls]
    return [(url.rpartition("/")[2], json.loads(text or "")) for url, text in calls if "told.example" in url]


def told_runs(graph: Graph) -> list[int]:
    """Return the cycles that notices of blocked runs name."""
    sent = [what["runId"] for name, what in told(graph) if name == "blocked"]
    return [(int(run.split(".")[1]) - BEGIN) // PERIOD // 1000 for run in sent]


def cycle(graph: Graph, job_id: str, number: int) -> Any:
    return next(one for one in graph.play.runs(key(job_id)) if one.id.fire_at == BEGIN + number * PERIOD * 1000)


def test_runs_that_a_cancelled_parent_skips_are_told_once_for_a_streak() -> None:
    parent = replace(often("p"), retry=replace(PLAIN_RETRY, base_seconds=30))
    with Graph(parent, child(Notify(on_blocked=BLOCKED)), failing="p") as graph:
        for number in range(9):
            graph.failing = set() if number == 5 else {"p"}
            graph.until(number * PERIOD + 5)
            cancel_runs(graph.play.context(), [cycle(graph, "p", number).id])
        graph.until(9 * PERIOD)
        assert [cycle(graph, "c", number).state for number in (4, 5, 6)] == ["skipped", "succeeded", "skipped"]
        assert told_runs(graph) == [2, 8]
        first = told(graph)[0][1]
        assert {name: first[name] for name in ("type", "jobId", "reason", "attempts")} == {
            "type": "blocked",
            "jobId": "c",
            "reason": "parent_cancelled",
            "attempts": 0,
        }


def test_runs_that_a_failed_parent_blocks_are_told_and_its_success_ends_the_streak() -> None:
    with Graph(often("p"), child(Notify(on_blocked=BLOCKED, after_blocked=2)), failing="p") as graph:
        graph.until(3 * PERIOD + 10)
        assert told_runs(graph) == [1]
        assert told(graph)[0][1]["reason"] == "blocked"
        graph.failing.clear()
        retry_runs(graph.play.context(), [cycle(graph, "p", number).id for number in range(4)])
        graph.until(3 * PERIOD + 40)
        assert graph.job("c").stopped is None
        graph.failing.add("p")
        graph.until(6 * PERIOD + 10)
        assert told_runs(graph) == [1, 5]


def test_the_grandchildren_of_what_is_stopped_are_stopped_too() -> None:
    wish = Notify(on_blocked=BLOCKED, after_blocked=2)
    with Graph(often("p"), child(None), child(wish, "c", "d"), failing="p") as graph:
        graph.until(PERIOD + 10)
        assert [what["jobId"] for _, what in told(graph)] == ["d"]


def test_a_run_by_hand_ends_the_streak() -> None:
    with Graph(often("p"), child(Notify(on_blocked=BLOCKED, after_blocked=2)), failing="p") as graph:
        graph.until(PERIOD + 10)
        trigger(graph.play.context(), [Trigger(key("c"), fingerprint="x")])
        graph.until(3 * PERIOD + 10)
        assert told_runs(graph) == [1, 3]


def test_each_block_goes_to_on_failure_as_before_and_no_streak_to_a_job_that_asks_for_none() -> None:
    with Graph(often("p"), child(Notify(on_failure=FAILED)), failing="p") as graph:
        graph.until(3 * PERIOD + 10)
        assert [(name, what["type"]) for name, what in told(graph)] == [("failed", "blocked")] * 4
        assert graph.job("c").stopped is None
