"""The watch function: recheck runs some time after they were sent, and runs that their queue gave up on.

In both cases the run's row decides; a message only names it. A message that no function can process is kept elsewhere,
for people.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from functions.messages import Record, dealt_with
from timeball.aws.request_retries import Timed, in_time
from timeball.aws.sqs import UnreadableMessageError, parse_message, parse_watch
from timeball.domain.model.ids import RunId
from timeball.engine.context import Context
from timeball.engine.runs.watch import recheck, reconcile_messages
from timeball.runtime.wiring import engine_context, flush, unreadable_queue

log = logging.getLogger()
log.setLevel(logging.INFO)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Process each message; report a message for which AWS did not answer, so that it comes again."""
    watches, given_up, unreadable = [], [], {}
    for record in event["Records"]:
        try:
            if _is_watch(record):
                watches.append((record, parse_watch(record)))
            else:
                given_up.append((record, [one.run for one in parse_message(record)]))
        except UnreadableMessageError as error:
            log.warning("%s", error)
            unreadable[record["messageId"]] = unreadable_queue().keep(record)
    engine = engine_context()
    dealt = unreadable | dealt_with(engine, watches, recheck) | dealt_with(engine, given_up, _reconcile)
    failed = [message_id for message_id, may_go in dealt.items() if not may_go]
    flush(engine)
    log.info("watched", extra={"watches": len(watches), "given_up": len(given_up), "kept": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _reconcile(context: Context, messages: Sequence[Sequence[RunId]]) -> list[bool]:
    """Reconcile the runs of each message without it; the message may be deleted if all of its runs continue."""
    runs = [run for message in messages for run in message]
    goes_on = dict(zip(runs, reconcile_messages(context, runs), strict=True))
    return [all(goes_on[run] for run in message) for message in messages]


def _is_watch(record: Record) -> bool:
    return str(record["body"]).startswith('{"runs":')
