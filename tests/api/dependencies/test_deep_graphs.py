"""Graphs of many levels: what one request cannot walk through in its time is cut, or refused with a sentence."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.api.client import Api
from tests.api.cycles.at_work import api_of, fire_time, recurring
from tests.engine.dependencies.graphs import Graph, node
from tests.engine.latency import slowed
from timeball.api.app import build_api
from timeball.domain.time.instants import SECOND_MS
from timeball.testing.faults import each_port

LEVELS = 12
CALL_MS = 1_500
"""How long a call of the store takes here: so a graph of few levels stands for one of thousands."""


@pytest.fixture
def api() -> Iterator[Api]:
    """Return an API over a chain of recurring jobs, with a store whose calls take long."""
    chain = [recurring("j00"), *(node(f"j{number:02}", f"j{number - 1:02}") for number in range(1, LEVELS))]
    with Graph(*chain, node("once")) as graph:
        graph.until(30)
        api = api_of(graph)
        context = api.edge.context
        store = each_port(context.store, lambda port, _: slowed(port, api.clock, CALL_MS))
        api.edge = replace(api.edge, context=replace(context, store=store))
        api.handle = build_api(api.edge)
        yield api


def test_a_view_of_too_many_levels_is_cut(api: Api) -> None:
    for path, name in (("/v1/jobs/j00/graph", "descendants"), (f"/v1/cycles/j00/{fire_time()}", "items")):
        begun_at = api.clock.now()
        seen = api.call("GET", path).body
        assert (seen["isCut"], seen["nextCursor"], 1 < len(seen[name]) < LEVELS - 1) == (True, None, True)
        assert api.clock.now() - begun_at < 29 * SECOND_MS


def test_a_cycle_of_too_many_levels_is_not_run_and_not_run_again(api: Api) -> None:
    run = api.call("POST", "/v1/jobs/j00/trigger", {"downstream": True})
    assert (run.status, run.body["type"]) == (409, "urn:timeball:problem:graph-too-large")
    assert "levels" in run.body["detail"]
    again = api.call("POST", f"/v1/cycles/j00/{fire_time()}:rerun", {"mode": "all"})
    assert (again.status, again.bad_fields()) == (400, ["jobId"])
    assert "levels" in again.body["errors"][0]["message"]


def test_a_new_parent_below_too_many_levels_is_refused_because_it_might_close_a_circle(api: Api) -> None:
    changed = api.call("PATCH", "/v1/jobs/j00", {"dependsOn": [f"j{LEVELS - 1:02}"]})
    assert (changed.status, changed.bad_fields()) == (400, ["dependsOn"])
    assert "levels" in changed.body["errors"][0]["message"]


def test_a_job_above_too_many_levels_is_not_cancelled_with_all_of_them(api: Api) -> None:
    query = {"children": "cancel"}
    refused = api.call("DELETE", "/v1/jobs/j00", query=query)
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:graph-too-large")
    assert "further down first" in refused.body["detail"]
