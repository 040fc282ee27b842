"""The alarms of the synthesized stack: each has its page, and goes off for its own trouble and for no other."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bench.bill import ALARMS, COMPOSITES, METRICS_OF_A_CANARY, whole_month
from infra.alarms import runbook
from tests.drills.deployment import PARTITIONS
from tests.drills.drill import alarms_template
from tests.drills.judge import alarms_of
from tests.drills.table import DRILLS
from tests.stack.conftest import ROOT, Synthesized
from timeball.engine.metrics import MEANINGS, Metric
from timeball.targets.aws.allowed import parse_arns

NAMES = {
    "TickSilent",
    "PartitionSilent",
    "Behind",
    "NoHands",
    "WatchSilent",
    "CanaryMissed",
    "CanaryOffTime",
    "LateFast",
    "LateSlow",
    "LateForDays",
    "DeadLetters",
    "Unreadable",
    "Throttled",
    "AuthenticationsFailed",
    "Down",
    "ArchiveBehind",
    "EventsBehind",
}
PARTS = {
    "CanarySilent",
    "LateFastOneHour",
    "LateFastFiveMinutes",
    "LateSlowSixHours",
    "LateSlowHalfHour",
}
COMPOSED = {"CanaryMissed", "LateFast", "LateSlow", "Down"}
OF_SEVERAL = {"PartitionSilent"}
"""The alarms that only a deployment with several partitions has."""
OF_STREAM = {"ArchiveBehind", "EventsBehind"}
"""The alarms of what follows the jobs table's stream. They have no drill: drills play no stream of a table."""


@pytest.fixture(scope="module")
def alarms(watched_stack: Synthesized) -> Mapping[str, Mapping[str, Any]]:
    """Return all alarms by name: those of the stack, and those of several partitions and of the stream."""
    of_several, of_stream = alarms_of(alarms_template(PARTITIONS)), alarms_of(alarms_template(1, "basic", "run.failed"))
    lacked = {name: of_several[name] for name in OF_SEVERAL} | {name: of_stream[name] for name in OF_STREAM}
    return {**lacked, **alarms_of(watched_stack.template)}


def test_every_alarm_exists(watched_stack: Synthesized) -> None:
    assert alarms_of(watched_stack.template).keys() == (NAMES | PARTS) - OF_SEVERAL - OF_STREAM


def test_drills_are_judged_by_the_alarms_of_the_stack(watched_stack: Synthesized) -> None:
    assert alarms_of(alarms_template(1)) == alarms_of(watched_stack.template)
    assert alarms_of(alarms_template(PARTITIONS)).keys() == (NAMES | PARTS) - OF_STREAM


def test_each_alarm_has_a_drill_that_sets_it_off() -> None:
    assert {name for drill in DRILLS.values() for name in drill.alarms} == NAMES - OF_STREAM


def test_an_archive_that_is_an_hour_behind_is_an_alarm(
    alarms: Mapping[str, Mapping[str, Any]], archive_stack: Synthesized
) -> None:
    alarm = alarms["ArchiveBehind"]
    name = archive_stack.functions()["archive"]["FunctionName"]
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", "IteratorAge", "Maximum")
    assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": name}]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanOrEqualToThreshold", 3_600_000)


def test_lifecycle_events_that_are_ten_minutes_late_are_an_alarm(
    alarms: Mapping[str, Mapping[str, Any]], lifecycle_stack: Synthesized
) -> None:
    alarm, name = alarms["EventsBehind"], lifecycle_stack.functions()["lifecycle"]["FunctionName"]
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Threshold"]) == ("AWS/Lambda", "IteratorAge", 600_000)
    assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": name}]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_alarm_names_its_runbook_and_the_page_answers_four_questions(
    name: str, alarms: Mapping[str, Mapping[str, Any]]
) -> None:
    page = runbook(name)
    assert alarms[name]["AlarmDescription"].endswith(f"Runbook: {page}")
    text = (ROOT / page).read_text()
    assert text.startswith(f"# {name}\n")
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["What it means", "Look", "Do", "It is over when"]


def test_there_is_no_runbook_without_an_alarm() -> None:
    assert {path.name for path in (ROOT / "docs/runbooks").glob("*.md")} == {
        runbook(name).rpartition("/")[2] for name in NAMES
    }


@pytest.mark.parametrize("name", sorted((NAMES | PARTS) - COMPOSED))
def test_each_alarm_on_a_metric_says_what_missing_data_means(
    name: str, alarms: Mapping[str, Mapping[str, Any]]
) -> None:
    expected = "breaching" if name in ("TickSilent", "CanarySilent", "WatchSilent") else "notBreaching"
    assert alarms[name]["TreatMissingData"] == expected


@pytest.mark.parametrize("name", sorted(NAMES | PARTS))
def test_all_alarms_notify_the_topic_when_they_begin_and_when_they_are_over_but_parts_of_others_do_not(
    name: str, alarms: Mapping[str, Mapping[str, Any]], watched_stack: Synthesized
) -> None:
    alarm = alarms[name]
    (topic,) = watched_stack.resources("AWS::SNS::Topic")
    expected = None if name in PARTS else [{"Ref": topic}]
    assert (alarm.get("AlarmActions"), alarm.get("OKActions")) == (expected, expected)


