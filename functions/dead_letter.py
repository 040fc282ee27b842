"""The dead-letter function: what the queues gave up on is judged by its row."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from timeball.aws.patience import Timed, in_time
from timeball.aws.queue import UnreadableMessageError, parse_message
from timeball.aws.wiring import unreadable_queue, world
from timeball.domain.ids import RunId
from timeball.engine.judge import judge
from timeball.ports import UnavailableError

log = logging.getLogger()
log.setLevel(logging.INFO)

_Record = Mapping[str, Any]


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Judge each message's run. One that cannot be read or judged is kept elsewhere, where people see it.

    What is not settled for want of an answer of the store is reported, and comes again.
    """
    readable: list[tuple[_Record, RunId]] = []
    settled: dict[str, bool] = {}
    for record in event["Records"]:
        try:
            readable.append((record, parse_message(record).run))
        except UnreadableMessageError as unreadable:
            log.warning("%s", unreadable)
            settled[record["messageId"]] = unreadable_queue().keep(record)
    for (record, _), is_settled in zip(readable, _judged(readable), strict=True):
        settled[record["messageId"]] = is_settled
    failed = [message_id for message_id, is_settled in settled.items() if not is_settled]
    log.info("judged", extra={"messages": len(settled), "kept": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _judged(readable: Sequence[tuple[_Record, RunId]]) -> list[bool]:
    """Judge all together, or each alone if that goes wrong."""
    if not readable:
        return []
    try:
        return judge(world(), [run for _, run in readable])
    except UnavailableError as unavailable:
        log.warning("not judged together: %s", unavailable)
    except Exception:
        log.exception("not judged together")
    return [_judged_alone(record, run) for record, run in readable]


def _judged_alone(record: _Record, run: RunId) -> bool:
    try:
        return judge(world(), [run])[0]
    except UnavailableError as unavailable:
        log.warning("not judged: %s", unavailable, extra={"run_id": str(run)})
        return False
    except Exception:
        log.exception("a run cannot be judged", extra={"run_id": str(run)})
        return unreadable_queue().keep(record)
