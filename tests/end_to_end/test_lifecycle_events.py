"""Lifecycle events on the embedded AWS: an owner's rule on the bus gets the failed run, from the table's stream."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.stage import run_local_stage
from tests.end_to_end.steps import ask, until
from timeball.dev.stage import Stage

pytestmark = [pytest.mark.xdist_group("lifecycle"), pytest.mark.more]


@pytest.fixture(scope="module")
def told_stage() -> Iterator[Stage]:
    with run_local_stage(overrides={"lifecycle_events": "run.failed,job.created"}) as stage:
        yield stage


def _queue_of_rule(stage: Stage) -> str:
    """Make a rule as another service would, and return the URL of the queue that it leads to."""
    sqs, events, bus = (
        stage.emulator.client("sqs"),
        stage.emulator.client("events"),
        stage.deployment.outputs["EventBus"],
    )
    url = str(sqs.create_queue(QueueName="dashboard")["QueueUrl"])
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="dashboard", EventBusName=bus, EventPattern=json.dumps({"source": ["timeball.lifecycle"]}))
    events.put_targets(Rule="dashboard", EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
    return url


def test_a_rule_gets_the_creation_of_a_job_and_the_failure_of_its_run_as_the_api_shows_it(told_stage: Stage) -> None:
    client, sqs = ApiClient(told_stage.deployment.api_url, told_stage.key), told_stage.emulator.client("sqs")
    url = _queue_of_rule(told_stage)
    target = {"type": "http", "method": "DELETE", "url": f"{client.url}/healthz"}  # it answers 404 or 405
    job = ask(client, "POST", "/v1/jobs", {"target": target, "payload": {"card": "s3cret"}, "maxRetries": 0})["jobId"]
    found: dict[str, dict[str, Any]] = {}

    def have_come() -> bool:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        events = [json.loads(one["Body"]) for one in messages]
        found.update({one["detail-type"]: one["detail"] for one in events if one["detail"]["data"]["jobId"] == job})
        return found.keys() == {"timeball.job.created", "timeball.run.failed"}

    until(have_come, otherwise="the rule got no events about the job")
    failed = found["timeball.run.failed"]
    (shown,) = client.get(f"/v1/jobs/{job}/runs")["items"]
    common = shown.keys() & failed["data"].keys() - {"consoleUrl"}
    assert {name: failed["data"][name] for name in common} == {name: shown[name] for name in common}
    assert failed["data"]["consoleUrl"].endswith(f"/#/runs/{shown['runId']}")
    assert (failed["subject"], failed["tenant"]) == (shown["runId"], told_stage.tenant)
    assert "s3cret" not in json.dumps(found)
