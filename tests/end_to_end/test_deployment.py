"""The check of the stage's deployment: the deployed function refuses another stage, and changes nothing."""

import json
from typing import Any

from infra.settings import PREFIX, Settings
from tests.stack.response_url import answer_to
from timeball.dev.stage import Stage

SETTINGS = Settings.read({f"{PREFIX}stage": "local"})


def _checked(of: Stage, **changed: object) -> dict[str, Any]:
    """Ask the deployed function as CloudFormation does before an update, and return its answer."""
    cloudformation = of.emulator.client("cloudformation")
    (stack,) = cloudformation.describe_stacks(StackName="Timeball")["Stacks"]
    resources = cloudformation.list_stack_resources(StackName="Timeball")["StackResourceSummaries"]
    (jobs,) = (one for one in resources if one["PhysicalResourceId"] == of.deployment.outputs["JobsTable"])
    told = {
        "stage": SETTINGS.stage,
        "shards": str(SETTINGS.functions.rules.shards),
        "list_shards": str(SETTINGS.functions.mapper.list_shards),
        "pollers": str(SETTINGS.pollers),
        "confirm": "",
        "table": "",
        "logicalId": jobs["LogicalResourceId"],
        "atOnce": "0",
        **changed,
    }
    event = {
        "RequestType": "Update",
        "ResourceType": "Custom::TimeballCheck",
        "LogicalResourceId": "check",
        "RequestId": "request",
        "StackId": stack["StackId"],
        "ResourceProperties": told,
    }

    def ask(url: str) -> None:
        payload = json.dumps({**event, "ResponseURL": url}).encode()
        of.emulator.client("lambda").invoke(FunctionName="Timeball-deployment", Payload=payload)

    return answer_to(ask)


def test_another_stage_is_refused_before_anything_changes_and_the_same_stage_is_accepted(stage: Stage) -> None:
    shards = SETTINGS.functions.rules.shards
    refused = _checked(stage, stage="large", shards="64", list_shards="32")
    assert refused["Status"] == "FAILED"
    assert f"deployed as stage local with {shards} shards" in refused["Reason"]
    assert "-c timeball:confirm=large-64" in refused["Reason"]
    assert _checked(stage)["Status"] == "SUCCESS"
