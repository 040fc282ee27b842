"""Graphs of many jobs over the API: they are shown in pages, joined, run again, triggered and cancelled as a whole."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.cycles.at_work import PERIOD, api_of, fire_time, recurring
from tests.api.dependencies.asking import batch
from tests.engine.dependencies.graphs import BEGIN, Graph, node
from timeball.api.app import build_api
from timeball.api.http.cursor import MOST_OF_A_GRAPH
from timeball.domain.dependencies.named_cycle import MAX_JOBS
from timeball.domain.model.evolve import evolve
from timeball.domain.model.terms.dependency import MOST_PARENT_BYTES, Parent, parent_bytes
from timeball.domain.time.instants import format_instant
from timeball.engine.context import Rules

LAYERS = (("a",), ("b0", "b1", "b2", "b3", "b4"), ("c0", "c1", "c2"), ("d",))
SMALL = (
    recurring("a"),
    *(node(one, "a") for one in LAYERS[1]),
    *(node(one, " ".join(LAYERS[1])) for one in LAYERS[2]),
    node("d", " ".join(LAYERS[2])),
)
MORE = pytest.mark.more
ALL = [one for layer in LAYERS for one in layer]


def pages(api: Api, path: str, limit: int | None = None, **more: Any) -> Iterator[Any]:
    """Yield the pages of a graph."""
    query = {} if limit is None else {"limit": str(limit)}
    while True:
        answer = api.call("GET", path, query=query, **more)
        assert answer.status == 200, answer.text
        yield answer.body
        if answer.body["nextCursor"] is None:
            return
        query |= {"cursor": answer.body["nextCursor"]}


def asked(job_id: str, *parents: str) -> dict[str, object]:
    """Return an item of a batch: a job with a single try, at the first fire time or after its parents."""
    when = {"dependsOn": list(parents)} if parents else {"scheduleAt": format_instant(BEGIN)}
    return {"jobId": job_id, "maxRetries": 0, **when}


def around(body: Any) -> list[str]:
    return [one["jobId"] for one in (*body["ancestors"], *body["descendants"])]


def within(body: Any) -> list[str]:
    return [one["jobId"] for one in body["items"]]


class TestPages:
    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 9, 10, 1_000])
    @pytest.mark.parametrize("job_id", ["a", "b1", "d"])
    def test_the_pages_of_a_graph_have_each_job_once_and_the_nearest_first(self, job_id: str, limit: int) -> None:
        with Graph(*SMALL) as graph:
            api = api_of(graph)
            found = [*pages(api, f"/v1/jobs/{job_id}/graph", limit)]
            names = [name for page in found for name in around(page)]
            assert names == around(api.call("GET", f"/v1/jobs/{job_id}/graph").body)
            nearest = {"a": ALL[1:], "b1": ["a", "c0", "c1", "c2", "d"], "d": [*LAYERS[2], *LAYERS[1], "a"]}
            assert names == nearest[job_id]
            assert {len(around(page)) for page in found[:-1]} <= {limit}
            assert [page["isCut"] for page in found] == [True] * (len(found) - 1) + [False]
            assert {page["job"]["jobId"] for page in found} == {job_id}

    @pytest.mark.parametrize("limit", [1, 2, 4, 9, 10, 1_000])
    @pytest.mark.parametrize("first", [node("a"), recurring("a")], ids=["once", "recurring"])
    def test_the_pages_of_a_cycle_have_each_run_once_and_parents_first(self, first: Any, limit: int) -> None:
        with Graph(first, *SMALL[1:], failing="c1") as graph:
            graph.until(10)
            api, path = api_of(graph), f"/v1/cycles/b1/{fire_time()}"
            whole = api.call("GET", path).body
            found = [*pages(api, path, limit)]
            assert [item for page in found for item in page["items"]] == whole["items"]
            assert within(whole) == ALL
            assert whole["items"][-1]["waitingFor"] == ["c1"]
            assert {len(page["items"]) for page in found[:-1]} <= {limit}

    def test_each_page_says_whether_the_whole_cycle_is_over(self) -> None:
        with Graph(*SMALL, failing="b4") as graph:
            path = f"/v1/cycles/a/{fire_time()}"
            graph.until(-5)
            assert {page["isOver"] for page in pages(api_of(graph), path, 4)} == {False}
            graph.takes_ms["b3"] = 60_000
            graph.until(10)
            assert {page["isOver"] for page in pages(api_of(graph), path, 1)} == {False}
            graph.until(90)
            assert {page["isOver"] for page in pages(api_of(graph), path, 1)} == {True}

    def test_a_named_cycle_is_shown_in_pages_without_the_jobs_that_came_later(self) -> None:
        with Graph(recurring("a"), *(node(f"b{number}", "a") for number in range(3))) as graph:
            api = api_of(graph)
            cycle_id = api.call("POST", "/v1/jobs/a/trigger", {"downstream": True}).body["cycleId"]
            graph.until(5)
            batch(api, *(asked(f"a{number}", "a") for number in range(3)))
            found = [*pages(api, f"/v1/cycles/b1/{cycle_id}", 2)]
            assert [name for page in found for name in within(page)] == ["a", "b0", "b1", "b2"]
            assert {page["isOver"] for page in found} == {True}

    def test_a_key_bounded_to_tags_pages_through_the_jobs_that_it_sees(self) -> None:
        blue = [evolve(one, tags={"team": "blue"} if one.key.job_id[0] in "ac" else {}) for one in SMALL]
        with Graph(*blue) as graph:
            api, bounds = api_of(graph), {"team": "blue"}
            seen = pages(api, f"/v1/cycles/a/{fire_time()}", 1, bounds=bounds)
            assert [within(page) for page in seen] == [["a"], ["c0"], ["c1"], ["c2"]]
            seen = pages(api, "/v1/jobs/a/graph", 2, bounds=bounds)
            assert [around(page) for page in seen] == [["c0", "c1"], ["c2"]]

    def test_a_cursor_continues_its_own_graph_alone(self) -> None:
        with Graph(*SMALL) as graph:
            api, cycle = api_of(graph), f"/v1/cycles/a/{fire_time()}"
            cursor = api.call("GET", "/v1/jobs/a/graph", query={"limit": "2"}).body["nextCursor"]
            for path in ("/v1/jobs/b1/graph", cycle, f"/v1/cycles/a/{fire_time(1)}"):
                assert api.call("GET", path, query={"cursor": cursor}).bad_fields() == ["cursor"]
            for path in ("/v1/jobs/a/graph", cycle):
                assert api.call("GET", path, query={"limit": "1001"}).bad_fields() == ["limit"]

    def test_a_graph_beyond_the_limit_is_cut_on_its_last_page(self) -> None:
        with Graph(*SMALL) as graph:
            api = api_of(graph)
            context = evolve(api.edge.context, rules=Rules(shards=1, max_ancestors=6))
            api.handle = build_api(evolve(api.edge, context=context))
            for path, names in (("/v1/jobs/a/graph", around), (f"/v1/cycles/a/{fire_time()}", within)):
                found = [*pages(api, path, 3)]
                assert (found[-1]["nextCursor"], found[-1]["isCut"]) == (None, True)
                assert len({name for page in found for name in names(page)}) in (6, 7)


class TestJoins:
    def test_a_job_may_wait_for_a_thousand_parents_whatever_their_names(self) -> None:
        longest = [Parent(f"{number:064}", f"{number:064}") for number in range(1_001)]
        assert parent_bytes(longest) <= MOST_PARENT_BYTES
        made = [Parent(f"{number:026}") for number in range(2_000)]
        assert parent_bytes(made) <= MOST_PARENT_BYTES

    def test_parents_that_do_not_fit_into_a_row_are_refused(self, api: Api) -> None:
        parents = [{"jobId": f"{number:064}", "as": f"n{number:063}"} for number in range(1_500)]
        answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com/hook", "dependsOn": parents})
        (error,) = answer.body["errors"]
        assert (answer.status, error["field"], "too long to be stored" in error["message"]) == (400, "dependsOn", True)

    def test_a_join_of_more_than_a_thousand_jobs_runs_after_all_of_them(self) -> None:
        parents = [f"p{number:04}" for number in range(1_001)]
        with Graph() as graph:
            api = api_of(graph)
            for begin in range(0, len(parents), 100):
                batch(api, *(asked(name) for name in parents[begin : begin + 100]))
            (item,) = batch(api, asked("z", *parents))
            assert item["status"] == 201, item
            graph.failing = {"p0500"}
            graph.until(60)
            assert (graph.job("z").listed_status, graph.job("z").blocked is not None) == ("blocked", True)
            assert api.call("GET", "/v1/jobs/z").body["waitingFor"] == ["p0500"]
            graph.failing.clear()
            assert api.call("POST", f"/v1/cycles/z/{format_instant(BEGIN)}:rerun", {"mode": "failed"}).status == 201
            graph.until(180)
            assert graph.called[-2:] == ["p0500", "z"]


def create(api: Api, jobs: int, width: int) -> None:
    """Create a recurring job, its children, a join of each `width` of these, and a join of all."""
    first = {"jobId": "a", "maxRetries": 0, "everySeconds": PERIOD * 1_000, "anchorAt": format_instant(BEGIN)}
    joins = -(-jobs // width)
    below = [f"b{number:05}" for number in range(jobs - 2 - joins)]
    made: list[dict[str, object]] = [first, *(asked(name, "a") for name in below)]
    made += [asked(f"c{number}", *below[number * width : (number + 1) * width]) for number in range(joins)]
    made += [asked("d", *(f"c{number}" for number in range(joins)))]
    for begin in range(0, jobs, 100):
        items = batch(api, *made[begin : begin + 100])
        assert {item["status"] for item in items} == {201}


def shown(api: Api, path: str, names: Callable[[Any], list[str]]) -> tuple[int, int, bool]:
    """Return how many distinct jobs the pages show, how many in all, and whether there are more."""
    found = [*pages(api, path)]
    seen = [name for page in found for name in names(page)]
    assert len(found) == -(-len(seen) // MOST_OF_A_GRAPH)
    return len({*seen}), len(seen), found[-1]["isCut"]


@pytest.mark.parametrize(
    ("jobs", "width"),
    [(130, 100), pytest.param(1_300, 1_200, marks=MORE)],
    ids=["130", "1,300"],
)
def test_a_large_graph_runs_is_shown_runs_again_is_triggered_backfilled_and_cancelled(jobs: int, width: int) -> None:
    with Graph() as graph:
        api = api_of(graph)
        create(api, jobs, width)
        assert shown(api, "/v1/jobs/a/graph", around) == (jobs - 1, jobs - 1, False)
        assert shown(api, "/v1/jobs/d/graph", around) == (jobs - 1, jobs - 1, False)
        graph.failing = {"b00007"}
        graph.until(120)
        cycle = f"/v1/cycles/d/{fire_time()}"
        assert shown(api, cycle, within) == (jobs, jobs, False)
        graph.failing.clear()
        ran = len(graph.called)
        again = api.call("POST", f"{cycle}:rerun", {"mode": "all"})
        assert (again.status, again.body["progress"]["matched"]) == (201, jobs)
        graph.until(600)
        operation = api.call("GET", f"/v1/operations/{again.body['operationId']}").body
        assert (operation["status"], operation["progress"]["done"]) == ("succeeded", jobs)
        assert len(graph.called) == ran + jobs
        assert (graph.called[ran], graph.called[-1]) == ("a", "d")
        cycle_id = api.call("POST", "/v1/jobs/a/trigger", {"downstream": True}).body["cycleId"]
        graph.until(800)
        assert len(graph.called) == ran + 2 * jobs
        assert shown(api, f"/v1/cycles/a/{cycle_id}", within) == (jobs, jobs, False)
        span = {"from": format_instant(BEGIN - PERIOD * 2_000_000), "to": format_instant(BEGIN - 1), "graph": True}
        backfill = api.call("POST", "/v1/jobs/a/backfills", {**span, "paceSeconds": 0})
        assert (backfill.status, backfill.body["total"]) == (201, 2)
        graph.until(1_200)
        assert len(graph.called) == ran + 4 * jobs
        assert api.call("DELETE", "/v1/jobs/a", query={"children": "cancel"}).status == 200
        assert {*graph.statuses().values()} == {"cancelled"}


@pytest.mark.more
def test_ten_thousand_jobs_run_are_shown_in_pages_and_run_again_and_one_more_is_refused() -> None:
    with Graph() as graph:
        api = api_of(graph)
        create(api, MAX_JOBS, 1_700)
        assert shown(api, "/v1/jobs/a/graph", around) == (MAX_JOBS - 1, MAX_JOBS - 1, False)
        graph.until(120)
        assert len(graph.called) == MAX_JOBS
        cycle = f"/v1/cycles/d/{fire_time()}"
        assert shown(api, cycle, within) == (MAX_JOBS, MAX_JOBS, False)
        again = api.call("POST", f"{cycle}:rerun", {"mode": "all"}).body
        graph.until(600)
        operation = api.call("GET", f"/v1/operations/{again['operationId']}").body
        assert operation["progress"] == {"matched": MAX_JOBS, "done": MAX_JOBS, "failed": 0}
        assert len(graph.called) == 2 * MAX_JOBS
        cycle_id = api.call("POST", "/v1/jobs/a/trigger", {"downstream": True}).body["cycleId"]
        graph.until(800)
        assert len(graph.called) == 3 * MAX_JOBS
        batch(api, asked("e", "d"))
        refused = api.call("POST", "/v1/jobs/a/trigger", {"downstream": True})
        assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:graph-too-large")
        (whole, *_) = pages(api, f"/v1/cycles/a/{cycle_id}")
        assert whole["isOver"]
