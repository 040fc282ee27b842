"""Schedules of EventBridge Scheduler: the documented rule where clocks change, and what becomes of each property."""

import json
from typing import Any

import pytest

from tests.importing.imports import FUNCTION, compared, given, job, local, on, reason, schedule
from timeball.importing.definitions import ImportedJob, RefusedDefinition, UnreadableError
from timeball.importing.eventbridge import read_eventbridge

ACCOUNT = "eu-west-1:123456789012"


@pytest.mark.parametrize(
    ("expression", "spring", "autumn"),
    [
        ("cron(30 2 * * ? *)", [], ["02:30+0200"]),  # skipped, and once
        ("cron(*/30 2 * * ? *)", [], ["02:00+0200", "02:30+0200"]),  # the guide makes no exception
    ],
)
def test_a_skipped_time_is_lost_and_a_repeated_one_runs_once(
    expression: str, spring: list[str], autumn: list[str]
) -> None:
    one = job(schedule(expression))

    assert on("03-28", one) == [f"03-28 {time}" for time in spring]
    assert on("10-31", one) == [f"10-31 {time}" for time in autumn]
    assert compared(one).differences == ()


@pytest.mark.parametrize(
    ("expression", "ours"),
    [
        ("cron(0 9 ? * 2-6 *)", "0 9 ? * 1-5"),  # its weekdays count from 1
        ("cron(0 9 ? * 1,7 *)", "0 9 ? * 0,6"),
        ("cron(0 9 ? * 6L *)", "0 9 ? * 5L"),
        ("cron(0 9 ? * FRIL *)", "0 9 ? * FRIL"),
        ("cron(0 9 ? * 2#1 *)", "0 9 ? * 1#1"),
        ("cron(0 9 ? * L *)", "0 9 ? * SAT"),
        ("cron(0 9 15W * ? *)", "0 9 15W * ?"),
        ("cron(0 9 L * ? *)", "0 9 L * ?"),
        ("cron(0/30 20-2 ? * MON-FRI *)", "0/30 0-2,20-23 ? * 1-5"),  # its ranges wrap around
        ("cron(0 9 ? NOV-FEB SUN *)", "0 9 ? 1-2,11-12 0"),
    ],
)
def test_six_fields_become_five(expression: str, ours: str) -> None:
    one = job(schedule(expression))

    assert one.body["cronExpression"] == ours
    assert compared(one).differences == ()


def test_the_sixth_field_becomes_a_window() -> None:
    one = job(schedule("cron(0 9 ? * MON 2027)", "America/New_York"))

    assert one.body["startAt"] == "2027-01-01T05:00:00.000Z"
    assert one.body["endAt"] == "2028-01-01T04:59:59.999Z"
    assert compared(one).differences == ()


def test_a_rate_counts_elapsed_time_from_its_start() -> None:
    one = job(schedule("rate(5 days)", StartDate="2027-03-25T12:00:00+01:00", EndDate="2027-04-10T00:00:00Z"))

    assert (one.body["everySeconds"], one.body["anchorAt"]) == (432_000, "2027-03-25T11:00:00.000Z")
    assert local(one.origin.fires(given().now, given().now + 200 * 86_400_000)) == [
        "03-25 12:00+0100",
        "03-30 13:00+0200",
        "04-04 13:00+0200",
        "04-09 13:00+0200",
    ]
    assert compared(one).differences == ()


def test_a_rate_without_a_start_says_that_it_counts_from_now() -> None:
    one = job(schedule("rate(1 hour)"))

    assert "anchorAt" not in one.body
    assert any("counts from the creation" in note for note in one.notes)


def test_a_one_off_keeps_its_local_time() -> None:
    one = job(schedule("at(2028-07-01T09:00:00)"))

    assert one.body["scheduleAt"] == "2028-07-01T07:00:00.000Z"
    assert (compared(one).count, compared(one).differences) == (1, ())


@pytest.mark.parametrize(
    ("expression", "more", "part"),
    [
        ("at(2026-07-01T09:00:00)", {}, "Its time is over"),
        ("at(2027-03-28T02:30:00)", {}, "skip 2027-03-28T02:30"),
        ("at(2027-02-30T02:30:00)", {}, "no such time"),
        ("rate(1 week)", {}, "refuses"),
        ("cron(0 9 * * ?)", {}, "refuses"),
        ("cron(0 9 * * * *)", {}, "wants ?"),
        ("cron(0 9 * * ? 2027,2029)", {}, "single range"),
        ("rate(1 day)", {"EndDate": "2026-01-01T00:00:00Z"}, "EndDate is over"),
        ("rate(1 day)", {"ScheduleExpressionTimezone": "Mars/Olympus"}, "is unknown"),
        ("rate(1 day)", {"Target": None}, "no Target"),
        ("rate(1 day)", {"target": {"Arn": "arn:aws:scheduler:::aws-sdk:rds:stopDBInstance"}}, "universal target"),
        ("rate(1 day)", {"target": {"Arn": f"arn:aws:kinesis:{ACCOUNT}:stream/a"}}, "no target for kinesis"),
        ("rate(1 day)", {"target": {"Arn": {"Fn::GetAtt": ["F", "Arn"]}}}, "reference into a template"),
    ],
)
def test_a_schedule_that_becomes_no_job_has_a_sentence(expression: str, more: dict[str, Any], part: str) -> None:
    assert part in reason(schedule(expression, **more))


