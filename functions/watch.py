"""The watch function: runs that were sent are looked at again, some time later, or because their queue gave up on them.

Both go by the run's row; a message only names it. What no function can deal with is kept elsewhere, for people.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from timeball.aws.patience import Timed, in_time
from timeball.aws.sqs import UnreadableMessageError, parse_message, parse_watch
from timeball.engine.context import Context
from timeball.engine.runs.reconcile_messages import reconcile_messages
from timeball.engine.runs.watch import look_again
from timeball.ports.errors import UnavailableError
from timeball.runtime.wiring import engine_context, flush, unreadable_queue

log = logging.getLogger()
log.setLevel(logging.INFO)

_Record = Mapping[str, Any]
_Named = TypeVar("_Named")
_Dealing = Callable[[Context, Sequence[_Named]], list[bool]]


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Deal with each message; one that is not dealt with for want of an answer of AWS is reported, and comes again."""
    watches, given_up, dealt_with = [], [], {}
    for record in event["Records"]:
        try:
            if _is_watch(record):
                watches.append((record, parse_watch(record)))
            else:
                given_up.append((record, parse_message(record).run))
        except UnreadableMessageError as unreadable:
            log.warning("%s", unreadable)
            dealt_with[record["messageId"]] = unreadable_queue().keep(record)
    dealt_with |= _dealt_with(watches, look_again) | _dealt_with(given_up, reconcile_messages)
    failed = [message_id for message_id, may_go in dealt_with.items() if not may_go]
    flush(engine_context())
    log.info("watched", extra={"watches": len(watches), "given_up": len(given_up), "kept": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _is_watch(record: _Record) -> bool:
    return str(record["body"]).startswith('{"runs":')


def _dealt_with(named: Sequence[tuple[_Record, _Named]], deal: _Dealing[_Named]) -> dict[str, bool]:
    """Deal with all together, or with each alone if that goes wrong; return for each message whether it may go."""
    if not named:
        return {}
    ids = [record["messageId"] for record, _ in named]
    try:
        return dict(zip(ids, deal(engine_context(), [one for _, one in named]), strict=True))
    except UnavailableError as unavailable:
        log.warning("not dealt with together: %s", unavailable)
    except Exception:
        log.exception("not dealt with together")
    return {record["messageId"]: _is_dealt_with_alone(record, one, deal) for record, one in named}


def _is_dealt_with_alone(record: _Record, named: _Named, deal: _Dealing[_Named]) -> bool:
    try:
        return deal(engine_context(), [named])[0]
    except UnavailableError as unavailable:
        log.warning("not dealt with: %s", unavailable)
        return False
    except Exception:
        log.exception("this cannot be dealt with")
        return unreadable_queue().keep(record)
