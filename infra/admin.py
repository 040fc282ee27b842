"""Tenants and keys: the one function that may make keys, and the first key, which is made with the stack."""

from dataclasses import replace

from aws_cdk import CustomResource, Duration
from constructs import Construct

from infra.functions import Bounds, FunctionMaker, allow
from infra.secret import make_secret
from infra.storage import FIND, Storage
from timeball.aws.dynamodb.table import schema

_LONGEST = Duration.seconds(29)


class Admin(Construct):
    """The API's code once more, for the paths of admins alone, and with the tenants table.

    So the function that everybody's requests reach may write jobs, and make no keys.
    """

    def __init__(self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        table = {"TIMEBALL_TENANTS_TABLE": storage.tenants.table_name}
        self.function = replace(maker, environment={**maker.environment, **table}).make(
            self,
            "admin",
            "api.app",
            about="Answers admins: tenants and keys",
            bounds=Bounds(
                _LONGEST,
                memory_mb=1024,
                why="As the API's, but seldom asked: it alone may make keys",
            ),
        )
        rows = ["dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        allow(self.function, [*rows, *FIND], [storage.tenants.table_arn])
        # What it does is told in the audit log, and a tenant is stopped by a row of its freezes.
        allow(self.function, rows, [storage.jobs.table_arn])
        # It tells how many jobs a tenant has, and what it has cost, by the hour.
        allow(self.function, FIND, storage.jobs_by(schema.LISTING, schema.BY_STATE))

        self.first_key = make_secret(
            self,
            "first-key",
            maker.settings,
            about="The first admin key of Timeball's operating tenant",
            unrotated="It opens an API and no database; an admin rotates it over that API",
        )
        make = replace(maker, environment=table).make(
            self,
            "first-key-maker",
            "first_key",
            about="Makes the first admin key, once, when the stack is made",
            bounds=Bounds(
                Duration.seconds(60), memory_mb=256, why="Three requests and an answer to CloudFormation, once"
            ),
        )
        allow(make, ["dynamodb:PutItem"], [storage.tenants.table_arn])
        allow(make, ["secretsmanager:PutSecretValue"], [self.first_key])
        CustomResource(
            self,
            "first-key-made",
            resource_type="Custom::TimeballFirstKey",
            service_token=make.function_arn,
            service_timeout=Duration.minutes(5),
            properties={"tenant": maker.settings.functions.operating_tenant, "secret": self.first_key},
        )
