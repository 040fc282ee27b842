"""The only way to make a Lambda function, and to give it permissions.

Each function has a role that can write to its own log and nothing else, until its construct allows a named action on a
named resource.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.egress import Network, let_join
from infra.encryption import encrypt
from infra.settings import Settings
from infra.target import Target
from infra.why import explain


@dataclass(frozen=True)
class FunctionBounds:
    """The resources that a function gets, and why."""

    timeout: Duration
    """The longest time for a call."""
    memory_mb: int
    """The memory in MB."""
    why: str
    """The reason for these numbers."""
    reserved: int = 0
    """Reserved executions, which are also its most; 0: it shares the account's with all other functions."""
    loops: bool = False
    """Whether it may send to a queue that feeds it; unless allowed, AWS stops such a loop after some 16 rounds."""
    quiet: bool = False
    """Whether the platform's log line for each call is off: at one call a second it costs more than the calls."""
    network: Network | None = None
    """The network that its calls leave from; None: AWS's own."""


@dataclass(frozen=True)
class FunctionMaker:
    """The properties that all functions share."""

    settings: Settings
    target: Target
    code: lambda_.Code
    dependencies: lambda_.ILayerVersion | None
    environment: Mapping[str, str]

    def make(self, scope: Construct, name: str, module: str, *, about: str, bounds: FunctionBounds) -> lambda_.Function:
        """Make the function `<stack>-<name>` of the module `functions.<module>`, with its own log and role."""
        full_name = f"{self.settings.name}-{name}"
        log = make_log(scope, f"{name}-log", f"/aws/lambda/{full_name}", self.settings)
        role = iam.Role(scope, f"{name}-role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log.grant_write(role)
        network = bounds.network
        if network is not None:
            let_join(role, scope)
        function = lambda_.Function(
            scope,
            name,
            function_name=full_name,
            description=about,
            runtime=self.target.runtime,
            architecture=self.target.architecture,
            code=self.code,
            handler=f"functions.{module}.handler",
            layers=[self.dependencies] if self.dependencies else None,
            timeout=bounds.timeout,
            memory_size=bounds.memory_mb,
            reserved_concurrent_executions=bounds.reserved or None,
            # An executor of the version before may have fifteen minutes to go, and a person may go back to it.
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE),
            recursive_loop=lambda_.RecursiveLoop.ALLOW if bounds.loops else None,
            role=role,
            log_group=log,
            logging_format=lambda_.LoggingFormat.JSON,
            system_log_level_v2=lambda_.SystemLogLevel.WARN if bounds.quiet else None,
            tracing=lambda_.Tracing.DISABLED,
            vpc=network.vpc if network else None,
            vpc_subnets=network.subnets if network else None,
            security_groups=[network.group] if network else None,
            environment={
                **self.environment,
                "POWERTOOLS_SERVICE_NAME": name,
                "POWERTOOLS_METRICS_NAMESPACE": self.settings.name,
                # Time zones come from the pinned package, not from the image of the runtime.
                "PYTHONTZPATH": "",
            },
        )
        acknowledge(function, "L1", "A newer runtime is adopted when every pinned package has wheels for it")
        explain(function, bounds.why)
        return function


def make_log(scope: Construct, construct_id: str, name: str, settings: Settings) -> logs.LogGroup:
    """Make a log group with the retention of the settings, which is deleted with its stack."""
    log = logs.LogGroup(scope, construct_id, log_group_name=name, removal_policy=RemovalPolicy.DESTROY)
    definition = log.node.default_child
    if not isinstance(definition, logs.CfnLogGroup):
        raise TypeError("a log group is no longer a CfnLogGroup")
    definition.retention_in_days = settings.log_retention_days
    encrypt(log, settings)
    return log


def allow(
    principal: iam.IGrantable,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, object] | None = None,
) -> None:
    """Allow a function or a role these actions on these resources, each by its full name."""
    principal.grant_principal.add_to_principal_policy(
        iam.PolicyStatement(actions=[*actions], resources=[*resources], conditions=conditions)
    )
