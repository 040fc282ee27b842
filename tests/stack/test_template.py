"""Properties that the template must have, whatever else changes in it."""

import json
import re
from pathlib import Path
from typing import Any

from infra.settings import Settings
from infra.ticker import DEFINITION
from tests.stack.conftest import Synthesized, synthesized
from tests.stack.functions import short_name
from timeball.aws.dynamodb.table import schema
from timeball.runtime.settings import Environment


def test_the_tables_are_those_of_the_schema(stack: Synthesized) -> None:
    tables = stack.resources("AWS::DynamoDB::GlobalTable").values()
    assert len(tables) == len(schema.TABLES)
    jobs = next(table["Properties"] for table in tables if "GlobalSecondaryIndexes" in table["Properties"])
    assert [key["AttributeName"] for key in jobs["KeySchema"]] == ["pk", "sk"]
    assert jobs["TimeToLiveSpecification"] == {"AttributeName": schema.JOBS.ttl, "Enabled": True}
    for index, defined in zip(jobs["GlobalSecondaryIndexes"], schema.JOBS.indexes, strict=True):
        assert index["IndexName"] == defined.name
        assert [key["AttributeName"] for key in index["KeySchema"]] == [
            defined.partition.name,
            defined.sort.name,
        ]
        assert index["Projection"] == {"ProjectionType": defined.projection}


