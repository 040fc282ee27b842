"""A gradual rollout: callers name a function's alias, and CodeDeploy moves the alias to the new version in two steps.

For ten minutes a tenth of the calls go to the new version, then all. An alarm moves them back, and the deployment
fails, so CloudFormation restores all else. No function waits for the alias of another one: all move at the same time
(docs/adr/0052-gradual-rollouts-on-demand.md).
"""

from collections.abc import Mapping
from typing import Final

from aws_cdk import ArnFormat, CfnResource, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.alarm_settings import listed
from infra.functions import allow
from infra.rollout_settings import ERRORS, GRADUAL
from infra.settings import Settings

_ALIAS: Final = "live"


def live(function: lambda_.Function, settings: Settings) -> lambda_.IFunction:
    """Return how others call a function: by its alias if rollouts are gradual, otherwise as it is."""
    if settings.rolling.rollout != GRADUAL:
        return function
    return lambda_.Alias(function, _ALIAS, alias_name=_ALIAS, version=function.current_version)


def live_name(settings: Settings, name: str) -> str:
    """Return the name by which a function is called, as text: a reference would make the caller wait for the alias."""
    suffix = f":{_ALIAS}" if settings.rolling.rollout == GRADUAL else ""
    return f"{settings.name}-{name}{suffix}"


def live_arn(scope: Construct, settings: Settings, name: str) -> str:
    """Return the ARN by which a function is called, without a reference; a function's own right has no other way."""
    return Stack.of(scope).format_arn(
        service="lambda",
        resource="function",
        resource_name=live_name(settings, name),
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )


class Rollout(Construct):
    """CodeDeploy's application, with a group for the alias of each function, and an alarm on its errors."""

    def __init__(
        self, scope: Construct, construct_id: str, settings: Settings, alarms: Mapping[str, cloudwatch.AlarmBase]
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings = settings
        wanted = listed(settings.rolling.rollback_alarms)
        common = [alarms[name] for name in wanted if name != ERRORS]
        aliases = [one for one in Stack.of(self).node.find_all() if isinstance(one, lambda_.Alias)]
        self._application = codedeploy.LambdaApplication(self, "Application", application_name=settings.name)
        names = [_name_of(alias, settings) for alias in aliases]
        self._role = self._make_role(names)
        for alias, name in zip(aliases, names, strict=True):
            self._move(alias, name, [*common, *([self._errors(name)] if ERRORS in wanted else [])])

    def _make_role(self, names: list[str]) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"))
        arns = [live_arn(self, self._settings, name) for name in names]
        allow(role, ["lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"], arns)
        allow(role, ["cloudwatch:DescribeAlarms"], ["*"])
        acknowledge(role, "IAM5[Resource::*]", "CodeDeploy asks for alarms by a list of names; it only reads them")
        return role

    def _errors(self, name: str) -> cloudwatch.Alarm:
        full, called = f"{self._settings.name}-{name}", live_name(self._settings, name)
        metric = cloudwatch.Metric(
            namespace="AWS/Lambda",
            metric_name="Errors",
            statistic="Sum",
            period=Duration.minutes(1),
            dimensions_map={"FunctionName": full, "Resource": called},
        )
        return metric.create_alarm(
            self,
            f"{name}-errors",
            alarm_name=f"{full}-errors",
            alarm_description=f"Rolls a deployment back: calls of {full} fail. See docs/how-to/upgrade.md",
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            threshold=1,
            datapoints_to_alarm=2,
            evaluation_periods=3,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _move(self, alias: lambda_.Alias, name: str, alarms: list[cloudwatch.AlarmBase]) -> None:
        group = codedeploy.LambdaDeploymentGroup(
            self,
            name,
            application=self._application,
            alias=alias,
            # The CDK would add a policy of AWS's that allows more.
            role=self._role.without_policy_updates(),
            deployment_config=codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_10_MINUTES,
            alarms=alarms,
            auto_rollback=codedeploy.AutoRollbackConfig(
                deployment_in_alarm=bool(alarms), failed_deployment=True, stopped_deployment=True
            ),
        )
        group.node.add_dependency(self._role)
        # A change of the alarms holds for the deployment that makes it.
        moved = alias.node.default_child
        if isinstance(moved, CfnResource):
            moved.node.add_dependency(group)


def _name_of(alias: lambda_.Alias, settings: Settings) -> str:
    """Return the short name of an alias's function, as text."""
    definition = alias.node.scope and alias.node.scope.node.default_child
    if not isinstance(definition, lambda_.CfnFunction):
        raise TypeError(f"{alias.node.path} is not the alias of a function")
    return str(definition.function_name).removeprefix(f"{settings.name}-")