def test_alarms_need_no_metric_that_basic_does_not_write(alarms: Mapping[str, Mapping[str, Any]]) -> None:
    own = {one["MetricName"] for one in alarms.values() if one.get("Namespace") == "Timeball"}
    assert own <= {name.value for name, meaning in MEANINGS.items() if meaning.is_basic}


def test_the_alarms_of_the_account_may_publish_to_the_topic_and_its_subscribers_are_those_of_the_setting(
    watched_stack: Synthesized,
) -> None:
    (policy,) = watched_stack.resources("AWS::SNS::TopicPolicy").values()
    allowed = [one for one in policy["Properties"]["PolicyDocument"]["Statement"] if one["Effect"] == "Allow"]
    assert [one["Principal"] for one in allowed] == [{"Service": "cloudwatch.amazonaws.com"}]
    subscriptions = watched_stack.resources("AWS::SNS::Subscription").values()
    assert [(one["Properties"]["Protocol"], one["Properties"]["Endpoint"]) for one in subscriptions] == [
        ("email", "oncall@example.com"),
        ("https", "https://hooks.example.com/timeball"),
    ]
    (slack,) = watched_stack.resources("AWS::Chatbot::SlackChannelConfiguration").values()
    assert (slack["Properties"]["SlackWorkspaceId"], slack["Properties"]["SlackChannelId"]) == ("T0123", "C4567")


def test_the_dashboard_shows_all_alarms_and_metrics_that_exist(watched_stack: Synthesized) -> None:
    (dashboard,) = watched_stack.resources("AWS::CloudWatch::Dashboard").values()
    parts = dashboard["Properties"]["DashboardBody"]["Fn::Join"][1]
    alarms = {part["Fn::GetAtt"][0] for part in parts if isinstance(part, dict) and "Fn::GetAtt" in part}
    assert {one["LogicalId"] for one in alarms_of(watched_stack.template).values()} <= alarms
    body = json.loads("".join(part if isinstance(part, str) else "x" for part in parts))
    metrics = [metric for widget in body["widgets"] for metric in widget["properties"].get("metrics", [])]
    own = {metric[1] for metric in metrics if metric[0] == "Timeball"}
    assert own <= {name.value for name in Metric}
    assert len(own) >= 15


def test_a_stack_without_alarms_has_none_of_it(stack: Synthesized) -> None:
    for kind in ("CloudWatch::Alarm", "CloudWatch::CompositeAlarm", "CloudWatch::Dashboard", "SNS::Topic"):
        assert not stack.resources(f"AWS::{kind}")


def test_all_of_it_costs_less_than_sixteen_dollars_a_month(watched_stack: Synthesized) -> None:
    kinds = {name: len(watched_stack.resources(f"AWS::CloudWatch::{name}")) for name in ("Alarm", "CompositeAlarm")}
    assert (kinds["Alarm"], kinds["CompositeAlarm"]) == (ALARMS, COMPOSITES)
    assert all(MEANINGS[Metric(name)].is_basic for name in METRICS_OF_A_CANARY)
    items = {item.what: item.dollars for item in whole_month(0.925, 0.6)}
    standby = items.pop("an execution that stands by (`takeover_seconds` of 15)")
    assert sum(items.values()) < 16 - 2.4, items
    assert sum(items.values()) + standby < 16.50


def _policies(stack: Synthesized, function: str) -> list[dict[str, Any]]:
    role = stack.functions()[function]["Role"]["Fn::GetAtt"][0]
    return [
        statement
        for policy in stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_the_canarys_function_may_write_its_log_only_and_executors_may_call_it(watched_stack: Synthesized) -> None:
    actions = [statement["Action"] for statement in _policies(watched_stack, "canary")]
    assert actions == [["logs:CreateLogStream", "logs:PutLogEvents"]]
    (canary,) = (
        name
        for name, body in watched_stack.resources("AWS::Lambda::Function").items()
        if body["Properties"]["FunctionName"] == "Timeball-canary"
    )
    for priority in ("high", "normal", "low"):
        statements = _policies(watched_stack, f"execute-{priority}")
        (called,) = (one["Resource"] for one in statements if one["Action"] == "lambda:InvokeFunction")
        assert {"Fn::GetAtt": [canary, "Arn"]} in called


def test_the_canary_is_a_target_for_the_operating_tenant_only(watched_stack: Synthesized) -> None:
    targets = watched_stack.functions()["execute-normal"]["Environment"]["Variables"]["TIMEBALL_TARGETS"]
    facts = {"AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "111122223333"}
    text = "".join(part if isinstance(part, str) else facts[part["Ref"]] for part in targets["Fn::Join"][1])
    allowed = parse_arns(text, "Timeball")
    arn = "arn:aws:lambda:eu-central-1:111122223333:function:Timeball-{}"
    assert allowed.covers(arn.format("canary"), "main")
    assert not allowed.covers(arn.format("canary"), "acme")
    every = parse_arns("arn:aws:lambda:*:*:function:*", "Timeball")
    assert [name for name in watched_stack.functions() if every.covers(arn.format(name), "main")] == ["canary"]
