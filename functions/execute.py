"""The executor function: one batch of messages of one priority."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from timeball.aws.addresses import AddressRules, parse_rules
from timeball.aws.http_target import HttpCaller
from timeball.aws.queue import UnreadableMessageError, parse_message
from timeball.aws.wiring import inbox, settings, world
from timeball.engine.execute import execute
from timeball.ports import Delivery

log = logging.getLogger()
log.setLevel(logging.INFO)


class Context(Protocol):
    """What the function takes from Lambda's context."""

    aws_request_id: str


def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Work through the messages; those that are not settled, or cannot be read, are reported for another delivery."""
    records: Sequence[Mapping[str, Any]] = event["Records"]
    message_ids: dict[str, str] = {}
    deliveries: list[Delivery] = []
    failed: list[str] = []
    for record in records:
        try:
            delivery = parse_message(record)
        except UnreadableMessageError as unreadable:
            log.error("%s", unreadable)  # noqa: TRY400 - a trace of the parser tells nobody anything
            failed.append(record["messageId"])
        else:
            message_ids[delivery.receipt] = record["messageId"]
            deliveries.append(delivery)
    world()
    if deliveries:
        unsettled = asyncio.run(_execute(records[0]["eventSourceARN"], deliveries, context.aws_request_id))
        failed += [message_ids[delivery.receipt] for delivery in unsettled]
    log.info("executed", extra={"messages": len(records), "returned": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


async def _execute(queue_arn: str, deliveries: Sequence[Delivery], owner: str) -> list[Delivery]:
    async with HttpCaller(world().clock, _address_rules()) as caller:
        return await execute(world(), inbox(queue_arn), caller, deliveries, owner)


def _address_rules() -> AddressRules:
    return parse_rules(settings().private_targets, os.environ.get("AWS_LAMBDA_RUNTIME_API", ""))
