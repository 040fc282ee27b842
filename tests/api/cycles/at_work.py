"""The API beside a working graph: both use the same rows and the same clock."""

from dataclasses import replace
from typing import Any

from tests.api.client import Api
from tests.engine.dependencies.graphs import BEGIN, Graph, node
from timeball.api.app import build_api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import Every, Schedule
from timeball.testing.memory_store import MemoryStore

PERIOD = 100


def recurring(job_id: str) -> JobSpec:
    return evolve(node(job_id), schedule=Schedule(Every(PERIOD, BEGIN)))


def fire_time(cycle: int = 0) -> str:
    """Return the fire time of a cycle as text; a graph of one-offs has the fire time of its first job."""
    return format_instant(BEGIN + cycle * PERIOD * SECOND_MS)


def api_of(graph: Graph) -> Api:
    assert isinstance(graph.play.store, MemoryStore)
    api = Api(graph.play.store, graph.play.clock)
    api.edge = replace(api.edge, context=graph.play.context())
    api.handle = build_api(api.edge)
    return api


def read(api: Api, job_id: str, cycle: int = 0) -> Any:
    answer = api.call("GET", f"/v1/cycles/{job_id}/{fire_time(cycle)}")
    assert answer.status == 200, answer.text
    return answer.body


def states(api: Api, job_id: str, cycle: int = 0) -> dict[str, str]:
    """Return the status of each job of a cycle, in the order of the answer."""
    return {item["jobId"]: item["status"] for item in read(api, job_id, cycle)["items"]}
