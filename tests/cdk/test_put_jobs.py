"""The custom resource over the API in memory: what a deployment, its repeat, its rollback and its removal do."""

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

import boto3
import pytest
from moto import mock_aws

from tests.console.world import World
from timeball.cdk.put_jobs.index import RefusedJobsError, carry_out, handler

OWNER = "ShopTimeball"
NIGHTLY = {"handler": "https://shop.example/nightly", "everySeconds": 3600, "anchorAt": "2027-01-01T00:00:00Z"}
HOURLY = {"handler": "https://shop.example/hourly", "everySeconds": 60, "anchorAt": "2027-01-01T00:00:00Z"}
CHILD = {"handler": "https://shop.example/child", "dependsOn": ["nightly"]}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def properties(jobs: Mapping[str, Any], owner: str = OWNER) -> dict[str, Any]:
    return {"owner": owner, "jobs": json.dumps(jobs)}


def deploy(
    world: World, kind: str, jobs: Mapping[str, Any], before: Mapping[str, Any] | None = None, owner: str = OWNER
) -> None:
    def send(method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        answer = world.call(method, path, body, query=dict(parse_qsl(query)))
        return answer.status, answer.body

    event = {"RequestType": kind, "ResourceProperties": properties(jobs, owner)}
    if before is not None:
        event["OldResourceProperties"] = properties(before, owner)
    carry_out(event, send)
    world.advance(2)  # the list of jobs lags by a second


def jobs_in(world: World) -> dict[str, str]:
    items = world.call("GET", "/v1/jobs").body["items"]
    return {item["jobId"]: item["status"] for item in items}


def test_a_first_deployment_puts_the_jobs_and_a_repeat_changes_nothing(world: World) -> None:
    deploy(world, "Create", {"nightly": NIGHTLY, "child": CHILD})
    first = world.call("GET", "/v1/jobs/nightly").body
    deploy(world, "Create", {"nightly": NIGHTLY, "child": CHILD})

    assert jobs_in(world) == {"nightly": "pending", "child": "pending"}
    again = world.call("GET", "/v1/jobs/nightly").body
    assert (first["tags"], again["version"]) == ({"cdk": OWNER}, first["version"])


def test_a_job_that_is_no_longer_declared_is_cancelled(world: World) -> None:
    deploy(world, "Create", {"nightly": NIGHTLY, "hourly": HOURLY})
    deploy(world, "Update", {"nightly": NIGHTLY}, {"nightly": NIGHTLY, "hourly": HOURLY})

    assert jobs_in(world) == {"nightly": "pending", "hourly": "cancelled"}


def test_a_parent_that_is_no_longer_declared_leaves_its_child(world: World) -> None:
    deploy(world, "Create", {"nightly": NIGHTLY, "child": CHILD})
    alone = {"child": {**HOURLY}}
    deploy(world, "Update", alone, {"nightly": NIGHTLY, "child": CHILD})

    assert jobs_in(world) == {"nightly": "cancelled", "child": "pending"}


def test_a_rollback_puts_the_former_jobs_back(world: World) -> None:
    former, later = {"nightly": NIGHTLY}, {"nightly": {**NIGHTLY, "everySeconds": 60}, "hourly": HOURLY}
    deploy(world, "Create", former)
    deploy(world, "Update", later, former)
    deploy(world, "Update", former, later)  # as CloudFormation does when a later resource fails

    assert jobs_in(world) == {"nightly": "pending", "hourly": "cancelled"}
    assert world.call("GET", "/v1/jobs/nightly").body["everySeconds"] == 3600


def test_a_job_that_an_earlier_rollback_left_is_cancelled_by_its_tag(world: World) -> None:
    deploy(world, "Create", {"nightly": NIGHTLY, "hourly": HOURLY})
    deploy(world, "Update", {"nightly": NIGHTLY}, {"nightly": NIGHTLY})

    assert jobs_in(world)["hourly"] == "cancelled"


def test_a_removal_cancels_the_jobs_that_the_construct_made(world: World) -> None:
    world.call("PUT", "/v1/jobs/mine", NIGHTLY)
    deploy(world, "Create", {"nightly": NIGHTLY, "child": CHILD})
    deploy(world, "Delete", {"nightly": NIGHTLY, "child": CHILD})
    deploy(world, "Delete", {"nightly": NIGHTLY, "child": CHILD})

    assert jobs_in(world) == {"mine": "pending", "nightly": "cancelled", "child": "cancelled"}


def test_a_deployment_after_a_removal_begins_the_next_generation(world: World) -> None:
    deploy(world, "Create", {"nightly": NIGHTLY})
    deploy(world, "Delete", {"nightly": NIGHTLY})
    deploy(world, "Create", {"nightly": NIGHTLY})

    job = world.call("GET", "/v1/jobs/nightly").body
    assert (job["status"], job["generation"]) == ("pending", 2)


@pytest.mark.parametrize("tags", [{}, {"cdk": "AnotherConstruct"}])
def test_a_job_of_another_maker_is_neither_replaced_nor_cancelled(world: World, tags: dict[str, str]) -> None:
    world.call("PUT", "/v1/jobs/nightly", {**NIGHTLY, "tags": tags})

    with pytest.raises(RefusedJobsError, match="has not made them: nightly"):
        deploy(world, "Create", {"nightly": HOURLY, "hourly": HOURLY})
    deploy(world, "Delete", {"nightly": HOURLY, "hourly": HOURLY})  # as CloudFormation does after a failed creation

    assert jobs_in(world) == {"nightly": "pending"}
    assert world.call("GET", "/v1/jobs/nightly").body["everySeconds"] == 3600


def test_a_job_that_the_api_refuses_fails_with_its_sentence(world: World) -> None:
    with pytest.raises(RefusedJobsError, match=r"nightly: cronExpression: .*61"):
        deploy(world, "Create", {"nightly": {"handler": NIGHTLY["handler"], "cronExpression": "61 * * * *"}})


def test_more_jobs_than_one_request_takes_are_put(world: World) -> None:
    jobs = {f"job-{number}": NIGHTLY for number in range(101)}
    deploy(world, "Create", jobs)

    assert world.call("GET", "/v1/jobs/job-100").status == 200
    deploy(world, "Update", {"job-0": NIGHTLY}, jobs)
    assert world.call("GET", "/v1/jobs/job-100").body["status"] == "cancelled"


class Bridge(BaseHTTPRequestHandler):
    """Serves the API in memory, and the address at which CloudFormation waits for an answer."""

    world: World
    answers: list[Any]

    def _serve(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(text) if text else None
        if self.path == "/cloudformation":
            self.answers.append(body)
            status, reply = 200, b""
        else:
            path, _, query = self.path.partition("?")
            key = self.headers["Authorization"].removeprefix("Bearer ")
            answer = self.world.call(self.command, path, body, key=key, query=dict(parse_qsl(query)))
            status, reply = answer.status, answer.text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names that the server looks for

    def log_message(self, *_about: object) -> None:
        """Keep quiet."""


def test_the_handler_reads_the_key_and_answers_cloudformation(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    answers: list[Any] = []
    bridge = type("BridgeOfTest", (Bridge,), {"world": world, "answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), bridge) as server, mock_aws():
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        boto3.client("ssm").put_parameter(Name="/key", Value=world.keys["operator"], Type="SecureString")
        for jobs in ({"nightly": NIGHTLY}, {"nightly": {"handler": "ftp://x"}}):
            about = {"url": url, "keyParameter": "/key", **properties(jobs)}
            handler(
                {
                    "RequestType": "Update",
                    "ResourceProperties": about,
                    "OldResourceProperties": about,
                    "ResponseURL": f"{url}/cloudformation",
                    "StackId": "stack",
                    "RequestId": "1",
                    "LogicalResourceId": "jobs",
                },
                None,
            )
        server.shutdown()

    done, refused = answers
    assert (done["Status"], done["PhysicalResourceId"]) == ("SUCCESS", OWNER)
    assert refused["Status"] == "FAILED"
    assert refused["Reason"].startswith("nightly: handler: ")
    assert world.keys["operator"] not in json.dumps(answers)
    assert jobs_in(world) == {"nightly": "pending"}
