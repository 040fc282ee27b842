"""A gradual rollout: callers name aliases, and CodeDeploy moves all of them at the same time, watched by alarms."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.rollout_settings import ERRORS, MAY_ROLL_BACK
from infra.settings import Settings
from tests.stack.conftest import Synthesized, synthesized
from timeball.setting import SettingsError

CALLED = {
    "admin",
    "api",
    "authorize",
    "events",
    "execute-high",
    "execute-low",
    "execute-normal",
    "scan",
    "watch",
}
"""The functions that are called again and again. The others are called by deployments alone."""


def _references(value: Any) -> Iterator[str]:
    """Yield the logical ids that a part of a template refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"]
        if "Fn::GetAtt" in value:
            yield value["Fn::GetAtt"][0]
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _references(part)


def _waits_for(stack: Synthesized, name: str) -> set[str]:
    """Return all resources that a resource waits for, directly or not."""
    found, open_names = set[str](), [name]
    while open_names:
        body = stack.template["Resources"].get(open_names.pop(), {})
        depends = body.get("DependsOn", [])
        more = {*([depends] if isinstance(depends, str) else depends), *_references(body)} - found
        found |= more
        open_names += more
    return found & {*stack.template["Resources"]}


def _short(stack: Synthesized, alias: dict[str, Any]) -> str:
    name: str = stack.resolve(alias["Properties"]["FunctionName"])["FunctionName"]
    return name.removeprefix("Timeball-")


def test_by_default_nothing_has_an_alias(stack: Synthesized) -> None:
    kinds = {body["Type"] for body in stack.template["Resources"].values()}
    assert not {kind for kind in kinds if "CodeDeploy" in kind or kind.endswith(("::Alias", "Lambda::Version"))}


def test_each_function_that_is_called_again_and_again_has_an_alias_of_its_newest_version(
    gradual_stack: Synthesized,
) -> None:
    aliases = gradual_stack.resources("AWS::Lambda::Alias")
    assert {_short(gradual_stack, alias) for alias in aliases.values()} == CALLED
    for alias in aliases.values():
        version = gradual_stack.resolve(alias["Properties"]["FunctionVersion"])
        assert version["FunctionName"] == alias["Properties"]["FunctionName"]


