"""The resources of lifecycle events: they exist only if the setting asks for them, and have no needless rights."""

import copy
import json
from typing import Any

import pytest

from bench.bill import lifecycle_month
from infra.lifecycle import patterns
from infra.settings import PREFIX, Settings
from tests.stack.conftest import ROOT, Synthesized, synthesized
from tests.stack.functions import short_name
from tests.stack.test_archive import STREAM
from timeball.aws.dynamodb.table import keys
from timeball.domain.lifecycle import TYPES
from timeball.domain.model.runs.run import RunState
from timeball.setting import SettingsError


def _mapping(stack: Synthesized) -> dict[str, Any]:
    (found,) = (
        body["Properties"]
        for body in stack.resources("AWS::Lambda::EventSourceMapping").values()
        if "StartingPosition" in body["Properties"]
    )
    return dict(found)


def _settings(types: str) -> Settings:
    return Settings.read({f"{PREFIX}lifecycle_events": types})


def _without_events(stack: Synthesized) -> dict[str, Any]:
    """Return the template without the function, the stream and the variable that names the types."""
    rest = copy.deepcopy(stack.template)
    rest["Resources"] = {name: body for name, body in rest["Resources"].items() if not name.startswith("Lifecycle")}
    for body in rest["Resources"].values():
        body["Properties"].pop("StreamSpecification", None)
        variables = body["Properties"].get("Environment", {}).get("Variables", {})
        if variables.get("TIMEBALL_LIFECYCLE_EVENTS"):
            variables["TIMEBALL_LIFECYCLE_EVENTS"] = ""
        if isinstance(body.get("DependsOn"), list):
            body["DependsOn"] = [name for name in body["DependsOn"] if not name.startswith("Lifecycle")]
    return dict(rest)


def test_without_the_setting_the_template_has_no_stream_and_no_function(
    stack: Synthesized, lifecycle_stack: Synthesized
) -> None:
    assert "stream/" not in json.dumps(stack.template).lower()
    assert "lifecycle" not in stack.functions()
    assert _without_events(lifecycle_stack) == stack.template


def test_the_function_may_read_the_stream_and_put_events_and_touches_no_table(lifecycle_stack: Synthesized) -> None:
    role = lifecycle_stack.functions()["lifecycle"]["Role"]["Fn::GetAtt"][0]
    (policy,) = (
        body["Properties"]["PolicyDocument"]["Statement"]
        for body in lifecycle_stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in body["Properties"]["Roles"]
    )
    granted = {json.dumps(one["Resource"]): one["Action"] for one in policy}
    (table,) = (name for name in lifecycle_stack.resources("AWS::DynamoDB::GlobalTable") if "Jobs" in name)
    (bus,) = lifecycle_stack.resources("AWS::Events::EventBus")
    (queue,) = (name for name in lifecycle_stack.resources("AWS::SQS::Queue") if "Unreadable" in name)
    (log,) = (name for name in lifecycle_stack.resources("AWS::Logs::LogGroup") if name.startswith("Lifecycle"))
    assert granted == {
        json.dumps({"Fn::GetAtt": [log, "Arn"]}): ["logs:CreateLogStream", "logs:PutLogEvents"],
        json.dumps({"Fn::GetAtt": [table, "StreamArn"]}): [
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        ],
        json.dumps({"Fn::GetAtt": [bus, "Arn"]}): "events:PutEvents",
        json.dumps({"Fn::GetAtt": [queue, "Arn"]}): "sqs:SendMessage",
    }


def test_a_batch_is_small_is_tried_for_23_hours_and_is_then_noted_for_people(lifecycle_stack: Synthesized) -> None:
    mapping = _mapping(lifecycle_stack)
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (1_000, 1)
    assert mapping["MaximumRecordAgeInSeconds"] == 23 * 3600
    assert mapping["BisectBatchOnFunctionError"]
    assert short_name(mapping["DestinationConfig"]["OnFailure"]["Destination"]) == "Unreadable"
    filters = [json.loads(one["Pattern"]) for one in mapping["FilterCriteria"]["Filters"]]
    assert filters == [*patterns(_settings("*"))]


@pytest.mark.parametrize(
    ("types", "states", "jobs"),
    [
        ("*", [*sorted(RunState)], {}),
        ("run.failed, run.skipped", ["failed", "skipped"], None),
        ("run.blocked", ["queued"], None),  # a blocked run is queued
        ("job.*", None, {}),  # no status says that a job is new, or was changed
        ("job.paused,job.failed", None, {"status": {"S": ["failed", "paused"]}}),
        ("job.blocked", None, {}),  # the row of a blocked job is pending
        ("run.failed,job.paused", ["failed"], {"status": {"S": ["paused"]}}),
    ],
)
def test_lambda_is_asked_for_the_writes_that_may_have_a_wanted_event(
    types: str, states: list[str] | None, jobs: dict[str, Any] | None
) -> None:
    found = {json.dumps(one["dynamodb"]["Keys"]["sk"]["S"]): one for one in patterns(_settings(types))}
    wanted: dict[str, dict[str, Any]] = {}
    if states is not None:
        wanted[json.dumps([{"prefix": keys.RUN}])] = {"state": {"S": states}}
    if jobs is not None:
        wanted[json.dumps([keys.JOB])] = jobs
    assert {name: one["dynamodb"].get("NewImage", {}) for name, one in found.items()} == wanted
    assert all(one["eventName"] == ["INSERT", "MODIFY"] for one in found.values())


@pytest.mark.more  # the archive's own test has an existing table, too
def test_an_existing_table_is_followed_from_its_stream_beside_an_archive(tmp_path: Any) -> None:
    existing = {"jobs_table": "jobs-of-may", "jobs_stream": STREAM}
    stack = synthesized(tmp_path, "small", lifecycle_events="run.failed", archive="basic", **existing)
    mappings = stack.resources("AWS::Lambda::EventSourceMapping").values()
    arns = [body["Properties"]["EventSourceArn"] for body in mappings if "StartingPosition" in body["Properties"]]
    assert arns == [STREAM, STREAM]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"lifecycle_events": "run.exploded"}, "must be types of events, separated by commas"),
        ({"lifecycle_events": "timeball.run.failed"}, "must be types of events"),
        ({"lifecycle_events": "*", "jobs_table": "jobs-of-may"}, "jobs_stream must be set with jobs_table"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        Settings.read({PREFIX + name: value for name, value in given.items()})


def test_all_types_together_fit_into_the_environment() -> None:
    assert len(",".join(TYPES)) < 400


def test_a_month_costs_what_the_page_says() -> None:
    page = (ROOT / "docs/reference/lifecycle-events.md").read_text()
    columns = [lifecycle_month(1e6, events) for events in (0.01, 1, 3)]
    for lines in zip(*columns, strict=True):
        assert f"| {lines[0].what} | {' | '.join(f'{line.dollars:.2f}' for line in lines)} |" in page
    sums = (sum(line.dollars for line in lines) for lines in columns)
    assert f"| **in all** | {' | '.join(f'**{dollars:.2f}**' for dollars in sums)} |" in page
