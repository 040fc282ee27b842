"""Behaviour of AWS that emulators lack: concurrency, loops, throughput, partitions; and tables that outlive a stack."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

from infra.settings import PREFIX, Settings
from infra.ticker import DEFINITION
from tests.stack.conftest import Synthesized, synthesized

ASKED = {
    **dict.fromkeys(("due.query", "due.ahead"), ("due",)),
    "jobs.of_task": ("by_task",),
    "runs.notable": ("notable",),
    **dict.fromkeys(("jobs.listed", "jobs.count"), ("listing", "by_state")),
    **dict.fromkeys(("jobs.sample_open", "jobs.count_open"), ("by_state",)),
    **dict.fromkeys(
        (
            "runs.dead_letters",
            "runs.in_line",
            "runs.count_dead_letters",
            "tasks.listed",
            "operations.listed",
        ),
        ("listing",),
    ),
    **dict.fromkeys(
        (
            "attempts.of_run",
            "backfills.of_owner",
            "calendars.of_owner",
            "waiting_events.of_owner",
            "calendar_uses.of_owner",
            "changes.announced",
            "changes.of_job",
            "runs.between",
            "runs.ledger",
            "usage.between",
        ),
        ("table",),
    ),
}
"""The table or index that each query of the store reads."""


def _statements(stack: Synthesized, function: str) -> Iterator[dict[str, Any]]:
    role = stack.functions()[function]["Role"]["Fn::GetAtt"][0]
    for policy in stack.resources("AWS::IAM::Policy").values():
        if {"Ref": role} in policy["Properties"]["Roles"]:
            yield from policy["Properties"]["PolicyDocument"]["Statement"]


def _resources(stack: Synthesized, function: str, action: str) -> list[Any]:
    """List the resources on which a function may perform an action."""
    found: list[Any] = []
    for statement in _statements(stack, function):
        if action in (statement["Action"], *statement["Action"]):
            resource = statement["Resource"]
            found += resource if isinstance(resource, list) else [resource]
    return found


def _feeds(stack: Synthesized) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what feeds a function: the queue's logical id, the function's name, the mapping."""
    for body in stack.resources("AWS::Lambda::EventSourceMapping").values():
        mapping = body["Properties"]
        name = stack.resolve(mapping["FunctionName"])["FunctionName"].removeprefix("Timeball-")
        yield mapping["EventSourceArn"]["Fn::GetAtt"][0], name, mapping


@pytest.mark.parametrize(
    ("fixture", "executors"), [("local_stack", (8, 5, 2)), ("stack", (91, 52, 7)), ("large_stack", (450, 260, 30))]
)
def test_functions_that_queues_feed_cannot_take_all_of_the_accounts_concurrency(
    fixture: str, executors: tuple[int, int, int], request: pytest.FixtureRequest
) -> None:
    synthesized: Synthesized = request.getfixturevalue(fixture)
    bounds = {name: _most_at_once(mapping) for _, name, mapping in _feeds(synthesized)}
    assert bounds == {
        **dict(zip(("execute-high", "execute-normal", "execute-low"), executors, strict=True)),
        "watch": 2,
        "events": 10,
    }
    successors = sum(
        bounds[name] * int(function["Environment"]["Variables"]["TIMEBALL_SUCCESSOR_PERCENT"]) / 100
        for name, function in synthesized.functions().items()
        if name.startswith("execute-")
    )
    at_once = sum(bounds.values()) + 2 * successors  # an executor, and the one after it
    assert at_once <= 1000 - 100, "the scan, the authorizer and the API need the rest"


@pytest.mark.parametrize(
    ("account", "executors", "successors"),
    [(14, 6, 0), (20, 6, 1), (100, 50, 4), (1_000, 150, 10), (1_000, 750, 10), (5_000, 3_000, 10)],
)
def test_successors_are_limited_to_what_an_account_has_room_for(account: int, executors: int, successors: int) -> None:
    given = {"account_concurrency": account, "execute_concurrency": executors, "runs_per_message": 1}
    given |= {"pollers": 20} if executors > 1_000 else {}
    settings = Settings.read({f"{PREFIX}{name}": value for name, value in given.items()})
    assert settings.concurrency.successors == successors
    for priority, most in settings.executors.items():
        expected = most * settings.successor_percent[priority] / 100
        assert min(most, successors) <= expected <= min(most, successors) + most / 100


def test_a_successor_is_called_once_and_soon_or_not_at_all(stack: Synthesized) -> None:
    called = {
        stack.resolve(body["Properties"]["FunctionName"])["FunctionName"].removeprefix("Timeball-"): body["Properties"]
        for body in stack.resources("AWS::Lambda::EventInvokeConfig").values()
    }
    assert called.keys() == {"execute-high", "execute-normal", "execute-low"}
    for about in called.values():
        assert (about["MaximumRetryAttempts"], about["MaximumEventAgeInSeconds"]) == (0, 60)


