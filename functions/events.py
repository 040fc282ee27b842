"""The events function: create runs for matched events, and end runs whose executions have ended."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from functions.messages import dealt_with
from timeball.aws.event_bridge import UnreadableEventError, parse_matched
from timeball.aws.executions import EndedExecution, is_of_executions, parse_ended
from timeball.aws.request_retries import Timed, in_time
from timeball.domain.attempts.callback_token import read_token
from timeball.domain.model.ids import RunId
from timeball.domain.model.terms.event import Matched
from timeball.engine.context import Context
from timeball.engine.events.receive import receive
from timeball.engine.runs.callback import Report, report
from timeball.ports.event_bus import EventBus
from timeball.runtime.wiring import engine_context, event_bus, flush, signing_secrets, start, unreadable_queue

log = logging.getLogger()
log.setLevel(logging.INFO)

start(engine_context)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Create the runs of each event; report messages whose result at AWS is unknown, so that they come again."""
    matched, ended, unreadable = [], [], {}
    for record in event["Records"]:
        if is_of_executions(record["body"]):
            ended.append((record, parse_ended(record["body"])))
            continue
        try:
            matched.append((record, parse_matched(record)))
        except UnreadableEventError as error:
            log.warning("%s", error)
            unreadable[record["messageId"]] = unreadable_queue().keep(record)
    engine = engine_context()
    dealt = (
        unreadable
        | dealt_with(engine, matched, partial(_receive, event_bus()))
        | dealt_with(engine, ended, _report_ends)
    )
    flush(engine)
    failed = [message_id for message_id, may_go in dealt.items() if not may_go]
    log.info("received", extra={"events": len(matched), "kept": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def report_ends(
    context: Context, ended: Sequence[EndedExecution | None], secrets: Callable[[], tuple[str, ...]]
) -> list[bool]:
    """Report ended executions to the runs that started them, if their tokens prove that Timeball did.

    A report that comes too early or too late changes nothing: the scan polls the executions that it follows.
    """
    for one in ended:
        claimed = None if one is None else read_token(one.token)
        run = None if one is None or claimed is None else RunId.parse(claimed.tenant, one.run)
        if one is None or claimed is None or run is None or not claimed.is_of(run, secrets()):
            continue
        reported = Report(run, claimed.attempt, one.standing.error, one.standing.body, execution=one.execution)
        ((refusal, _),) = report(context, [reported])
        log.info("execution over", extra={"run_id": str(run), "refused": refusal})
    return [True] * len(ended)


def _report_ends(context: Context, ended: Sequence[EndedExecution | None]) -> list[bool]:
    return report_ends(context, ended, signing_secrets(context).accepted)


def _receive(bus: EventBus | None, context: Context, matched: Sequence[Matched]) -> list[bool]:
    if bus is None:
        raise LookupError("this function was given no bus of events")
    return receive(context, bus, matched)
