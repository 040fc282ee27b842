"""The first admin key: CloudFormation requests it with the stack, and an encrypted parameter keeps it.

Invariant: no answer and no log contains the key.
"""

import logging
import os
import secrets
from collections.abc import Mapping
from typing import Any, Final

from functions.custom_resources import answered, when_ready
from timeball.aws.dynamodb.tenants import dynamo_tenants
from timeball.aws.request_retries import PATIENT, Timed, in_time
from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.tenant import new_tenant
from timeball.ports.tenants import Tenants
from timeball.runtime.clock import SystemClock

log = logging.getLogger()
log.setLevel(logging.INFO)

NAME: Final = "The first key"


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> None:  # noqa: ARG001 - in_time asks it
    """Create the key when the resource is created, or when its tenant changes; otherwise do nothing."""
    properties = event["ResourceProperties"]

    def act() -> None:
        if _is_wanted(event):
            _make(properties["tenant"], properties["parameter"], properties.get("encryption", ""))

    answered(event, properties["parameter"], "The first admin key was not made", act)


def _is_wanted(event: Mapping[str, Any]) -> bool:
    if event["RequestType"] == "Update":
        return bool(event["OldResourceProperties"]["tenant"] != event["ResourceProperties"]["tenant"])
    return bool(event["RequestType"] == "Create")


def _make(tenant: str, parameter: str, encryption: str) -> None:
    import boto3  # noqa: PLC0415 - slow, and an update does not need it

    config = PATIENT.config()
    tenants = dynamo_tenants(boto3.client("dynamodb", config=config), os.environ["TIMEBALL_TENANTS_TABLE"])
    # Drawn once, so that a retry creates the same key.
    random, now = secrets.token_bytes(32), SystemClock().now()
    made = when_ready(lambda: make_first_key(tenants, tenant, random, now))
    keep_first_key(boto3.client("ssm", config=config), made, parameter, encryption)


def keep_first_key(keeper: Any, text: str, parameter: str, encryption: str) -> None:  # noqa: ANN401 - as boto3 makes it
    """Store a key in an encrypted parameter; it replaces that of a stack which was removed, and whose history stays."""
    key = {"KeyId": encryption} if encryption else {}
    about = "The first admin key of Timeball's operating tenant"
    when_ready(
        lambda: keeper.put_parameter(
            Name=parameter, Value=text, Type="SecureString", Overwrite=True, Description=about, **key
        )
    )


def make_first_key(tenants: Tenants, tenant: str, random: bytes, now: int) -> str:
    """Create a tenant, unless it exists, and an admin key for it; return the key, which is not stored."""
    text = fresh_key(tenant, random)
    tenants.tenants.insert([new_tenant(tenant, now)], now)
    tenants.keys.insert([Key(id_in(text) or "", hash_of(text), Role.ADMIN, now, NAME)], now)
    return text