def _most_at_once(mapping: dict[str, Any]) -> int:
    """Return the concurrency bound of a mapping, of one of two kinds; a provisioned poller has ten batches."""
    assert ("ScalingConfig" in mapping) != ("ProvisionedPollerConfig" in mapping)
    if "ScalingConfig" in mapping:
        return int(mapping["ScalingConfig"]["MaximumConcurrency"])
    return 10 * int(mapping["ProvisionedPollerConfig"]["MaximumPollers"])


def test_large_keeps_pollers_ready_for_each_priority(large_stack: Synthesized) -> None:
    pollers = {
        name: mapping["ProvisionedPollerConfig"]["MinimumPollers"]
        for _, name, mapping in _feeds(large_stack)
        if "ProvisionedPollerConfig" in mapping
    }
    assert pollers == {"execute-high": 11, "execute-normal": 7, "execute-low": 2}


def _who_changes_mappings(stack: Synthesized) -> dict[str, Any]:
    """Return the functions that may change event source mappings, and the mappings of each."""
    found = {name: _resources(stack, name, "lambda:UpdateEventSourceMapping") for name in stack.functions()}
    return {name: resources for name, resources in found.items() if resources}


def test_only_the_scan_may_change_mappings_and_only_those_of_executors_where_pollers_are_raised(
    large_stack: Synthesized, tmp_path: Path
) -> None:
    assert _who_changes_mappings(large_stack) == {}
    stack = synthesized(tmp_path, "large", raised_pollers=40)
    ((function, resources),) = _who_changes_mappings(stack).items()
    assert function == "scan"
    mappings = re.findall(r'"Ref": "(\w*feed\w*)"|"Fn::GetAtt": \["(\w*feed\w*)"', json.dumps(resources))
    fed = [stack.resolve(stack.resolve({"Ref": "".join(one)})["FunctionName"])["FunctionName"] for one in mappings]
    assert sorted(fed) == [f"Timeball-execute-{priority}" for priority in ("high", "low", "normal")]
    told = stack.functions()["scan"]["Environment"]["Variables"]["TIMEBALL_PROVISIONED"]["Fn::Join"][1]
    assert [one for one in told if isinstance(one, str)] == ["high:", ":11:45:24,normal:", ":7:26:14,low:", ":2:3:2"]


def test_concurrency_is_reserved_for_the_essential_functions_if_a_setting_asks_for_it(
    stack: Synthesized, large_stack: Synthesized
) -> None:
    assert not any("ReservedConcurrentExecutions" in function for function in stack.functions().values())
    reserved = {
        name: function["ReservedConcurrentExecutions"]
        for name, function in large_stack.functions().items()
        if "ReservedConcurrentExecutions" in function
    }
    assert reserved == {"api": 40, "authorize": 40, "scan": 40}


def test_a_function_whose_messages_may_come_back_to_it_is_not_stopped_by_loop_detection(stack: Synthesized) -> None:
    fed = {queue: name for queue, name, _ in _feeds(stack)}
    after: dict[str, set[str]] = {}
    for name in stack.functions():
        after[name] = {arn["Fn::GetAtt"][0] for arn in _resources(stack, name, "sqs:SendMessage")}
        if name.startswith("execute-"):  # its target may send an event
            after[name] |= {queue for queue, function in fed.items() if function == "events"}
    for queue, body in stack.resources("AWS::SQS::Queue").items():
        redrive = body["Properties"].get("RedrivePolicy")
        given_up = {redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]} if redrive else set()
        after[queue] = given_up | ({fed[queue]} if queue in fed else set())

    loops = {name for name in stack.functions() if name in _reached(after, name)}
    assert {"execute-high", "watch"} <= loops
    allowed = {name for name, function in stack.functions().items() if function.get("RecursiveLoop") == "Allow"}
    assert allowed == loops


