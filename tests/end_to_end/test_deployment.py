"""The check of the stage's deployment: the deployed function refuses another stage, and changes nothing."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from local.stage import Stage


def _checked(of: Stage, **changed: object) -> dict[str, Any]:
    """Ask the deployed function as CloudFormation does before an update, and return its answer."""
    answers: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            answers.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    cloudformation = of.emulator.client("cloudformation")
    (stack,) = cloudformation.describe_stacks(StackName="Timeball")["Stacks"]
    resources = cloudformation.list_stack_resources(StackName="Timeball")["StackResourceSummaries"]
    (jobs,) = (one for one in resources if one["PhysicalResourceId"] == of.deployment.outputs["JobsTable"])
    settings = of.deployment.settings
    told = {
        "stage": settings.stage,
        "shards": str(settings.functions.rules.shards),
        "list_shards": str(settings.functions.mapper.list_shards),
        "pollers": str(settings.pollers),
        "confirm": "",
        "table": "",
        "logicalId": jobs["LogicalResourceId"],
        "atOnce": "0",
        **changed,
    }
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        event = {
            "RequestType": "Update",
            "ResourceType": "Custom::TimeballCheck",
            "LogicalResourceId": "check",
            "RequestId": "request",
            "StackId": stack["StackId"],
            "ResponseURL": f"http://127.0.0.1:{server.server_port}/",
            "ResourceProperties": told,
        }
        of.emulator.client("lambda").invoke(FunctionName="Timeball-deployment", Payload=json.dumps(event).encode())
        thread.join()
    return answers[0]


def test_another_stage_is_refused_before_anything_changes_and_the_same_stage_is_accepted(stage: Stage) -> None:
    shards = stage.deployment.settings.functions.rules.shards
    refused = _checked(stage, stage="large", shards="64", list_shards="32")
    assert refused["Status"] == "FAILED"
    assert f"deployed as stage local with {shards} shards" in refused["Reason"]
    assert "-c timeball:confirm=large-64" in refused["Reason"]
    assert _checked(stage)["Status"] == "SUCCESS"
