"""Replay and discard dead letters, for tests."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.runs.rows import dead
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import parse_instant

VERBS = ["replay", "discard"]
every_verb = pytest.mark.parametrize("verb", VERBS)


def deal(api: Api, verb: str, tenant: str = "acme", **body: Any) -> Answer:
    return api.call("POST", f"/v1/dead-letters:{verb}", body, tenant=tenant)


def on_and_on(api: Api, verb: str, **body: Any) -> list[Any]:
    """Repeat a request until its answer has no cursor; return the answers."""
    answers = [deal(api, verb, **body).body]
    while answers[-1]["nextCursor"] is not None:
        assert len(answers) < 50, "there is no end to it"
        answers.append(deal(api, verb, **body, cursor=answers[-1]["nextCursor"]).body)
    return answers


def listed(api: Api) -> list[str]:
    return [item["runId"] for item in api.call("GET", "/v1/dead-letters").body["items"]]


def late(run: dict[str, Any]) -> int:
    """Return how many milliseconds after NOW a replayed run may start."""
    return parse_instant(run["nextAttemptAt"]) - NOW


def died(api: Api, job: dict[str, Any], count: int, **about: Any) -> list[Run]:
    """Store this many dead letters of a job, one second apart and all before NOW."""
    return [dead(api, job, number - count, **about) for number in range(count)]
