"""The request to each type of target: valid by botocore's models, with the same facts about the run everywhere."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from botocore.validate import ParamValidator

from tests.targets.calls import NOW, OF, RUN, TARGETS, a_call, client
from timeball.domain.attempts.trace_context import as_xray
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.terms.target import (
    AwsTarget,
    EcsTarget,
    HttpTarget,
    InvocationType,
    LambdaTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TargetType,
)
from timeball.ports.target import Call
from timeball.targets.aws.allowed import fits_all, too_large
from timeball.targets.aws.requests import mark_of, queue_url, request_of
from timeball.targets.envelope import Facts, as_headers, as_json, as_variables, facts_of

FACTS: Facts = {
    "tenant": "acme",
    "jobId": "nightly",
    "runId": f"nightly.{NOW - 123}.s",
    "attempt": 2,
    "fireTime": "2026-11-21T09:30:00.000Z",
    "depth": 0,
    "scheduledBy": "schedule",
    "callbackToken": "tba_x",
}
CONTEXT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
LONGEST = RunId(JobKey("acme", "j" * 64), 13_000_000_000_000, Origin.EVENT, "e" * 26)


def asked(target: Target, payload: str | None = '{"n": 1}', **changes: Any) -> dict[str, Any]:
    assert not isinstance(target, HttpTarget)
    call = a_call(target, payload, **changes)
    return dict(request_of(target, call, facts_of(call, "tba_x")).arguments)


def told(target: AwsTarget, arguments: dict[str, Any]) -> tuple[object, dict[str, str]]:
    """Return the payload and the facts that a request contains, the facts by their header names."""
    match target.type:
        case TargetType.SQS | TargetType.SNS:
            body: str = arguments.get("MessageBody") or arguments["Message"]
            attributes = arguments["MessageAttributes"]
            return json.loads(body), {name: one["StringValue"] for name, one in attributes.items()}
        case TargetType.ECS:
            (container,) = arguments["overrides"]["containerOverrides"]
            variables = {one["name"]: one["value"] for one in container["environment"]}
            payload = json.loads(variables.pop("TIMEBALL_PAYLOAD"))
            return payload, {name.title().replace("_", "-"): value for name, value in variables.items()}
        case _:
            text = arguments.get("Payload") or arguments.get("input") or arguments["Entries"][0]["Detail"]
            members = json.loads(text)
            facts = as_headers(members.pop("timeball"))
            return members, facts


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_gets_the_same_facts_about_its_run_beside_the_payload(name: str) -> None:
    target = TARGETS[name]
    assert not isinstance(target, HttpTarget)
    assert told(target, asked(target)) == ({"n": 1}, as_headers(FACTS))


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_gets_the_trace_context_of_its_attempt_if_there_is_one(name: str) -> None:
    target = TARGETS[name]
    assert not isinstance(target, HttpTarget)
    arguments = asked(target, traceparent=CONTEXT)
    (header,) = as_headers({"traceparent": CONTEXT})
    _, facts = told(target, arguments)
    assert {value for name, value in facts.items() if name.lower().endswith(header)} == {CONTEXT}
    assert "trace" not in str(asked(target)).lower()
    own = arguments["Entries"][0] if "Entries" in arguments else arguments
    xray = {value for name, value in own.items() if name.lower() == "traceheader"}
    takes_it = target.type in (TargetType.STEP_FUNCTIONS, TargetType.EVENT_BRIDGE)
    assert xray == ({as_xray(CONTEXT)} if takes_it else set())


def test_a_message_has_no_more_attributes_than_sqs_takes() -> None:
    call = a_call(TARGETS["sqs"], task_id="a-task", traceparent=CONTEXT)
    assert len(as_headers(facts_of(call, "tba_x"))) <= 10


@cache
def _meta(service: str, region: str) -> Any:
    return client(service, region).meta


@pytest.mark.parametrize("payload", ['{"n": 1}', "[1]", "null", None])
@pytest.mark.parametrize("run", [RUN, LONGEST])
@pytest.mark.parametrize("name", TARGETS)
def test_every_request_is_valid_by_botocores_models(name: str, run: RunId, payload: str | None) -> None:
    target = TARGETS[name]
    assert not isinstance(target, HttpTarget)
    call = a_call(target, payload, run=run, traceparent=CONTEXT)
    request = request_of(target, call, facts_of(call, "tba_x"))
    meta = _meta(request.service, request.region)
    operation = meta.service_model.operation_model(meta.method_to_api_mapping[request.operation])
    report = ParamValidator().validate(request.arguments, operation.input_shape)
    assert not report.has_errors(), report.generate_report()
    assert (request.region, request.arguments != {}) == ("eu-west-1", True)


def test_facts_are_named_by_the_conventions_of_their_carrier() -> None:
    assert list(as_headers(FACTS)) == [
        "Timeball-Tenant",
        "Timeball-Job-Id",
        "Timeball-Run-Id",
        "Timeball-Attempt",
        "Timeball-Fire-Time",
        "Timeball-Depth",
        "Timeball-Scheduled-By",
        "Timeball-Callback-Token",
    ]
    assert list(as_variables(FACTS, None))[2:5] == ["TIMEBALL_RUN_ID", "TIMEBALL_ATTEMPT", "TIMEBALL_FIRE_TIME"]


@pytest.mark.parametrize(
    ("payload", "members"),
    [
        ('{"a": "ü"}', {"a": "ü", "timeball": {"attempt": 1}}),
        ("{}", {"timeball": {"attempt": 1}}),
        (None, {"timeball": {"attempt": 1}}),
        ("[1, 2]", {"payload": [1, 2], "timeball": {"attempt": 1}}),
        ("null", {"payload": None, "timeball": {"attempt": 1}}),
        ('{"timeball": "mine"}', {"timeball": {"attempt": 1}}),  # the name is ours
    ],
)
def test_within_json_the_facts_stand_beside_the_members_of_the_payload(payload: str | None, members: Any) -> None:
    assert json.loads(as_json({"attempt": 1}, payload)) == members


class TestAMessage:
    def test_without_a_payload_has_a_body_anyway(self) -> None:
        assert asked(TARGETS["sqs"], None)["MessageBody"] == "{}"
        assert asked(TARGETS["sns"], None)["Message"] == "{}"

    @pytest.mark.parametrize("name", ["sqs", "sns"])
    def test_contains_no_character_that_a_message_may_not_contain(self, name: str) -> None:
        # SQS accepts only the characters of XML 1.0; JSON escapes all other ones by itself.
        arguments = asked(TARGETS[name], '{"\uffff": "a\ufffe\U0001f600\x7f"}')
        body: str = arguments.get("MessageBody") or arguments["Message"]
        assert not {"\ufffe", "\uffff"} & set(body)
        assert json.loads(body) == {"\uffff": "a\ufffe\U0001f600\x7f"}

    def test_to_a_fifo_queue_is_grouped_by_tenant_and_job_and_deduplicated_by_attempt(self) -> None:
        message = asked(TARGETS["sqs FIFO"])
        assert (message["MessageGroupId"], message["MessageDeduplicationId"]) == ("acme.nightly", f"acme.{RUN}-2")
        assert asked(TARGETS["sns FIFO"])["MessageGroupId"] == "acme.group"

    @pytest.mark.parametrize("name", ["q", "q.fifo"])
    def test_is_in_no_group_of_another_tenants_whatever_group_they_name(self, name: str) -> None:
        # A message that its consumer cannot handle blocks the messages after it in its group.
        runs = [RunId(JobKey(tenant, "nightly"), NOW, Origin.SCHEDULE) for tenant in ("acme", "acme-b", "b")]
        for group in ("g", "g" * 128):
            target = SqsTarget(f"arn:aws:sqs:{OF}:{name}", group)
            groups = [asked(target, run=run)["MessageGroupId"] for run in runs]
            assert len(set(groups)) == len(runs)
            assert all(one.startswith(f"{run.job.tenant}.") for one, run in zip(groups, runs, strict=True))
            assert max(map(len, groups)) <= 128

    def test_to_a_standard_queue_has_a_group_only_if_the_target_names_one(self) -> None:
        assert not {"MessageGroupId", "MessageDeduplicationId"} & asked(TARGETS["sqs"]).keys()
        grouped = asked(SqsTarget(f"arn:aws:sqs:{OF}:q", "g"))
        assert (grouped["MessageGroupId"], "MessageDeduplicationId" in grouped) == ("acme.g", False)

    @pytest.mark.parametrize(
        ("arn", "url"),
        [
            (f"arn:aws:sqs:{OF}:q.fifo", "https://sqs.eu-west-1.amazonaws.com/123456789012/q.fifo"),
            ("arn:aws-cn:sqs:cn-north-1:123456789012:q", "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q"),
        ],
    )
    def test_goes_to_the_url_of_its_queue(self, arn: str, url: str) -> None:
        assert queue_url(arn) == url


def test_a_function_is_called_for_its_answer_or_sent_an_event() -> None:
    assert asked(TARGETS["lambda"])["InvocationType"] == "RequestResponse"
    assert asked(LambdaTarget("arn:aws:lambda:r:1:function:f", InvocationType.EVENT))["InvocationType"] == "Event"


def test_an_attempt_has_one_mark_that_is_a_valid_name_everywhere() -> None:
    calls = [a_call(TARGETS["ecs"], run=run, attempt=attempt) for run in (RUN, LONGEST) for attempt in (1, 2)]
    marks = [mark_of(call) for call in calls]
    assert marks == [mark_of(replace(call, timeout_seconds=1)) for call in calls]
    assert (len(set(marks)), max(map(len, marks)) <= 64, marks[0]) == (4, True, f"acme.{RUN}-1")


def test_two_tenants_whose_jobs_have_the_same_id_have_different_marks() -> None:
    # Tenants choose their ids: an execution that was started for one must not count as the other's.
    alike = [RunId(JobKey(tenant, "nightly"), NOW, Origin.SCHEDULE) for tenant in ("acme", "b", "acme-b", "x" * 40)]
    assert len({mark_of(a_call(TARGETS["ecs"], run=run)) for run in alike}) == 4


@pytest.mark.parametrize(("follow", "named"), [(True, 1), (False, 3)])
def test_a_followed_execution_is_named_by_the_first_attempt_that_may_have_started_it(
    named: int, *, follow: bool
) -> None:
    target = StepFunctionsTarget(f"arn:aws:states:{OF}:stateMachine:m", follow=follow)
    call = a_call(target, run=RUN, attempt=3)
    assert mark_of(replace(call, starts_as=1)) == f"acme.{RUN}-{named}"


def test_a_task_is_tagged_with_its_tenant_and_job() -> None:
    assert asked(TARGETS["ecs"])["startedBy"] == "timeball/acme/nightly"
    longest = asked(TARGETS["ecs"], run=RunId(JobKey("t" * 40, "j" * 64), NOW, Origin.SCHEDULE))["startedBy"]
    assert len(longest) <= 128  # the limit of ECS


def test_a_task_without_subnets_has_the_network_of_its_machine() -> None:
    bare = EcsTarget(f"arn:aws:ecs:{OF}:cluster/c", f"arn:aws:ecs:{OF}:task-definition/t", "main")
    assert "networkConfiguration" not in asked(bare)
    network = asked(TARGETS["ecs"])["networkConfiguration"]["awsvpcConfiguration"]
    assert network == {"subnets": ["subnet-1"], "securityGroups": [], "assignPublicIp": "DISABLED"}


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("lambda", None),
        ("sqs", None),
        ("sns", 260_096),
        ("stepFunctions", 260_096),
        ("eventBridge", 260_096),
        ("ecs", 6144),
    ],
)
def test_a_payload_is_bounded_so_that_it_fits_with_all_facts_about_the_run(name: str, most: int | None) -> None:
    target = TARGETS[name]
    size = 262_144 if most is None else most
    quotes = 4 if name == "ecs" else 2  # ECS gets a string within JSON: escaped quotes, and its own
    fitting = '"' + "x" * (size - (quotes + 2 if name == "ecs" else quotes)) + '"'
    assert too_large(target, fitting) is None
    assert fits_all(fitting) is (name == "ecs")
    assert (too_large(target, fitting[:-1] + 'x"') is None) is (most is None)
    call: Call = a_call(target, fitting, run=LONGEST)
    assert not isinstance(target, HttpTarget)
    facts = facts_of(call, f"tba_{'t' * 40}_999999999_{'f' * 64}")
    sent = request_of(target, call, facts).arguments
    if name == "ecs":
        assert len(json.dumps(sent["overrides"])) <= 8192
    elif most is not None:
        texts = [
            sent.get("Message", ""),
            sent.get("input", ""),
            json.dumps(sent.get("Entries", ""), ensure_ascii=False),
        ]
        attributes = sum(
            len(key) + len(one["StringValue"]) + 6 for key, one in sent.get("MessageAttributes", {}).items()
        )
        assert max(map(len, texts)) + attributes <= 262_144
