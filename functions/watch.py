"""The watch function: runs that were sent some time ago are looked at again."""

import logging
from collections.abc import Mapping
from typing import Any

from timeball.aws.patience import Timed, in_time
from timeball.aws.queue import UnreadableMessageError, parse_watch
from timeball.aws.wiring import unreadable_queue, world
from timeball.engine.watch import look_again
from timeball.ports import Watch

log = logging.getLogger()
log.setLevel(logging.INFO)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Look at the runs of each watch; what cannot be looked at now is reported, and comes again."""
    watches: dict[str, Watch] = {}
    failed: list[str] = []
    for record in event["Records"]:
        try:
            watches[record["messageId"]] = parse_watch(record)
        except UnreadableMessageError as unreadable:
            log.warning("%s", unreadable)
            if not unreadable_queue().keep(record):
                failed.append(record["messageId"])
    may_go = look_again(world(), list(watches.values())) if watches else []
    failed += [message_id for message_id, gone in zip(watches, may_go, strict=True) if not gone]
    log.info("watched", extra={"watches": len(watches), "kept": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}
