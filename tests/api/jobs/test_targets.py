"""Targets of every type: answered as requested, patched, and refused where they are invalid or not allowed."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Api
from timeball.api.app import build_api
from timeball.domain.model.terms.target import SqsTarget
from timeball.targets.aws.allowed import parse_arns

OF = "eu-west-1:123456789012"
FUNCTION = f"arn:aws:lambda:{OF}:function:reports"
CLUSTER = {
    "clusterArn": f"arn:aws:ecs:{OF}:cluster/nightly",
    "taskDefinitionArn": f"arn:aws:ecs:{OF}:task-definition/t:3",
}
LAMBDA = {"type": "lambda", "functionArn": FUNCTION}
TARGETS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # The target as requested, and the fields that the answer adds.
    "http": (
        {"type": "http", "url": "https://example.com/hook"},
        {"method": "POST", "headers": [], "body": None, "secretId": None},
    ),
    "lambda": (LAMBDA, {"invocation": "requestResponse"}),
    "sqs": ({"type": "sqs", "queueArn": f"arn:aws:sqs:{OF}:q.fifo", "messageGroupId": "g"}, {}),
    "sns": ({"type": "sns", "topicArn": f"arn:aws:sns:{OF}:t"}, {"subject": None, "messageGroupId": None}),
    "stepFunctions": (
        {"type": "stepFunctions", "stateMachineArn": f"arn:aws:states:{OF}:stateMachine:m"},
        {"follow": False},
    ),
    "ecs": (
        {"type": "ecs", **CLUSTER, "containerName": "main", "subnets": ["subnet-0a1b2c3d"]},
        {"launchType": "FARGATE", "securityGroups": [], "assignPublicIp": False, "follow": False},
    ),
    "eventBridge": (
        {"type": "eventBridge", "busArn": f"arn:aws:events:{OF}:event-bus/b", "source": "acme", "detailType": "Due"},
        {},
    ),
}
ANY = ",".join(
    f"arn:aws:{of}*"
    for of in (
        "lambda:*:*:function:",
        "sqs:*:*:",
        "sns:*:*:",
        "states:*:*:stateMachine:",
        "events:*:*:event-bus/",
        "ecs:*:*:cluster/",
        "ecs:*:*:task-definition/",
        "ec2:*:*:subnet/",
        "ec2:*:*:security-group/",
    )
)


def allow(api: Api, arns: str = ANY) -> None:
    api.handle = build_api(replace(api.edge, allowed=parse_arns(arns, "Timeball")))


def create(api: Api, **fields: object) -> Any:
    answer = api.call("POST", "/v1/jobs", {"everySeconds": 60, **fields})
    assert answer.status == 201, answer.text
    return answer.body


@pytest.mark.parametrize("kind", TARGETS)
def test_a_target_is_answered_as_requested_for_jobs_tasks_and_notifications(api: Api, kind: str) -> None:
    allow(api)
    asked, beside = TARGETS[kind]
    job = create(api, target=asked, notify={"onFailure": asked})
    task = api.call("POST", "/v1/tasks", {"target": asked})
    assert task.status == 201
    told = [job["target"], job["notify"]["onFailure"], task.body["target"]]
    assert told == [{**asked, **beside}] * 3
    assert task.body["type"] == kind
    patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": "again"})
    assert (patched.status, patched.body["target"]) == (200, job["target"])


@pytest.mark.parametrize("kind", [kind for kind in TARGETS if kind != "http"])
def test_a_target_that_is_not_on_the_list_is_refused_everywhere_and_nothing_is_stored(api: Api, kind: str) -> None:
    asked, _ = TARGETS[kind]
    fields = [name for name in asked if name.endswith("Arn")]
    fields += ["subnets", "securityGroups"] if kind == "ecs" else []
    job = api.create(handler="https://example.com/hook")
    url = f"/v1/jobs/{job['jobId']}"
    requests: list[tuple[str, str, dict[str, Any], str]] = [
        ("POST", "/v1/jobs", {"target": asked}, "target"),
        ("PUT", "/v1/jobs/other", {"target": asked}, "target"),
        ("PUT", url, {"target": asked}, "target"),
        ("PATCH", url, {"target": asked}, "target"),
        ("PATCH", url, {"notify": {"onSuccess": asked}}, "notify.onSuccess"),
        ("POST", "/v1/tasks", {"target": asked}, "target"),
        ("PUT", "/v1/tasks/report", {"target": asked}, "target"),
    ]
    for method, path, body, field in requests:
        answer = api.call(method, path, body)
        assert (answer.status, answer.bad_fields()) == (400, [f"{field}.{name}" for name in fields])
        assert "the setting timeball:targets" in answer.body["errors"][0]["message"]
    assert api.call("GET", url).body["version"] == job["version"]


def test_an_entry_for_one_tenant_allows_no_target_of_another(api: Api) -> None:
    allow(api, f"{FUNCTION}=globex")
    for method, path in (("POST", "/v1/jobs"), ("POST", "/v1/tasks"), ("POST", "/v1/targets:test")):
        answers = [api.call(method, path, {"target": LAMBDA}, tenant=tenant) for tenant in ("acme", "globex")]
        assert [answer.status for answer in answers] == [400, 200 if path.endswith("test") else 201]
        (error,) = answers[0].body["errors"]
        assert error["field"] == "target.functionArn"
        assert "globex" not in error["message"]


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"type": "lambda", "functionArn": f"arn:aws:lambda:{OF}:function:Timeball-api"}, "functionArn"),
        (
            {"type": "lambda", "functionArn": f"arn:aws:lambda:{OF}:function:Timeball-scan:$LATEST"},
            "functionArn",
        ),
        ({"type": "sqs", "queueArn": f"arn:aws:sqs:{OF}:Timeball-watch"}, "queueArn"),
        ({"type": "sqs", "queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/Timeball-watch"}, "queueArn"),
        (
            {"type": "stepFunctions", "stateMachineArn": f"arn:aws:states:{OF}:stateMachine:Timeball"},
            "stateMachineArn",
        ),
        (
            {
                "type": "eventBridge",
                "busArn": f"arn:aws:events:{OF}:event-bus/Timeball",
                "source": "acme",
                "detailType": "Due",
            },
            "busArn",
        ),
    ],
)
def test_timeballs_own_resources_are_no_targets_whatever_is_listed(
    api: Api, target: dict[str, Any], field: str
) -> None:
    # A caller that may invoke Timeball's functions or send to its queues can act as any tenant and any admin.
    allow(api)
    for method, path in (("POST", "/v1/jobs"), ("POST", "/v1/tasks"), ("POST", "/v1/targets:test")):
        answer = api.call(method, path, {"target": target, **({"everySeconds": 60} if path == "/v1/jobs" else {})})
        assert (answer.status, answer.bad_fields()) == (400, [f"target.{field}"]), answer.text
        assert "Timeball's own" in answer.body["errors"][0]["message"]


def test_a_resource_whose_name_only_resembles_timeballs_is_a_target(api: Api) -> None:
    allow(api)
    for name in ("Timeballs", "timeball-api", "my-Timeball"):
        create(api, target={"type": "lambda", "functionArn": f"arn:aws:lambda:{OF}:function:{name}"})


@pytest.mark.parametrize(
    "entry",
    [
        "arn:aws:lambda:*",
        "arn:aws:sqs:eu-west-1:*",
        f"arn:aws:ecs:{OF}:*",  # neither a cluster nor a task definition: it would grant no right
        f"arn:aws:states:{OF}:*",
        f"arn:aws:states:{OF}:execution:*",
        f"arn:aws:events:{OF}:rule/*",
        f"arn:aws:lambda:{OF}:layer:*",
        "arn:aws:s3:::bucket",
    ],
)
def test_an_entry_that_does_not_name_a_kind_of_resource_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="write one such as"):
        parse_arns(entry)


@pytest.mark.parametrize(
    ("entry", "is_covered"),
    [
        (FUNCTION, True),
        (f"arn:aws:lambda:{OF}:function:rep*", True),
        (f"arn:aws:lambda:{OF}:function:report?", True),
        (f"{FUNCTION}:*", False),  # its versions and aliases, but not itself
        (f"arn:aws:lambda:{OF}:function:report", False),
        (f"arn:aws:lambda:{OF}:function:.*", False),  # a dot is a dot
        (f"arn:aws:sqs:{OF}:reports, {FUNCTION}", True),
    ],
)
def test_an_entry_of_the_list_means_what_it_means_to_iam(api: Api, entry: str, *, is_covered: bool) -> None:
    allow(api, entry)
    answer = api.call("POST", "/v1/jobs", {"target": LAMBDA})
    assert answer.status == (201 if is_covered else 400)


@pytest.mark.parametrize(
    ("target", "errors"),
    [
        ({"type": "carrier pigeon"}, {"target.type": "Use 'http', 'lambda', 'sqs', 'sns'"}),
        ({}, {"target.type": "This field is required"}),
        ({"functionArn": FUNCTION}, {"target.type": "This field is required"}),
        ("https://example.com", {"target": "This must be an object."}),
        ({"type": "lambda"}, {"target.functionArn": "This field is required"}),
        ({**LAMBDA, "functionArn": "reports"}, {"target.functionArn": f"such as arn:aws:lambda:{OF}:function:"}),
        ({**LAMBDA, "functionArn": f"arn:aws:sqs:{OF}:reports"}, {"target.functionArn": "the ARN of a function"}),
        ({**LAMBDA, "functionarn": 1}, {"target.functionarn": "did you mean functionArn?"}),
        ({**LAMBDA, "url": "https://example.com"}, {"target.url": "There is no such field"}),
        ({"type": "sqs"}, {"target": "give either queueArn or queueUrl"}),
        ({"type": "sqs", "queueUrl": "https://example.com/q"}, {"target.queueUrl": "or a queueArn"}),
        ({**TARGETS["ecs"][0], "subnets": ["a", "b"]}, {"target.subnets.0": "subnet-", "target.subnets.1": "subnet-"}),
        ({**TARGETS["eventBridge"][0], "source": "aws.ec2"}, {"target.source": "does not begin with aws."}),
        ({**TARGETS["sns"][0], "subject": "a\nb"}, {"target.subject": "one line of up to 99 ASCII"}),
    ],
)
def test_a_mistake_in_a_target_is_reported_by_its_field(api: Api, target: object, errors: dict[str, str]) -> None:
    allow(api)
    answer = api.call("POST", "/v1/jobs", {"target": target})
    told = {error["field"]: error["message"] for error in answer.body["errors"]}
    for field, part in errors.items():
        assert part in told[field]


def test_a_mistake_in_a_notifications_target_is_reported_by_its_field(api: Api) -> None:
    allow(api)
    answer = api.call("POST", "/v1/jobs", {"handler": "https://a.example", "notify": {"onFailure": {"type": "lambda"}}})
    assert answer.bad_fields() == ["notify.onFailure.functionArn"]


def test_a_queue_may_be_named_by_its_url(api: Api) -> None:
    allow(api, "arn:aws-cn:sqs:*:*:*")
    url = "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/jobs.fifo"
    job = create(api, target={"type": "sqs", "queueUrl": url})
    arn = "arn:aws-cn:sqs:cn-north-1:123456789012:jobs.fifo"
    assert job["target"] == {"type": "sqs", "queueArn": arn, "messageGroupId": None}
    assert api.work_of(job["jobId"]).target == SqsTarget(arn)


def test_the_target_of_a_notification_cannot_be_followed(api: Api) -> None:
    # A notice has half a minute: an execution that is followed would be stopped then, and started again.
    allow(api)
    told = {**TARGETS["stepFunctions"][0], "follow": True}
    body = {"handler": "https://example.com/hook", "everySeconds": 60, "notify": {"onFailure": told}}
    answer = api.call("POST", "/v1/jobs", body)
    assert (answer.status, answer.bad_fields()) == (400, ["notify.onFailure.follow"])


@pytest.mark.parametrize(("follow", "status"), [(True, 201), (False, 400)])
def test_only_a_followed_execution_may_take_days_without_a_heartbeat(api: Api, status: int, *, follow: bool) -> None:
    allow(api)
    target = {**TARGETS["stepFunctions"][0], "follow": follow}
    long = {"target": target, "timeoutSeconds": 604_800}
    job = api.call("POST", "/v1/jobs", long)
    assert job.status == api.call("POST", "/v1/tasks", long).status == status
    api.call("PUT", "/v1/tasks/nightly", {"target": target})
    of_task = api.call("POST", "/v1/jobs", {"taskId": "nightly", "timeoutSeconds": 604_800})
    assert of_task.status == status
    if follow:
        patched = api.call("PATCH", f"/v1/jobs/{job.body['jobId']}", {"target": {"follow": False}})
        assert (patched.status, patched.bad_fields()) == (400, ["timeoutSeconds"])


class TestAPatch:
    def test_to_another_type_replaces_the_whole_target(self, api: Api) -> None:
        allow(api)
        hook = {"type": "http", "url": "https://example.com", "headers": {"X-Key": "s3cret"}}
        job = create(api, target=hook)
        patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"target": LAMBDA})
        assert (patched.status, patched.body["target"]) == (200, {**LAMBDA, "invocation": "requestResponse"})
        back = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"target": {"type": "http", "url": "https://a.example"}})
        assert (back.status, back.body["target"]["headers"]) == (200, [])

    def test_to_one_field_leaves_the_others(self, api: Api) -> None:
        allow(api)
        job = create(api, target=TARGETS["ecs"][0])
        patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"target": {"assignPublicIp": True}})
        assert (patched.status, patched.body["target"]) == (200, {**job["target"], "assignPublicIp": True})

    def test_to_the_url_of_another_queue_needs_no_arn(self, api: Api) -> None:
        allow(api)
        job = create(api, target=TARGETS["sqs"][0])
        url = "https://sqs.eu-west-1.amazonaws.com/123456789012/other"
        patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"target": {"queueUrl": url}})
        assert (patched.status, patched.body["target"]["queueArn"]) == (200, f"arn:aws:sqs:{OF}:other")

    def test_that_removes_a_field_of_another_type_is_refused(self, api: Api) -> None:
        allow(api)
        job = create(api, target=LAMBDA)
        patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"target": {"headers": None}})
        assert (patched.status, patched.bad_fields()) == (400, ["target.headers"])


@pytest.mark.parametrize("of_task", [False, True])
def test_a_trigger_or_a_retry_whose_payload_its_target_does_not_take_is_refused_and_changes_nothing(
    api: Api, *, of_task: bool
) -> None:
    allow(api)
    target, large = TARGETS["ecs"][0], "x" * 6_200
    if of_task:
        assert api.call("PUT", "/v1/tasks/render", {"target": target}).status == 201
    job = create(api, **({"taskId": "render"} if of_task else {"target": target}))
    path = f"/v1/jobs/{job['jobId']}/trigger"
    made = api.call("POST", path, {"payload": "x" * 6_000})
    assert made.status == 201
    before = dict(api.store.runs)
    for path_of_large in (path, f"/v1/runs/{made.body['runId']}/retry"):
        answer = api.call("POST", path_of_large, {"payload": large})
        assert answer.status == 400
        assert answer.body["errors"] == [
            {
                "field": "payload",
                "message": "For a target of the type ecs this is too large: 6206 bytes of 6144.",
            }
        ]
    assert api.store.runs == before


def test_a_webhook_accepts_a_payload_that_another_target_does_not(api: Api) -> None:
    job = create(api, handler="https://example.com/hook")
    assert api.call("POST", f"/v1/jobs/{job['jobId']}/trigger", {"payload": "x" * 200_000}).status == 201