@pytest.mark.parametrize(
    ("target", "ours"),
    [
        ({"Arn": FUNCTION}, {"type": "lambda", "functionArn": FUNCTION, "invocation": "event"}),
        (
            {"Arn": f"arn:aws:sqs:{ACCOUNT}:a.fifo", "SqsParameters": {"MessageGroupId": "g"}},
            {"type": "sqs", "queueArn": f"arn:aws:sqs:{ACCOUNT}:a.fifo", "messageGroupId": "g"},
        ),
        ({"Arn": f"arn:aws:sns:{ACCOUNT}:a"}, {"type": "sns", "topicArn": f"arn:aws:sns:{ACCOUNT}:a"}),
        (
            {"Arn": f"arn:aws:states:{ACCOUNT}:stateMachine:a"},
            {"type": "stepFunctions", "stateMachineArn": f"arn:aws:states:{ACCOUNT}:stateMachine:a"},
        ),
        (
            {
                "Arn": f"arn:aws:events:{ACCOUNT}:event-bus/a",
                "EventBridgeParameters": {"Source": "shop", "DetailType": "tick"},
            },
            {
                "type": "eventBridge",
                "busArn": f"arn:aws:events:{ACCOUNT}:event-bus/a",
                "source": "shop",
                "detailType": "tick",
            },
        ),
        (
            {
                "Arn": f"arn:aws:ecs:{ACCOUNT}:cluster/a",
                "EcsParameters": {
                    "TaskDefinitionArn": f"arn:aws:ecs:{ACCOUNT}:task-definition/report:3",
                    "NetworkConfiguration": {
                        "awsvpcConfiguration": {"Subnets": ["subnet-1"], "AssignPublicIp": "ENABLED"}
                    },
                },
            },
            {
                "type": "ecs",
                "clusterArn": f"arn:aws:ecs:{ACCOUNT}:cluster/a",
                "taskDefinitionArn": f"arn:aws:ecs:{ACCOUNT}:task-definition/report:3",
                "containerName": "report",
                "launchType": "FARGATE",
                "subnets": ["subnet-1"],
                "securityGroups": [],
                "assignPublicIp": True,
            },
        ),
    ],
)
def test_a_templated_target_is_one_of_ours(target: dict[str, Any], ours: dict[str, Any]) -> None:
    assert job(schedule("rate(1 day)", target=target)).body["target"] == ours


def test_the_policies_are_taken_over() -> None:
    one = job(
        schedule(
            "cron(0 9 * * ? *)",
            GroupName="shop",
            State="DISABLED",
            Description="Morning report",
            KmsKeyArn="arn:aws:kms:eu-west-1:123456789012:key/1",
            FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
            Surprise=1,
            target={
                "Input": '{"report": "sales"}',
                "RoleArn": "arn:aws:iam::123456789012:role/a",
                "RetryPolicy": {"MaximumRetryAttempts": 150, "MaximumEventAgeInSeconds": 3600},
                "DeadLetterConfig": {"Arn": f"arn:aws:sqs:{ACCOUNT}:dead"},
            },
        )
    )

    assert (one.job_id, one.is_paused) == ("shop-report", True)
    assert one.body["name"] == "Morning report"
    assert one.body["payload"] == {"report": "sales"}
    assert one.body["jitterSeconds"] == 900
    assert (one.body["maxRetries"], one.body["retryPolicy"]) == (100, {"maxAgeSeconds": 3600})
    assert one.body["notify"] == {"onFailure": {"type": "sqs", "queueArn": f"arn:aws:sqs:{ACCOUNT}:dead"}}
    for part in ("RoleArn", "dead-letter queue", "at most 100", "KmsKeyArn", "Surprise is not taken over"):
        assert any(part in note for note in one.notes), part


def test_a_template_names_every_resource() -> None:
    template = """
    Parameters: {Stage: {Type: String}}
    Resources:
      Nightly:
        Type: AWS::Scheduler::Schedule
        Properties:
          ScheduleExpression: cron(0 2 * * ? *)
          FlexibleTimeWindow: {Mode: "OFF"}
          Target: {Arn: "arn:aws:lambda:eu-west-1:123456789012:function:report", RoleArn: !GetAtt Role.Arn}
      ByName:
        Type: AWS::Scheduler::Schedule
        Properties: {ScheduleExpression: rate(1 day), Target: {Arn: !Sub "${Queue}", RoleArn: !Ref Role}}
      Rule: {Type: AWS::Events::Rule, Properties: {ScheduleExpression: rate(1 day)}}
      Role: {Type: AWS::IAM::Role}
    """
    nightly, by_name, rule, others = read_eventbridge(template, given())

    assert isinstance(nightly, ImportedJob)
    assert nightly.body["timezone"] == "UTC"
    assert all(isinstance(one, RefusedDefinition) for one in (by_name, rule, others))


def test_a_list_of_schedules_asks_for_the_schedules_themselves() -> None:
    listed = json.dumps({"Schedules": [{"Name": "a", "State": "ENABLED", "Target": {"Arn": FUNCTION}}]})

    assert "get-schedule --name a" in reason(read_eventbridge(listed, given()))


@pytest.mark.parametrize("text", ["{}", "[]", "a: [", '{"Resources": {}}', "- 7"])
def test_a_text_without_schedules_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_eventbridge(text, given())
