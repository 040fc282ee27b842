"""The first admin key: CloudFormation asks for it when the stack is made, and it goes to Secrets Manager.

Invariant: whatever happens, CloudFormation is answered, for it waits; and the key stands in no answer and no log.
"""

import json
import logging
import os
import secrets
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from timeball.aws.dynamodb.collections.tenants import dynamo_tenants
from timeball.aws.patience import PATIENT, Timed, in_time
from timeball.domain.model.tenants.key import Key, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.role import Role
from timeball.domain.model.tenants.tenant import new_tenant
from timeball.ports.collections.tenants import Tenants
from timeball.runtime.clock import SystemClock

log = logging.getLogger()
log.setLevel(logging.INFO)

NAME: Final = "The first key"
_ANSWER_SECONDS: Final = 10


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> None:  # noqa: ARG001 - in_time asks it
    """Make the key when the resource is made, or when it is to be of another tenant; else do nothing."""
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": event["ResourceProperties"]["secret"],
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    try:
        if _is_wanted(event):
            _make(event["ResourceProperties"]["tenant"], event["ResourceProperties"]["secret"])
    except Exception as failure:
        log.exception("no first key")
        answer |= {"Status": "FAILED", "Reason": f"The first admin key was not made: {type(failure).__name__}."}
    url = event["ResponseURL"]  # presigned by CloudFormation, and so without any other header
    request = urllib.request.Request(url, json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT")  # noqa: S310
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):  # noqa: S310
        log.info("answered")


def _is_wanted(event: Mapping[str, Any]) -> bool:
    if event["RequestType"] == "Update":
        return bool(event["OldResourceProperties"]["tenant"] != event["ResourceProperties"]["tenant"])
    return bool(event["RequestType"] == "Create")


def _make(tenant: str, secret: str) -> None:
    import boto3  # noqa: PLC0415 - slow, and an update asks for nothing of it

    config = PATIENT.config()
    made = make_first_key(
        dynamo_tenants(boto3.client("dynamodb", config=config), os.environ["TIMEBALL_TENANTS_TABLE"]),
        tenant,
        secrets.token_bytes(32),
        SystemClock().now(),
    )
    boto3.client("secretsmanager", config=config).put_secret_value(SecretId=secret, SecretString=made)


def make_first_key(tenants: Tenants, tenant: str, random: bytes, now: int) -> str:
    """Make a tenant, unless it is there, and an admin key of it; return the key, which nothing stores."""
    text = fresh_key(tenant, random)
    tenants.tenants.insert([new_tenant(tenant, now)], now)
    tenants.keys.insert([Key(id_in(text) or "", hash_of(text), Role.ADMIN, now, NAME)], now)
    return text
