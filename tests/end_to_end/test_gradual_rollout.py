"""A stage whose functions are called by aliases: requests, ticks, queues and trials pass through them.

The embedded AWS has no CodeDeploy, so nothing shifts here: an alias names its version from the first moment.
"""

import json
from collections.abc import Iterator

import pytest

from local.demo_client import ApiClient
from local.stage import run_local_stage
from tests.end_to_end.steps import ask, until
from timeball.dev.stage import Stage

pytestmark = [pytest.mark.xdist_group("gradual_rollout"), pytest.mark.more]


@pytest.fixture(scope="module")
def gradual_stage() -> Iterator[Stage]:
    with run_local_stage(overrides={"rollout": "gradual"}) as stage:
        yield stage


def test_a_run_a_trial_and_an_event_pass_through_aliases(gradual_stage: Stage) -> None:
    client = ApiClient(gradual_stage.deployment.api_url, gradual_stage.key)
    functions = gradual_stage.emulator.client("lambda")
    mappings = functions.list_event_source_mappings()["EventSourceMappings"]
    assert {one["FunctionArn"].rpartition(":")[2] for one in mappings} == {"live"}

    target = {"type": "http", "method": "GET", "url": f"{gradual_stage.deployment.api_url}/healthz"}
    tried = ask(client, "POST", "/v1/targets:test", {"target": target})
    assert (tried["verdict"], tried["response"]["status"]) == ("succeeded", 200), tried

    ask(client, "PUT", "/v1/jobs/soon", {"target": target, "delaySeconds": 2})
    ask(client, "PUT", "/v1/jobs/on-orders", {"target": target, "event": {"source": ["shop"]}})
    event = {"source": "shop", "id": "1", "type": "order.placed", "data": {}}
    assert client.send("POST", "/v1/events", json.dumps(event).encode()).status == 202
    for job in ("soon", "on-orders"):
        until(
            lambda job=job: "succeeded" in [run["status"] for run in client.get(f"/v1/jobs/{job}/runs")["items"]],  # type: ignore[misc]
            otherwise=f"{job} does not run",
        )
