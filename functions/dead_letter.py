"""The dead-letter function: what the queues gave up on is judged by its row."""

import logging
from collections.abc import Mapping
from typing import Any

from timeball.aws.queue import UnreadableMessageError, parse_message
from timeball.aws.wiring import world
from timeball.domain.ids import RunId
from timeball.engine.dead_letter import judge

log = logging.getLogger()
log.setLevel(logging.INFO)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's signature
    """Judge each message's run; one that is not settled or cannot be read stays in its queue, to be seen there."""
    message_ids: list[str] = []
    runs: list[RunId] = []
    kept: list[str] = []
    for record in event["Records"]:
        try:
            runs.append(parse_message(record).run)
            message_ids.append(record["messageId"])
        except UnreadableMessageError as unreadable:
            log.error("%s", unreadable)  # noqa: TRY400 - a trace of the parser tells nobody anything
            kept.append(record["messageId"])
    kept += [message_id for message_id, may_go in zip(message_ids, judge(world(), runs), strict=True) if not may_go]
    log.info("judged", extra={"messages": len(event["Records"]), "kept": len(kept)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}
