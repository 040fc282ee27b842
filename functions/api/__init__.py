"""The API function: what a client may do with jobs and runs, over HTTPS.

routes.py is the way in; job_request.py says what a job may look like; the modules named *_operations do it.
"""

import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from timeball.aws.addresses import parse_rules
from timeball.aws.patience import in_time

from .app import Handler, build_api
from .edge import Edge
from .identity import ID_BYTES


@in_time
def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request of the HTTP API (payload format 2.0)."""
    return _api()(event, context)


@cache
def _api() -> Handler:
    """Build the API once per environment, at its first request: an import needs no settings and no AWS."""
    from timeball.aws.wiring import api_world, settings  # noqa: PLC0415 - nothing of AWS before it is needed

    addresses = parse_rules(settings().private_targets)
    return build_api(Edge(api_world(), lambda: secrets.token_bytes(ID_BYTES), addresses))