def _reached(after: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    ahead = set(after[start])
    while ahead:
        reached |= ahead
        ahead = {following for one in ahead for following in after[one]} - reached
    return reached


@pytest.mark.parametrize(
    ("function", "module"),
    [
        ("api", "functions.api"),
        ("authorize", "functions.authorize"),
        ("scan", "functions.scan"),
        ("execute-high", "functions.execute"),
        ("execute-normal", "functions.execute"),
        ("execute-low", "functions.execute"),
        ("watch", "functions.watch"),
        ("events", "functions.events"),
    ],
)
def test_a_function_may_query_exactly_what_its_code_queries(function: str, module: str, stack: Synthesized) -> None:
    graph = grimp.build_graph("timeball", "functions")
    used = {module, *graph.find_upstream_modules(module)}
    text = "".join(_source(name) for name in used if re.match(r"functions|timeball\.engine", name))
    asked = set[str]().union(
        *(ASKED[name] for name in re.findall(r"store\.([a-z]+\.[a-z_]+)\(", text) if name in ASKED)
    )
    arns = map(json.dumps, _resources(stack, function, "dynamodb:Query"))
    assert {(re.findall(r"/index/(\w+)", arn) or ["table"])[0] for arn in arns} == asked


def test_only_executors_read_secrets_and_only_those_of_tenants(stack: Synthesized) -> None:
    may = {name: _resources(stack, name, "secretsmanager:GetSecretValue") for name in stack.functions()}
    arns = {name: [arn["Fn::Join"][1][-1] for arn in found] for name, found in may.items() if found}
    assert arns == {f"execute-{priority}": [":secret:timeball/*"] for priority in ("high", "normal", "low")}


def _source(module: str) -> str:
    found = importlib.util.find_spec(module)
    assert found
    assert found.origin
    return Path(found.origin).read_text(encoding="utf-8")


def test_an_attached_table_is_neither_created_nor_changed(attached_stack: Synthesized) -> None:
    assert not [
        body for body in attached_stack.template["Resources"].values() if body["Type"].startswith("AWS::DynamoDB")
    ]
    outputs = attached_stack.template["Outputs"]
    assert (outputs["JobsTable"]["Value"], outputs["TenantsTable"]["Value"]) == ("jobs-of-may", "tenants-of-may")


def test_functions_use_the_attached_table_with_its_indexes(attached_stack: Synthesized) -> None:
    for name, function in attached_stack.functions().items():
        told = function["Environment"]["Variables"]
        tables = [] if name in {"authorize", "console", "deployment", "first-key-maker"} else ["jobs-of-may"]
        weighs = name == "scan" or name.startswith("execute-")
        tables += ["tenants-of-may"] if weighs or name in {"admin", "authorize", "first-key-maker"} else []
        assert [value for key, value in told.items() if key.endswith("_TABLE")] == tables
    for name, action, tables in (
        (
            "scan",
            "dynamodb:Query",
            ["jobs-of-may", *(f"jobs-of-may/index/{one}" for one in ("by_state", "by_task", "due", "listing"))],
        ),
        (
            "api",
            "dynamodb:Query",
            [
                "jobs-of-may",
                *(f"jobs-of-may/index/{one}" for one in ("by_state", "by_task", "due", "listing", "notable")),
            ],
        ),
        ("execute-low", "dynamodb:UpdateItem", ["jobs-of-may"]),
        ("authorize", "dynamodb:BatchGetItem", ["tenants-of-may"]),
        (
            "admin",
            "dynamodb:Query",
            [
                "tenants-of-may",
                "jobs-of-may",
                *(f"jobs-of-may/index/{one}" for one in ("by_state", "due", "listing", "notable")),
            ],
        ),
    ):
        ends = [arn["Fn::Join"][1][-1] for arn in _resources(attached_stack, name, action)]
        assert ends == [f":table/{table}" for table in tables]


def test_no_arn_names_a_single_partition(
    stack: Synthesized, large_stack: Synthesized, attached_stack: Synthesized
) -> None:
    for one in (stack, large_stack, attached_stack):
        assert "arn:aws:" not in one.path.read_text()
    assert "arn:aws" not in DEFINITION.read_text()


def test_tables_are_warm_for_the_rate_of_their_stage(stack: Synthesized, large_stack: Synthesized) -> None:
    assert "WarmThroughput" not in json.dumps(stack.template)
    tables = [body["Properties"] for body in large_stack.resources("AWS::DynamoDB::GlobalTable").values()]
    jobs = next(table for table in tables if "GlobalSecondaryIndexes" in table)
    warm = {index["IndexName"]: index["WarmThroughput"] for index in jobs["GlobalSecondaryIndexes"]}
    # 10,000 runs a second: of a run's 6 write units 4 are the table's and 2 the due index's, warm for twice that.
    assert jobs["WarmThroughput"] == {"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 40_000}
    assert warm == {
        name: {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": writes}
        for name, writes in {
            "due": 40_000,
            "listing": 10_000,
            "by_state": 20_000,
            "by_task": 10_000,
            "notable": 10_000,
        }.items()
    }
    (tenants,) = (table for table in tables if table is not jobs)
    assert "WarmThroughput" not in tenants
