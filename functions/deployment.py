"""Two custom resources of a deployment: a check before any other change, and a record after all have succeeded.

The check compares the stage and the shards with the record of the last successful deployment in the jobs table. So a
roll-back passes the check, because a failed deployment is not recorded. Tables are protected at the end for the same
reason: CloudFormation could not delete a protected table when it rolls back a first deployment.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any, Final

from functions.custom_resources import RefusedError, answered, when_ready
from timeball.aws.deployments import Deployments, table_of
from timeball.aws.request_retries import PATIENT, Timed, in_time
from timeball.domain.deployment import Deployment, refusal, too_few_at_once
from timeball.setting import unsupported

log = logging.getLogger()
log.setLevel(logging.INFO)

CHECK: Final = "Custom::TimeballCheck"


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> None:  # noqa: ARG001 - in_time asks it
    """Check a deployment before it begins, or record it after it has succeeded; a removal needs neither."""
    properties = event["ResourceProperties"]
    is_check = event["ResourceType"] == CHECK

    def act() -> None:
        if event["RequestType"] == "Delete":
            return
        if is_check:
            when_ready(lambda: _check(event["StackId"], properties))
        else:
            when_ready(lambda: _settle(properties))

    failed = "The deployment was not checked" if is_check else "The deployment was not kept"
    answered(event, event["LogicalResourceId"], failed, act)


def _check(stack: str, properties: Mapping[str, Any]) -> None:
    if sentence := unsupported(os.environ["AWS_REGION"]):
        raise RefusedError(sentence)
    import boto3  # noqa: PLC0415 - slow, and a removal does not need it

    config = PATIENT.config()
    needed = int(properties["atOnce"])
    if needed:
        limit = boto3.client("lambda", config=config).get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
        if sentence := too_few_at_once(limit, needed):
            raise RefusedError(sentence)
    table = properties["table"] or table_of(
        boto3.client("cloudformation", config=config), stack, properties["logicalId"]
    )
    if table is not None:
        check(Deployments(boto3.client("dynamodb", config=config), table), properties)


def check(deployments: Deployments, properties: Mapping[str, Any]) -> None:
    """Check a deployment, and make scans include all shards that it will use. Raises RefusedError."""
    asked = Deployment.read(properties)
    kept, used_shards = deployments.kept(), deployments.used_shards()
    if sentence := refusal(kept, used_shards, asked, properties["confirm"]):
        raise RefusedError(sentence)
    deployments.use_shards(max(used_shards, asked.shards, kept.shards if kept else 0))


def _settle(properties: Mapping[str, Any]) -> None:
    import boto3  # noqa: PLC0415 - slow, and a removal does not need it

    client = boto3.client("dynamodb", config=PATIENT.config())
    for table in properties["protected"]:
        Deployments(client, table).protect()
    settle(Deployments(client, properties["table"]), properties)


def settle(deployments: Deployments, properties: Mapping[str, Any]) -> None:
    """Record a successful deployment; the next deployment is compared with it."""
    settled = Deployment.read(properties)
    deployments.use_shards(settled.shards)
    deployments.keep(settled)
