"""The custom resource over the API in memory: what a deployment, its repeat, its rollback and its removal do."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

import boto3
import pytest
from moto import mock_aws

from tests.console.world import World
from timeball.cdk.put_jobs.index import NOTHING, RefusedJobsError, carry_out, handler, look, owner_of, sender

OWNER = "ShopTimeball"
NIGHTLY = {"handler": "https://shop.example/nightly", "everySeconds": 3600, "anchorAt": "2027-01-01T00:00:00Z"}
HOURLY = {"handler": "https://shop.example/hourly", "everySeconds": 60, "anchorAt": "2027-01-01T00:00:00Z"}
CHILD = {"handler": "https://shop.example/child", "dependsOn": ["nightly"]}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@dataclass(frozen=True)
class Deployment:
    """A construct as it is deployed to a Timeball."""

    world: World
    stack: str = "shop-dev"
    owner: str = OWNER
    key_parameter: str = "/key"

    def event(self, kind: str, jobs: Mapping[str, Any], before: dict[str, Any] | None = None) -> dict[str, Any]:
        arn = f"arn:aws:cloudformation:eu-west-1:123456789012:stack/{self.stack}/0e9a-1"
        event = {"RequestType": kind, "StackId": arn, "ResourceProperties": self.properties(jobs)}
        return event if before is None else event | {"OldResourceProperties": before}

    def properties(self, jobs: Mapping[str, Any]) -> dict[str, Any]:
        place = {"url": "https://timeball.example", "keyParameter": self.key_parameter}
        return {"owner": self.owner, "jobs": json.dumps(jobs), **place}

    def send(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        answer = self.world.call(method, path, body, query=dict(parse_qsl(query)))
        return answer.status, answer.body

    def deploy(self, kind: str, jobs: Mapping[str, Any], before: dict[str, Any] | None = None) -> None:
        event = self.event(kind, jobs, before)
        carry_out(event, look(event, self.send), self.send)


def deploy(world: World, kind: str, jobs: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    deployment = Deployment(world)
    deployment.deploy(kind, jobs, None if before is None else deployment.properties(before))
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
    assert (first["tags"], again["version"]) == (
        {"cdk": owner_of(Deployment(world).event("Create", {}))},
        first["version"],
    )


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


def test_two_stacks_of_one_app_leave_each_others_jobs(world: World) -> None:
    dev, prod = Deployment(world), Deployment(world, stack="shop-prod")
    dev.deploy("Create", {"dev-nightly": NIGHTLY})
    world.advance(2)
    prod.deploy("Create", {"prod-nightly": NIGHTLY})
    world.advance(2)
    prod.deploy("Delete", {"prod-nightly": NIGHTLY})

    assert jobs_in(world) == {"dev-nightly": "pending", "prod-nightly": "cancelled"}


def test_a_job_of_a_removed_stack_may_be_declared_by_another(world: World) -> None:
    dev, prod = Deployment(world), Deployment(world, stack="shop-prod")
    dev.deploy("Create", {"nightly": NIGHTLY})
    dev.deploy("Delete", {"nightly": NIGHTLY})
    prod.deploy("Create", {"nightly": NIGHTLY})

    assert jobs_in(world) == {"nightly": "pending"}


def test_another_place_is_another_resource(world: World) -> None:
    here, there = Deployment(world), Deployment(world, key_parameter="/other")
    assert owner_of(here.event("Update", {})) != owner_of(there.event("Update", {}))


def test_a_move_to_another_timeball_cancels_the_jobs_at_the_former(world: World) -> None:
    other = World()
    former, later = Deployment(world), Deployment(other, key_parameter="/other")
    former.deploy("Create", {"nightly": NIGHTLY})
    later.deploy("Update", {"nightly": NIGHTLY}, former.properties({"nightly": NIGHTLY}))
    former.deploy("Delete", {"nightly": NIGHTLY})  # as CloudFormation does after it has replaced a resource

    assert (jobs_in(world), jobs_in(other)) == ({"nightly": "cancelled"}, {"nightly": "pending"})
    other.close()


def test_a_move_to_another_key_of_the_same_tenant_keeps_the_jobs(world: World) -> None:
    former, later = Deployment(world), Deployment(world, key_parameter="/other")
    former.deploy("Create", {"nightly": NIGHTLY, "hourly": HOURLY})
    world.advance(2)
    later.deploy("Update", {"nightly": NIGHTLY}, former.properties({"nightly": NIGHTLY, "hourly": HOURLY}))
    former.deploy("Delete", {"nightly": NIGHTLY, "hourly": HOURLY})

    assert jobs_in(world) == {"nightly": "pending", "hourly": "cancelled"}


def test_a_list_that_lags_behind_a_move_cancels_nothing(world: World) -> None:
    former, later = Deployment(world), Deployment(world, key_parameter="/other")
    former.deploy("Create", {"nightly": NIGHTLY})
    world.advance(2)
    stale = former.send("GET", "/v1/jobs", None)
    later.deploy("Update", {"nightly": NIGHTLY}, former.properties({}))

    def send(method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        return stale if path.startswith("/v1/jobs?") else former.send(method, path, body)

    carry_out(former.event("Delete", {}), {}, send)
    assert jobs_in(world) == {"nightly": "pending"}


def test_a_rollback_of_a_move_puts_the_jobs_back(world: World) -> None:
    former, later = Deployment(world), Deployment(world, key_parameter="/other")
    jobs = {"nightly": NIGHTLY}
    former.deploy("Create", jobs)
    later.deploy("Update", {"nightly": HOURLY, "hourly": HOURLY}, former.properties(jobs))
    former.deploy("Update", jobs, later.properties({"nightly": HOURLY, "hourly": HOURLY}))
    later.deploy("Delete", {"nightly": HOURLY, "hourly": HOURLY})

    assert jobs_in(world) == {"nightly": "pending", "hourly": "cancelled"}


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


@contextmanager
def served(world: World) -> Iterator[tuple[str, list[Any]]]:
    """Serve the API, with an empty account of AWS, and yield its URL and the answers that CloudFormation gets."""
    answers: list[Any] = []
    bridge = type("BridgeOfTest", (Bridge,), {"world": world, "answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), bridge) as server, mock_aws():
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", answers
        server.shutdown()


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


def put_key(key: str) -> None:
    boto3.client("ssm").put_parameter(Name="/key", Value=key, Type="SecureString")


def ask(world: World, url: str, kind: str, jobs: Mapping[str, Any], resource: str | None = None) -> dict[str, Any]:
    """Ask the handler as CloudFormation does, and return the request."""
    event = Deployment(world).event(kind, jobs)
    event["ResourceProperties"]["url"] = url
    event |= {"ResponseURL": f"{url}/cloudformation", "RequestId": "1", "LogicalResourceId": "jobs"}
    event |= {} if resource is None else {"PhysicalResourceId": resource}
    handler(event, None)
    return event


def test_the_handler_reads_the_key_and_answers_cloudformation(world: World) -> None:
    with served(world) as (url, answers):
        put_key(world.keys["operator"])
        event = ask(world, url, "Create", {"nightly": NIGHTLY})
        ask(world, url, "Update", {"nightly": {"handler": "ftp://x"}}, owner_of(event))

    done, refused = answers
    assert (done["Status"], done["PhysicalResourceId"]) == ("SUCCESS", owner_of(event))
    assert (refused["Status"], refused["PhysicalResourceId"]) == ("FAILED", owner_of(event))
    assert refused["Reason"].startswith("nightly: handler: ")
    assert world.keys["operator"] not in json.dumps(answers)
    assert jobs_in(world) == {"nightly": "pending"}


def test_a_key_with_a_newline_at_its_end_is_a_key(world: World) -> None:
    with served(world) as (url, answers):
        put_key(f"{world.keys['operator']}\n")
        ask(world, url, "Create", {"nightly": NIGHTLY})

    assert answers[0]["Status"] == "SUCCESS"


@pytest.mark.parametrize("key", ["tb_SECRET\ntb_SECOND", "tb_SECRÉT", " "])
def test_a_parameter_without_a_key_fails_and_is_in_no_log(
    world: World, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    with served(world) as (url, answers):
        put_key(key)
        ask(world, url, "Create", {"nightly": NIGHTLY})

    assert answers[0]["Reason"] == "The parameter /key has no key; put the key alone, on one line."
    assert "SECR" not in caplog.text + json.dumps(answers)


def test_an_unexpected_error_is_logged_without_its_text(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with served(world) as (url, answers):
        put_key("tb_SECRET")
        event = Deployment(world).event("Create", {"nightly": NIGHTLY}) | {
            "RequestId": "1",
            "LogicalResourceId": "jobs",
        }
        event["ResourceProperties"]["url"] = "tb_SECRET"  # urllib quotes it in its error
        handler(event | {"ResponseURL": f"{url}/cloudformation"}, None)

    assert answers[0]["Reason"] == "The jobs were not put: ValueError."
    assert "failed: ValueError" in caplog.text
    assert "SECRET" not in caplog.text


def test_a_creation_that_made_nothing_is_removed_without_a_key(world: World) -> None:
    with served(world) as (url, answers):
        ask(world, url, "Create", {"nightly": NIGHTLY})
        ask(world, url, "Delete", {"nightly": NIGHTLY}, answers[0]["PhysicalResourceId"])

    failed, removed = answers
    assert (failed["Status"], failed["PhysicalResourceId"]) == ("FAILED", NOTHING)
    assert failed["Reason"] == "The parameter /key cannot be read: ParameterNotFound."
    assert (removed["Status"], removed["PhysicalResourceId"]) == ("SUCCESS", NOTHING)


def test_an_update_that_made_nothing_keeps_the_id_of_the_resource(world: World) -> None:
    with served(world) as (url, answers):
        ask(world, url, "Update", {"nightly": NIGHTLY}, "former")

    assert (answers[0]["Status"], answers[0]["PhysicalResourceId"]) == ("FAILED", "former")


@contextmanager
def busy(refusals: Sequence[tuple[int, str | None]]) -> Iterator[str]:
    """Serve an API that answers with each of the statuses and values of Retry-After, and then with a 200."""
    left = list(refusals)

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, retry_after = left.pop(0) if left else (200, None)
            self.send_response(status)
            if retry_after is not None:
                self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_about: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_busy_api_is_asked_again_when_it_says() -> None:
    waits: list[float] = []
    with busy([(429, "7"), (503, "3600"), (429, None), (503, "soon")]) as url:
        status, _ = sender(url, "tb_key", waits.append)("GET", "/v1/jobs/nightly", None)

    assert (status, waits) == (200, [7, 10, 1, 1])


def test_an_api_that_stays_busy_is_asked_five_times() -> None:
    waits: list[float] = []
    with busy([(429, "1")] * 9) as url:
        status, _ = sender(url, "tb_key", waits.append)("GET", "/v1/jobs/nightly", None)

    assert (status, waits) == (429, [1, 1, 1, 1])
