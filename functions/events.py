"""The events function: what the rules of the bus have matched becomes runs of the jobs with those patterns."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from functions.messages import dealt_with
from timeball.aws.event_bridge import UnreadableEventError, parse_matched
from timeball.aws.patience import Timed, in_time
from timeball.engine.context import Context
from timeball.engine.events.receive import Matched, receive
from timeball.ports.event_bus import EventBus
from timeball.runtime.wiring import engine_context, event_bus, flush, start, unreadable_queue

log = logging.getLogger()
log.setLevel(logging.INFO)

start(engine_context)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Make the runs of each event; one of which AWS did not say what became is reported, and comes again."""
    matched, unreadable = [], {}
    for record in event["Records"]:
        try:
            matched.append((record, Matched(*parse_matched(record))))
        except UnreadableEventError as error:
            log.warning("%s", error)
            unreadable[record["messageId"]] = unreadable_queue().keep(record)
    engine = engine_context()
    dealt = unreadable | dealt_with(engine, matched, partial(_receive, event_bus()))
    flush(engine)
    failed = [message_id for message_id, may_go in dealt.items() if not may_go]
    log.info("received", extra={"events": len(matched), "kept": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _receive(bus: EventBus | None, context: Context, matched: Sequence[Matched]) -> list[bool]:
    if bus is None:
        raise LookupError("this function was given no bus of events")
    return receive(context, bus, matched)
