"""The construct in an app of another project: the example of its page, synthesized, and wrong uses."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Match, Template

from tests.docs.readme import ROOT, read
from timeball.cdk import Timeball

URL, PARAMETER = "https://api.example", "/timeball/Timeball/first-key"
_EXAMPLE = re.compile(r"<!-- app -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def example() -> Template:
    """The template of the page's app."""
    (source,) = _EXAMPLE.findall(read(ROOT / "docs/how-to/declare-jobs-with-the-cdk.md"))
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - the page's own block
    return Template.from_stack(names["shop"])


def test_the_example_declares_its_jobs_in_one_resource(example: Template) -> None:
    (resource,) = example.find_resources("Custom::TimeballJobs").values()
    properties = resource["Properties"]

    jobs = json.loads("".join(part if isinstance(part, str) else "ARN" for part in properties["jobs"]["Fn::Join"][1]))
    assert [*jobs] == ["Shop-extract", "Shop-load"]
    assert jobs["Shop-extract"]["target"] == {"type": "lambda", "functionArn": "ARN"}
    assert jobs["Shop-load"]["dependsOn"] == ["Shop-extract"]
    assert properties["owner"].startswith("ShopTimeball")
    assert any(name.startswith("Extract") for name in resource["DependsOn"])
    assert any(name.startswith("Timeballread") for name in resource["DependsOn"])


def test_the_template_has_the_name_of_the_parameter_and_no_key(example: Template) -> None:
    text = json.dumps(example.to_json())

    assert PARAMETER in text
    assert "tb_" not in text
    assert "resolve:ssm" not in text


def test_a_function_that_submits_may_read_the_parameter_and_nothing_else(example: Template) -> None:
    example.has_resource_properties(
        "AWS::Lambda::Function",
        {"Environment": {"Variables": Match.object_like({"TIMEBALL_KEY_PARAMETER": PARAMETER})}},
    )
    policies = example.find_resources("AWS::IAM::Policy")
    statements = [one for policy in policies.values() for one in policy["Properties"]["PolicyDocument"]["Statement"]]
    assert {one["Action"] for one in statements} == {"ssm:GetParameter"}
    assert all(":parameter/timeball/Timeball/first-key" in json.dumps(one["Resource"]) for one in statements)


def construct(**more: Any) -> Timeball:
    return Timeball(Stack(App(), "Shop"), "Timeball", url=URL, key_parameter=PARAMETER, **more)


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (lambda scope: sqs.Queue.from_queue_arn(scope, "q", "arn:aws:sqs:eu-west-1:1:q"), ("sqs", "queueArn")),
        (lambda scope: sns.Topic.from_topic_arn(scope, "t", "arn:aws:sns:eu-west-1:1:t"), ("sns", "topicArn")),
        (
            lambda scope: lambda_.Function.from_function_arn(scope, "f", "arn:aws:lambda:eu-west-1:1:function:f"),
            ("lambda", "functionArn"),
        ),
    ],
)
def test_a_target_is_told_by_its_arn(make: Callable[[Stack], Any], target: tuple[str, str]) -> None:
    timeball = construct()
    made = timeball.add_target(make(Stack.of(timeball)))

    assert made["type"] == target[0]
    assert made[target[1]].startswith("arn:aws:")


def test_a_job_that_is_declared_twice_is_refused() -> None:
    timeball = construct(prefix="")
    assert timeball.add_job("nightly", {"handler": URL}) == "nightly"

    with pytest.raises(ValueError, match="declared twice"):
        timeball.add_job("nightly", {"handler": URL})


def test_an_id_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 64"):
        construct().add_job("n" * 60, {"handler": URL})


def test_another_resource_is_no_target() -> None:
    timeball = construct()

    with pytest.raises(TypeError):
        timeball.add_target(timeball)  # type: ignore[arg-type]


def test_a_construct_without_jobs_deploys_no_function() -> None:
    Template.from_stack(Stack.of(construct())).resource_count_is("AWS::Lambda::Function", 0)


def test_another_parameter_has_a_policy_of_its_own() -> None:
    former, later = (policies_for(parameter) for parameter in ("/former", "/later"))

    assert former & later == set(), "the former would be rewritten before the jobs there are cancelled"


def policies_for(parameter: str) -> set[str]:
    stack = Stack(App(), "Shop")
    Timeball(stack, "Timeball", url=URL, key_parameter=parameter).add_job("nightly", {"handler": URL})
    return {*Template.from_stack(stack).find_resources("AWS::IAM::Policy")}
