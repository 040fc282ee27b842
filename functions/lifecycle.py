"""The function of lifecycle events: put what records of the jobs table's stream tell onto the bus.

A batch of which the bus may not have taken an event comes again, and its events have the same ids again. A record that
cannot be read, and an event that the bus refuses, stop no other: the keys are kept for people.
"""

import logging
from collections.abc import Mapping
from typing import Any

from functions.records import keep
from timeball.api.lifecycle import event_of
from timeball.aws.dynamodb.stream import Record, read_move
from timeball.aws.request_retries import Timed, in_time
from timeball.domain.lifecycle import LifecycleEvent
from timeball.domain.model.ids import JobKey
from timeball.engine.changes.canary import JOB_ID
from timeball.ports.errors import UnavailableError
from timeball.runtime.wiring import environment, lifecycle_bus

log = logging.getLogger()
log.setLevel(logging.INFO)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Publish the events about a batch of records. Raises UnavailableError if the batch must come again."""
    records = event["Records"]
    found = [(record, about) for record in records if (about := _event_of(record)) is not None]
    outcomes = lifecycle_bus().publish([about for _, about in found])
    refused = [(record, one) for (record, _), one in zip(found, outcomes, strict=True) if one is not None]
    for record, refusal in refused:
        if not refusal.is_unknown:
            log.error("an event is refused: %s", refusal.why)
            keep(record)
    if any(refusal.is_unknown for _, refusal in refused):
        raise UnavailableError("the bus may not have taken all events")
    counts = {"records": len(records), "events": len(found), "refused": len(refused)}
    log.info("published", extra=counts)
    return counts


def _event_of(record: Record) -> LifecycleEvent | None:
    """Return the event about a record; None: none is wanted, or its keys are kept. Raises UnavailableError."""
    settings = environment().settings
    try:
        write = read_move(record)
        own = {JobKey(settings.operating_tenant, JOB_ID)}
        console = environment().console_in_notices or None
        return None if write is None else event_of(write, settings.lifecycle_types, own, console)
    except UnavailableError:
        raise
    except Exception:
        log.exception("a record cannot be read")
    keep(record)
    return None
