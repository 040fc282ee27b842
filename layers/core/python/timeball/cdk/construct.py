"""The construct `Timeball`: a deployed Timeball as part of another app, with the jobs that the app declares.

The construct deploys no Timeball: that is a stack of its own, whose tables outlive apps. The app names it by the
outputs of that stack, the URL of the API and the parameter with a key. The template has the name of the parameter,
never the key.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jsii
from aws_cdk import CustomResource, Duration, IStableStringProducer, Lazy, Names, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

URL_VARIABLE: Final = "TIMEBALL_URL"
"""The variable with the URL of the API, for functions that submit."""
KEY_PARAMETER_VARIABLE: Final = "TIMEBALL_KEY_PARAMETER"
"""The variable with the name of the parameter that has their key."""
_CODE: Final = Path(__file__).parent / "put_jobs"
_LONGEST_ID: Final = 64
_SERVICE_MINUTES: Final = 10

_TARGETS: Final = {
    "function_arn": ("lambda", "functionArn"),
    "queue_arn": ("sqs", "queueArn"),
    "topic_arn": ("sns", "topicArn"),
    "state_machine_arn": ("stepFunctions", "stateMachineArn"),
}
"""The attribute that tells what a resource is, with the type of the target and its field."""

CalledResource = lambda_.IFunction | sqs.IQueue | sns.ITopic | sfn.IStateMachine
"""The resources that a job of the app can call."""


class Timeball(Construct):
    """A deployed Timeball, and the jobs of this app."""

    def __init__(
        self, scope: Construct, construct_id: str, *, url: str, key_parameter: str, prefix: str | None = None
    ) -> None:
        """Refer to a deployed Timeball.

        `url` is its output `ApiUrl`. `key_parameter` is the name of an encrypted parameter of Systems Manager with a
        key that may write jobs: an operator's, or the output `FirstKeyParameter`. The ids of the jobs begin with
        `prefix`; by default that is the name of the stack and a hyphen.
        """
        super().__init__(scope, construct_id)
        self.url = url
        self.key_parameter = key_parameter
        self._prefix = f"{Stack.of(self).stack_name}-" if prefix is None else prefix
        self._jobs: dict[str, dict[str, Any]] = {}
        self._resource: CustomResource | None = None
        self._called: list[IConstruct] = []

    def add_job(self, name: str, job: Mapping[str, Any]) -> str:
        """Declare a job, with the fields of `PUT /v1/jobs/{jobId}`, and return its id for the `dependsOn` of others.

        The job is put when the app is deployed. It is cancelled when the app no longer declares it, or is removed.
        Declare a job after those that it depends on. Raises ValueError for an id that is used twice or too long.
        """
        job_id = f"{self._prefix}{name}"
        if job_id in self._jobs:
            raise ValueError(f"The job {job_id} is declared twice; give each job a name of its own.")
        if len(job_id) > _LONGEST_ID:
            raise ValueError(f"The id {job_id} has more than {_LONGEST_ID} characters; give a shorter name or prefix.")
        self._jobs[job_id] = dict(job)
        if self._resource is None:
            self._resource = self._make_resource()
            self._resource.node.add_dependency(*self._called)
        return job_id

    def add_target(self, called: CalledResource) -> dict[str, Any]:
        """Return the `target` of jobs that call a function, a queue, a topic or a state machine of this app.

        The jobs are put after it is made. The deployed Timeball must list its ARN in the setting `timeball:targets`;
        otherwise the deployment of the app ends with a sentence that says so.
        """
        self._called.append(called)
        if self._resource is not None:
            self._resource.node.add_dependency(called)
        for attribute, (kind, field) in _TARGETS.items():
            if hasattr(called, attribute):
                return {"type": kind, field: getattr(called, attribute)}
        raise TypeError("A target is a function, a queue, a topic or a state machine.")

    def grant_submit(self, function: lambda_.Function, key_parameter: str | None = None) -> iam.Grant:
        """Let a function submit jobs: it may read the parameter with the key, and has the URL and the parameter's name.

        `key_parameter` is another parameter, with a key of fewer rights; default: that of the construct.
        """
        parameter = key_parameter or self.key_parameter
        function.add_environment(URL_VARIABLE, self.url)
        function.add_environment(KEY_PARAMETER_VARIABLE, parameter)
        return iam.Grant.add_to_principal(
            grantee=function, actions=["ssm:GetParameter"], resource_arns=[self._arn_of(parameter)]
        )

    def _arn_of(self, parameter: str) -> str:
        return Stack.of(self).format_arn(service="ssm", resource="parameter", resource_name=parameter.removeprefix("/"))

    def _make_resource(self) -> CustomResource:
        log = logs.LogGroup(self, "log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY)
        function = lambda_.Function(
            self,
            "put-jobs",
            description="Puts the jobs that this app declares, and cancels those that it no longer declares",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            code=lambda_.Code.from_asset(str(_CODE), exclude=["__pycache__", "__init__.py"]),
            handler="index.handler",
            timeout=Duration.minutes(5),
            memory_size=256,
            log_group=log,
        )
        # A policy for each parameter: when another one is named, the jobs at the former are cancelled with its key, and
        # CloudFormation removes the former policy after that.
        named = json.dumps(Stack.of(self).resolve(self.key_parameter), sort_keys=True)
        reading = iam.PolicyStatement(actions=["ssm:GetParameter"], resources=[self._arn_of(self.key_parameter)])
        read = iam.Policy(self, f"read-{hashlib.sha256(named.encode()).hexdigest()[:12]}", statements=[reading])
        if function.role is not None:
            read.attach_to_role(function.role)
        resource = CustomResource(
            self,
            "jobs",
            resource_type="Custom::TimeballJobs",
            service_token=function.function_arn,
            service_timeout=Duration.minutes(_SERVICE_MINUTES),
            properties={
                "url": self.url,
                "keyParameter": self.key_parameter,
                # The jobs' fields as text: CloudFormation would make texts of their numbers.
                "jobs": Lazy.string(_Written(self)),
                "owner": Names.unique_id(self),
            },
        )
        resource.node.add_dependency(read)
        return resource

    @property
    def declared(self) -> Mapping[str, Mapping[str, Any]]:
        """The jobs that are declared so far, by their ids."""
        return self._jobs


@jsii.implements(IStableStringProducer)
class _Written:
    """Writes the jobs as JSON when the template is made, after the last of them was declared.

    CloudFormation fills in the references to resources.
    """

    def __init__(self, timeball: Timeball) -> None:
        self._timeball = timeball

    def produce(self) -> str:
        return Stack.of(self._timeball).to_json_string(self._timeball.declared)