def test_an_account_keeps_its_data_and_the_emulator_does_not(stack: Synthesized, local_stack: Synthesized) -> None:
    policies = (stack, ("RetainExceptOnCreate", "Retain"), True), (local_stack, ("Delete", "Delete"), False)
    for template, policy, kept in policies:
        for table in template.resources("AWS::DynamoDB::GlobalTable").values():
            assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == policy
            replica = table["Properties"]["Replicas"][0]
            assert replica["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is kept


def test_each_queue_keeps_its_messages_for_fourteen_days(stack: Synthesized) -> None:
    queues = stack.resources("AWS::SQS::Queue").values()
    assert {queue["Properties"]["MessageRetentionPeriod"] for queue in queues} == {14 * 24 * 3600}


def test_messages_that_priorities_give_up_on_go_to_the_watch_queue_which_accepts_no_others(stack: Synthesized) -> None:
    queues = [queue["Properties"] for queue in stack.resources("AWS::SQS::Queue").values()]
    sources = [queue for queue in queues if "RedrivePolicy" in queue and "QueueName" in queue]
    assert [queue["RedrivePolicy"]["maxReceiveCount"] for queue in sources] == [10, 10, 10]
    (dead,) = {json.dumps(queue["RedrivePolicy"]["deadLetterTargetArn"]) for queue in sources}
    allowed = stack.resolve(json.loads(dead))["RedriveAllowPolicy"]
    assert allowed["redrivePermission"] == "byQueue"
    names = [arn["Fn::Join"][1][-1].removeprefix(":") for arn in allowed["sourceQueueArns"]]
    assert names == [queue["QueueName"] for queue in sources]


def test_a_queue_can_be_reached_only_over_tls(stack: Synthesized) -> None:
    policies = json.dumps(stack.resources("AWS::SQS::QueuePolicy"))
    assert policies.count('"aws:SecureTransport": "false"') == len(stack.resources("AWS::SQS::Queue"))


def test_a_message_stays_invisible_for_as_long_as_it_is_gathered_and_its_function_may_run(stack: Synthesized) -> None:
    mappings = stack.resources("AWS::Lambda::EventSourceMapping").values()
    assert len(mappings) == 5
    for mapping in mappings:
        queue = stack.resolve(mapping["Properties"]["EventSourceArn"])
        function = stack.resolve(mapping["Properties"]["FunctionName"])
        gathered = mapping["Properties"].get("MaximumBatchingWindowInSeconds", 0)
        assert queue["VisibilityTimeout"] >= gathered + function["Timeout"]


def test_a_batch_returns_single_messages_and_only_watches_are_waited_for(stack: Synthesized) -> None:
    mappings = [mapping["Properties"] for mapping in stack.resources("AWS::Lambda::EventSourceMapping").values()]
    assert {tuple(mapping["FunctionResponseTypes"]) for mapping in mappings} == {("ReportBatchItemFailures",)}
    assert {mapping["BatchSize"] for mapping in mappings} == {10}
    gathering = [mapping for mapping in mappings if "MaximumBatchingWindowInSeconds" in mapping]
    assert [json.dumps(mapping["EventSourceArn"]).count("Watch") for mapping in gathering] == [1]


def test_all_functions_have_the_same_runtime_and_architecture(stack: Synthesized) -> None:
    functions = stack.functions()
    assert {function["Runtime"] for function in functions.values()} == {"python3.13"}
    assert {tuple(function["Architectures"]) for function in functions.values()} == {("arm64",)}
    assert {function["LoggingConfig"]["LogFormat"] for function in functions.values()} == {"JSON"}
    assert {name: (function["Handler"], function["Timeout"]) for name, function in functions.items()} == {
        "api": ("functions.api.handler", 29),
        "admin": ("functions.api.handler", 29),
        "deployment": ("functions.deployment.handler", 60),
        "first-key-maker": ("functions.first_key.handler", 120),
        "authorize": ("functions.authorize.handler", 10),
        "scan": ("functions.scan.handler", 30),
        "execute-high": ("functions.execute.handler", 900),
        "execute-normal": ("functions.execute.handler", 900),
        "execute-low": ("functions.execute.handler", 900),
        "watch": ("functions.watch.handler", 60),
        "events": ("functions.events.handler", 60),
        "console": ("functions.console.handler", 5),
    }


CONSOLE = [f"{method} /console{below}" for method in ("GET", "HEAD") for below in ("", "/{proxy+}")]


def test_each_route_but_health_and_the_console_requires_the_authorizer(stack: Synthesized) -> None:
    routes = [route["Properties"] for route in stack.resources("AWS::ApiGatewayV2::Route").values()]
    behind = {route["RouteKey"]: route.get("AuthorizationType") for route in routes}
    of_admins = ("/v1/admin/{proxy+}", "/v1/me", "/v1/sessions", "/v1/sessions/{proxy+}")
    assert behind == {
        "GET /healthz": "NONE",
        **dict.fromkeys(CONSOLE, "NONE"),
        "ANY /": "CUSTOM",
        "ANY /{proxy+}": "CUSTOM",
        **{f"ANY {path}": "CUSTOM" for path in of_admins},
    }


def test_the_route_for_signed_requests_exists_only_if_callers_are_mapped(tmp_path: Path) -> None:
    callers = "123456789012/role/billing=acme:submitter"
    stack = synthesized(tmp_path, "small", iam_callers=callers)
    routes = [route["Properties"] for route in stack.resources("AWS::ApiGatewayV2::Route").values()]
    behind = {route["RouteKey"]: route.get("AuthorizationType") for route in routes}
    assert behind["ANY /iam/{proxy+}"] == "AWS_IAM"
    told = stack.functions()["api"]["Environment"]["Variables"]
    assert told["TIMEBALL_IAM_CALLERS"] == callers


def test_the_gateway_bounds_how_many_requests_reach_a_function(stack: Synthesized, local_stack: Synthesized) -> None:
    for template, rate, burst in ((stack, 50, 100), (local_stack, 10_000, 5_000)):
        (stage,) = template.resources("AWS::ApiGatewayV2::Stage").values()
        throttle = stage["Properties"]["DefaultRouteSettings"]
        assert throttle == {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": burst}
        # A route with a bound of its own does not count towards the bound of all others.
        bound = {"ThrottlingRateLimit": 20, "ThrottlingBurstLimit": 200}
        assert stage["Properties"]["RouteSettings"] == dict.fromkeys(CONSOLE, bound)
        before = map(template.resource, stage["DependsOn"])
        assert set(CONSOLE) <= {one["Properties"].get("RouteKey") for one in before}


def test_the_console_has_its_files_and_nothing_else(stack: Synthesized) -> None:
    functions = stack.functions()
    assert "Layers" not in functions["console"]
    assert functions["console"]["Code"] != functions["api"]["Code"]
    assert not [name for name in functions["console"]["Environment"]["Variables"] if name.startswith("TIMEBALL_")]


def test_without_a_console_there_is_no_route_and_no_function_for_it(tmp_path: Path) -> None:
    stack = synthesized(tmp_path, "small", console="off", console_url="https://ops.example/console")
    routes = [route["Properties"]["RouteKey"] for route in stack.resources("AWS::ApiGatewayV2::Route").values()]
    assert "console" not in stack.functions()
    assert not [route for route in routes if "console" in route]
    (stage,) = stack.resources("AWS::ApiGatewayV2::Stage").values()
    assert "RouteSettings" not in stage["Properties"]
    assert not any(one["Environment"]["Variables"].get("TIMEBALL_CONSOLE") for one in stack.functions().values())


def test_functions_know_where_the_console_is(stack: Synthesized, local_stack: Synthesized) -> None:
    for name in ("api", "admin", "scan", "execute-low", "watch"):
        told = stack.functions()[name]["Environment"]["Variables"]
        assert short_name(told["TIMEBALL_CONSOLE"]["Fn::Join"][1][0]) == "Http"
        assert told["TIMEBALL_CONSOLE"]["Fn::Join"][1][1] == "/console"
        assert told["TIMEBALL_CONSOLE_URL"] == ""
    told = local_stack.functions()["api"]["Environment"]["Variables"]
    endpoint, path, *_ = told["TIMEBALL_CONSOLE"]["Fn::Join"][1]
    assert (endpoint, path) == ({"Ref": "Endpoint"}, "/_aws/execute-api/")


def test_the_authorizer_sees_every_request_and_its_answers_are_not_cached(stack: Synthesized) -> None:
    (authorizer,) = stack.resources("AWS::ApiGatewayV2::Authorizer").values()
    properties = authorizer["Properties"]
    assert properties.get("IdentitySource", []) == []
    assert properties["AuthorizerResultTtlInSeconds"] == 0
    assert properties["EnableSimpleResponses"] is True
    assert properties["AuthorizerPayloadFormatVersion"] == "2.0"


def test_the_ticker_runs_the_definition_in_the_repository(stack: Synthesized) -> None:
    (machine,) = stack.resources("AWS::StepFunctions::StateMachine").values()
    assert machine["Properties"]["DefinitionString"] == DEFINITION.read_text()
    assert machine["Properties"]["StateMachineType"] == "EXPRESS"
    told = machine["Properties"]["DefinitionSubstitutions"]
    assert stack.resolve(told["ScanArn"])["Handler"] == "functions.scan.handler"
    assert told["Partition"] == {"Ref": "AWS::Partition"}


def test_the_ticker_is_started_each_minute_and_ends_before_its_limit(stack: Synthesized) -> None:
    (rule,) = stack.resources("AWS::Events::Rule").values()
    assert rule["Properties"]["ScheduleExpression"] == "rate(1 minute)"
    (target,) = rule["Properties"]["Targets"]
    start = json.loads(target["Input"])
    assert start == {"partitions": 1, "seconds": 285, "standby": 0}
    assert Settings.read({"timeball:takeover_seconds": "15"}).tick_input["standby"] == 120
    assert start["seconds"] < json.loads(DEFINITION.read_text())["TimeoutSeconds"] < 300


def test_events_that_the_function_gives_up_on_are_kept_in_the_queue_of_unreadable_messages(stack: Synthesized) -> None:
    (queue,) = [body for name, body in stack.resources("AWS::SQS::Queue").items() if name.startswith("QueuesEvents")]
    kept = queue["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]
    assert short_name(kept) == "Unreadable"


WITHOUT_ENGINE = {"authorize", "console", "deployment", "first-key-maker"}
BUS = {"TIMEBALL_EVENT_BUS", "TIMEBALL_EVENTS_ARN", "TIMEBALL_EVENTS_URL", "TIMEBALL_UNDELIVERED_ARN"}


class _Environment(dict[str, str]):
    """An environment that records the variables that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return default or ("a text" if re.search("TABLE|QUEUE", name) else None)


def test_each_function_has_exactly_the_variables_that_it_reads(stack: Synthesized) -> None:
    variables = _Environment()
    Environment.read(variables)
    for name, function in stack.functions().items():
        told = {variable for variable in function["Environment"]["Variables"] if variable.startswith("TIMEBALL_")}
        has_tenants = name in {"admin", "authorize", "first-key-maker", "scan"} or name.startswith("execute-")
        keys = {"TIMEBALL_TENANTS_TABLE"} if has_tenants else set()
        keys |= BUS if name in {"api", "events"} else set()
        keys |= {"TIMEBALL_SUCCESSOR", "TIMEBALL_SUCCESSOR_PERCENT"} if name.startswith("execute-") else set()
        keys |= {"TIMEBALL_TRIALS"} if name == "api" else set()
        keys |= {"TIMEBALL_REQUESTS_PER_SECOND"} if name == "authorize" else set()
        assert told == keys | (set() if name in WITHOUT_ENGINE else variables.asked)


def test_name_look_ups_of_executors_time_out_after_two_seconds(stack: Synthesized) -> None:
    # glibc reads this at its start; without it an unanswered look-up takes ten seconds, or twenty.
    told = {name: body["Environment"]["Variables"].get("RES_OPTIONS") for name, body in stack.functions().items()}
    assert {name for name, options in told.items() if options} == {"execute-high", "execute-normal", "execute-low"}
    assert told["execute-low"] == "timeout:1 attempts:2"


def test_the_outputs_have_everything_that_a_client_or_a_test_needs(stack: Synthesized) -> None:
    queues = {"HighQueue", "NormalQueue", "LowQueue", "WatchQueue", "EventsQueue", "UnreadableQueue"}
    assert stack.template["Outputs"].keys() == {
        "ApiUrl",
        "EventBus",
        "FirstKeyParameter",
        "JobsTable",
        "TenantsTable",
        "TickerArn",
        *queues,
    }


def test_the_access_log_has_the_address_and_the_key_id_of_each_request_and_never_the_key(
    stack: Synthesized,
) -> None:
    (stage,) = stack.resources("AWS::ApiGatewayV2::Stage").values()
    logged = json.loads(stage["Properties"]["AccessLogSettings"]["Format"])
    assert logged["address"] == "$context.identity.sourceIp"
    assert (logged["tenant"], logged["keyId"]) == ("$context.authorizer.tenant", "$context.authorizer.keyId")
    assert "header" not in json.dumps(logged).lower()