def test_a_version_outlives_the_deployment_that_replaces_it(gradual_stack: Synthesized) -> None:
    # An executor of it may have fifteen minutes to go.
    for version in gradual_stack.resources("AWS::Lambda::Version").values():
        assert (version["DeletionPolicy"], version["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_every_caller_names_the_alias_and_not_the_function(gradual_stack: Synthesized) -> None:
    aliases = {*gradual_stack.resources("AWS::Lambda::Alias")}
    functions = {
        name
        for name, body in gradual_stack.resources("AWS::Lambda::Function").items()
        if body["Properties"]["FunctionName"].removeprefix("Timeball-") in CALLED
    }
    callers = (
        "AWS::Lambda::EventSourceMapping",
        "AWS::ApiGatewayV2::Integration",
        "AWS::ApiGatewayV2::Authorizer",
        "AWS::StepFunctions::StateMachine",
    )
    for kind in callers:
        found = [body["Properties"] for body in gradual_stack.resources(kind).values()]
        assert found
        for body in found:
            assert {*_references(body)} & aliases or _is_of_console(body), (kind, body)
            assert not {*_references(body)} & functions, (kind, body)
    for permission in gradual_stack.resources("AWS::Lambda::Permission").values():
        named = permission["Properties"]["FunctionName"]
        assert _is_of_console(named) or named["Ref"] in aliases


def _is_of_console(body: Any) -> bool:
    """Say whether it calls the console's function, whose files are of one version: half of them would be refused."""
    return any(one.startswith("Console") for one in _references(body))


def test_executors_invoke_the_alias_as_their_successors_and_a_failed_one_is_not_restarted(
    gradual_stack: Synthesized, stack: Synthesized
) -> None:
    for one, suffix in ((gradual_stack, ":live"), (stack, "")):
        named = {
            name: body["Environment"]["Variables"]["TIMEBALL_SUCCESSOR"]
            for name, body in one.functions().items()
            if name.startswith("execute-")
        }
        assert named == {name: f"Timeball-{name}{suffix}" for name in named}
        assert one.functions()["api"]["Environment"]["Variables"]["TIMEBALL_TRIALS"] == f"Timeball-execute-low{suffix}"
        invoked = [body["Properties"] for body in one.resources("AWS::Lambda::EventInvokeConfig").values()]
        assert len(invoked) == 3
        assert {body["MaximumRetryAttempts"] for body in invoked} == {0}
        qualifiers = [body["Qualifier"] for body in invoked]
        aliases = {*one.resources("AWS::Lambda::Alias")}
        assert all({*_references(each)} & aliases if suffix else each == "$LATEST" for each in qualifiers)


def test_all_aliases_move_at_the_same_time(gradual_stack: Synthesized) -> None:
    aliases = {*gradual_stack.resources("AWS::Lambda::Alias")}
    for alias in aliases:
        # The scan may change the pollers of the executors' queues, and is told their mappings.
        others = {name for name in _waits_for(gradual_stack, alias) & aliases if not name.startswith("Executors")}
        assert not others, alias
    executors = [alias for alias in aliases if alias.startswith("Executors")]
    assert not {other for one in executors for other in _waits_for(gradual_stack, one) & aliases}


def test_each_alias_moves_to_a_tenth_first_and_back_on_an_alarm(gradual_stack: Synthesized) -> None:
    groups = gradual_stack.resources("AWS::CodeDeploy::DeploymentGroup")
    moved = [body["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"] for body in _aliases(gradual_stack)]
    assert sorted(one["DeploymentGroupName"]["Ref"] for one in moved) == sorted(groups)
    for body in groups.values():
        about = body["Properties"]
        assert about["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent10Minutes"
        assert about["DeploymentStyle"]["DeploymentOption"] == "WITH_TRAFFIC_CONTROL"
        assert "DEPLOYMENT_STOP_ON_ALARM" in about["AutoRollbackConfiguration"]["Events"]
        alarms = [gradual_stack.resolve(one["Name"])["AlarmName"] for one in about["AlarmConfiguration"]["Alarms"]]
        (own,) = {name for name in alarms if name.endswith("-errors")}
        assert {*alarms} - {own} == {"Timeball-TickSilent", "Timeball-Behind", "Timeball-NoHands"}


def test_a_change_of_the_alarms_holds_for_the_deployment_that_makes_it(gradual_stack: Synthesized) -> None:
    for name, body in gradual_stack.resources("AWS::Lambda::Alias").items():
        group = body["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]
        assert group in _waits_for(gradual_stack, name)


def test_an_alarm_on_errors_is_about_the_alias_and_tells_no_person(gradual_stack: Synthesized) -> None:
    errors = [
        body["Properties"]
        for body in gradual_stack.resources("AWS::CloudWatch::Alarm").values()
        if body["Properties"]["AlarmName"].endswith("-errors")
    ]
    assert len(errors) == len(CALLED)
    for alarm in errors:
        about = {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
        assert about["Resource"] == f"{about['FunctionName']}:live"
        assert about["FunctionName"].removeprefix("Timeball-") in CALLED
        assert not {"AlarmActions", "OKActions"} & alarm.keys()


def test_codedeploy_may_move_these_aliases_and_read_alarms(gradual_stack: Synthesized) -> None:
    (role,) = (
        name
        for name, body in gradual_stack.resources("AWS::IAM::Role").items()
        if "codedeploy" in json.dumps(body["Properties"]["AssumeRolePolicyDocument"])
    )
    assert "ManagedPolicyArns" not in gradual_stack.template["Resources"][role]["Properties"]
    (policy,) = (
        body["Properties"]["PolicyDocument"]["Statement"]
        for body in gradual_stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in body["Properties"]["Roles"]
    )
    move, read = policy
    assert {arn["Fn::Join"][1][-1] for arn in move["Resource"]} == {
        f":function:Timeball-{name}:live" for name in CALLED
    }
    assert (read["Action"], read["Resource"]) == ("cloudwatch:DescribeAlarms", "*")


@pytest.mark.more
def test_without_alarms_of_its_own_a_deployment_can_correct_what_an_alarm_is_about(tmp_path: Path) -> None:
    none = synthesized(tmp_path, "small", alarms="on", rollout="gradual", rollback_alarms="")
    groups = [body["Properties"] for body in none.resources("AWS::CodeDeploy::DeploymentGroup").values()]
    assert len(groups) == len(CALLED)
    assert not [about for about in groups if about.get("AlarmConfiguration", {}).get("Alarms")]


def test_each_alarm_that_may_roll_back_exists(watched_stack: Synthesized) -> None:
    names = {body["Properties"]["AlarmName"] for body in watched_stack.resources("AWS::CloudWatch::Alarm").values()}
    assert {f"Timeball-{name}" for name in MAY_ROLL_BACK if name != ERRORS} <= names


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rollout": "gradual"}, "a gradual rollout needs alarms"),
        ({"rollback_alarms": "Errors, LateFast"}, "'LateFast' is none of them"),
    ],
)
def test_settings_that_could_not_roll_back_are_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        Settings.read({f"timeball:{name}": value for name, value in given.items()})


def _aliases(stack: Synthesized) -> list[dict[str, Any]]:
    return [*stack.resources("AWS::Lambda::Alias").values()]
