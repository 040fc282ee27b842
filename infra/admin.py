"""Tenants and keys: the only function that may create keys, and the first key, which the stack creates."""

from dataclasses import replace

from aws_cdk import CustomResource, Duration, Stack
from constructs import Construct

from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.rollout import live
from infra.storage import FIND, Storage
from timeball.aws.dynamodb.table import schema

_LONGEST = Duration.seconds(29)


class Admin(Construct):
    """The API's code again, for the paths of admins only, with the tenants table.

    So the function that serves all other requests may write jobs and cannot create keys.
    """

    def __init__(self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        table = {"TIMEBALL_TENANTS_TABLE": storage.tenants.table_name}
        self.function = replace(maker, environment={**maker.environment, **table}).make(
            self,
            "admin",
            "api",
            about="Answers admins, and callers who begin sessions: tenants, keys, sessions",
            bounds=FunctionBounds(
                _LONGEST,
                memory_mb=1024,
                why="As for the API, but seldom called: only this function may create keys",
            ),
        )
        self.called = live(self.function, maker.settings)
        rows = ["dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        allow(self.function, [*rows, *FIND], [storage.tenants.table_arn])
        # It records changes, stops a tenant by the row of its freezes, and begins a recovery in many tenants at once.
        allow(self.function, [*rows, "dynamodb:PartiQLInsert"], [storage.jobs.table_arn])
        # It reads how many jobs a tenant has, what the tenant has cost, by the hour, and what is late and due of it.
        allow(self.function, FIND, storage.jobs_by(schema.LISTING, schema.BY_STATE, schema.NOTABLE, schema.DUE))

        # CloudFormation makes no encrypted parameters, so the function makes it; a secret would be $0.40 a month. No
        # parameter's name may begin with `aws` or `ssm`, as a stack's name may.
        self.first_key = f"/timeball/{maker.settings.name}/first-key"
        make = replace(maker, environment=table).make(
            self,
            "first-key-maker",
            "first_key",
            about="Creates the first admin key, once, with the stack",
            bounds=FunctionBounds(
                Duration.seconds(120),
                memory_mb=256,
                why="Three requests and an answer to CloudFormation, once; it may wait half a minute each for the "
                "rights to the table and to the parameter",
            ),
        )
        allow(make, ["dynamodb:PutItem"], [storage.tenants.table_arn])
        parameter = Stack.of(self).format_arn(
            service="ssm", resource="parameter", resource_name=self.first_key.removeprefix("/")
        )
        allow(make, ["ssm:PutParameter"], [parameter])
        CustomResource(
            self,
            "first-key-made",
            resource_type="Custom::TimeballFirstKey",
            service_token=make.function_arn,
            service_timeout=Duration.minutes(5),
            properties={
                "tenant": maker.settings.functions.operating_tenant,
                "parameter": self.first_key,
                **({"encryption": maker.settings.kms_key} if maker.settings.kms_key else {}),
            },
        )
