"""The HTTPS API: one function behind all routes but the admins', and the authorizer that finds a key's tenant."""

import json
from dataclasses import replace
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.bus import MAKE_RULES, Bus
from infra.functions import FunctionBounds, FunctionMaker, allow, make_log
from infra.queues import Queues
from infra.rollout import live, live_arn, live_name
from infra.settings import Settings
from infra.storage import FIND, ROWS, Storage
from timeball.aws.dynamodb.table import schema
from timeball.aws.dynamodb.table.schema import SESSIONS

_ANSWER_WITHIN = Duration.seconds(29)
"""API Gateway gives up after 30 seconds; a function that ends earlier can still answer what happened."""

_OF_ADMINS: Final = ("/v1/admin/{proxy+}", "/v1/me", "/v1/sessions", "/v1/sessions/{proxy+}")
"""The paths that need the tenants table, which only the function for admins has."""

_ACCESS_LOG: Final = {
    "requestId": "$context.requestId",
    "address": "$context.identity.sourceIp",
    "tenant": "$context.authorizer.tenant",
    "keyId": "$context.authorizer.keyId",
    "refused": "$context.authorizer.refused",
    "caller": "$context.identity.userArn",
    "route": "$context.routeKey",
    "status": "$context.status",
    "latencyMs": "$context.responseLatency",
    "authorizerError": "$context.authorizer.error",
    "integrationError": "$context.integrationErrorMessage",
}
"""For an invalid key it has the reason. Keys, paths with ids and bodies are never logged."""


class Api(Construct):
    """The API and its two functions; a third function serves admins."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings) -> None:
        """Make the API without any route, so that functions may be told its address."""
        super().__init__(scope, construct_id)
        self._settings = settings
        self.http = apigateway.HttpApi(self, "Http", api_name=settings.name, create_default_stage=False)
        self.url = self.http.api_endpoint
        stage = self.http.add_stage(
            "Stage",
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=settings.api_requests_per_second, burst_limit=settings.api_burst
            ),
        )
        log = make_log(self, "access-log", f"/aws/apigateway/{settings.name}", settings)
        definition = stage.node.default_child
        if not isinstance(definition, apigateway.CfnStage):
            raise TypeError("the stage of an HTTP API is no longer a CfnStage")
        definition.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.log_group_arn, format=json.dumps(_ACCESS_LOG)
        )
        self.stage = definition

    def serve(self, maker: FunctionMaker, storage: Storage, queues: Queues, admin: lambda_.IFunction, bus: Bus) -> None:
        """Make the API's function, the authorizer, and all routes to the API."""
        settings = self._settings
        self.function = replace(maker, environment={**maker.environment, **bus.environment}).make(
            self,
            "api",
            "api",
            about="Answers every request",
            bounds=FunctionBounds(
                _ANSWER_WITHIN,
                memory_mb=1024,
                reserved=settings.reserved_concurrency,
                why="API Gateway gives up after 30 s; more memory is more processor time, so cold starts end sooner",
            ),
        )
        allow(self.function, ROWS, [storage.jobs.table_arn])
        searched = (schema.LISTING, schema.BY_STATE, schema.BY_TASK, schema.NOTABLE, schema.DUE)
        allow(self.function, FIND, storage.jobs_by(*searched))
        allow(self.function, ["sqs:SendMessage"], queues.sent_to)
        # It puts events onto the bus, and manages the rules for the patterns of jobs.
        allow(self.function, ["events:PutEvents"], [bus.arn])
        bus.let_change_rules(self.function, MAKE_RULES)
        bus.let_put_targets(self.function)
        allow(self.function, ["events:ListRules"], [bus.arn, bus.rules_arn])
        # Statistics include the depths of the queues.
        allow(self.function, ["sqs:GetQueueAttributes"], [feed.queue.queue_arn for feed in queues.by_priority.values()])

        keys = {
            "TIMEBALL_TENANTS_TABLE": storage.tenants.table_name,
            "TIMEBALL_REQUESTS_PER_SECOND": str(settings.functions.rules.requests_per_second),
        }
        authorize = replace(maker, environment=keys).make(
            self,
            "authorize",
            "authorize",
            about="Finds the tenant of a key",
            bounds=FunctionBounds(
                Duration.seconds(10),
                memory_mb=512,
                reserved=settings.reserved_concurrency,
                why="One read of two rows, retried within seconds; every request waits for it",
            ),
        )
        allow(authorize, ["dynamodb:BatchGetItem"], [storage.tenants.table_arn])
        # It notes that a session is used, and may write no row of a key or a tenant.
        sessions = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{SESSIONS}*"]}}
        allow(authorize, ["dynamodb:UpdateItem"], [storage.tenants.table_arn], sessions)

        http = self.http
        integration = integrations.HttpLambdaIntegration("Integration", live(self.function, settings))
        health = http.add_routes(path="/healthz", methods=[apigateway.HttpMethod.GET], integration=integration)
        acknowledge(
            health[0], "APIG4", "Any caller may learn whether the service is up; the answer contains nothing else"
        )
        authorizer = _authorizer(live(authorize, settings))
        for path in ("/", "/{proxy+}"):
            http.add_routes(path=path, integration=integration, authorizer=authorizer)
        if settings.functions.iam_callers:
            signed = authorizers.HttpIamAuthorizer()
            http.add_routes(path="/iam/{proxy+}", integration=integration, authorizer=signed)
        admins = integrations.HttpLambdaIntegration("AdminIntegration", admin)
        for path in _OF_ADMINS:
            http.add_routes(path=path, integration=admins, authorizer=authorizer)

    def grant_trials(self, executor: str) -> None:
        """Let the API's function invoke an executor for trials: it calls no target itself."""
        self.function.add_environment("TIMEBALL_TRIALS", live_name(self._settings, executor))
        allow(self.function, ["lambda:InvokeFunction"], [live_arn(self, self._settings, executor)])


def _authorizer(function: lambda_.IFunction) -> authorizers.HttpLambdaAuthorizer:
    """Send every request to the authorizer function, and hand its result on with the request.

    With an identity source, API Gateway itself would answer a request without a key, and after a refusal a request with
    a wrong key, both with a bare `{"message": …}`. So there is no identity source: the function admits all requests but
    floods, and hands on `{tenant, keyId, role}` or why a key is invalid; the API function, which denies by default,
    refuses in the form of its other errors. Answers are not cached: without a key to cache them under, an answer would
    apply to the next caller.
    """
    return authorizers.HttpLambdaAuthorizer(
        "Authorizer",
        function,
        response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
        identity_source=[],
        results_cache_ttl=Duration.seconds(0),
    )
