"""The API function: answer one HTTPS request of a client, or of a worker."""

import asyncio
import secrets
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from timeball.api.app import Handler, build_api
from timeball.api.http.edge import ApiContext
from timeball.api.http.ids import ID_BYTES
from timeball.aws.request_retries import in_time
from timeball.domain.model.tenants.actor import parse_callers
from timeball.domain.usage.bill import parse_prices
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.http.addresses import parse_rules


@in_time
def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request of the HTTP API (payload format 2.0)."""
    from timeball.runtime.wiring import engine_context, flush  # noqa: PLC0415 - AWS only where it is needed

    answer = _api()(event, context)
    flush(engine_context())
    return answer


@cache
def _api() -> Handler:
    """Build the API once per environment, at its first request: an import needs no settings and no AWS."""
    from timeball.runtime.wiring import (  # noqa: PLC0415 - AWS only where it is needed
        engine_context,
        environment,
        event_bus,
        signing_secrets,
        stack_name,
        tenants,
        trials,
    )

    settings, context = environment().settings, engine_context()

    def wait_until(at: int) -> None:
        asyncio.run(context.clock.sleep_until(at))

    fresh = partial(secrets.token_bytes, ID_BYTES)
    return build_api(
        ApiContext(
            context,
            fresh,
            _document,
            _page,
            wait_until,
            parse_rules(settings.private_targets),
            settings.operating_tenant,
            tenants(),
            signing_secrets(context).accepted,
            parse_callers(settings.iam_callers),
            parse_prices(settings.prices),
            settings.mapper.retention_days,
            settings.execute_memory_mb / 1024,
            bus=event_bus(),
            allowed=parse_arns(settings.targets, stack_name()),
            webhook_secrets=settings.webhook_secrets,
            trials=trials(),
            console=environment().console_in_answers,
        )
    )


def _document(server: str) -> str:
    from timeball.api.openapi.document import document_text  # noqa: PLC0415 - seldom asked for, and slow to import

    return document_text(server)


def _page() -> str:
    from timeball.api.openapi.page import page_text  # noqa: PLC0415 - seldom asked for

    return page_text()
