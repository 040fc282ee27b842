"""The authorizer function: find the tenant of a request's API key."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from timeball.api.authorizer import Authorizer
from timeball.aws.dynamodb.tenants import DynamoHolders
from timeball.aws.request_retries import Timed, in_time
from timeball.runtime.clock import SystemClock


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Find the holder of a request's key."""
    return _authorizer()(event)


@cache
def _authorizer() -> Authorizer:
    per_second = int(os.environ.get("TIMEBALL_REQUESTS_PER_SECOND", "0"))
    return Authorizer(DynamoHolders.open(os.environ["TIMEBALL_TENANTS_TABLE"]), SystemClock(), per_second)
