"""The scan function, which the ticker calls each second for each partition, and each third second while it is idle."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from timeball.aws.request_retries import Timed, in_time
from timeball.engine.scanning.buckets import Sweeps, noting_ticks
from timeball.engine.scanning.eras import note_era
from timeball.engine.scanning.pollers import PollerOutlook, look_ahead
from timeball.engine.scanning.pulse import Pulse
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.runtime.wiring import flush, pollers, scan_context, start

log = logging.getLogger()
log.setLevel(logging.INFO)

_SWEEPS, _OUTLOOK, _PULSE = Sweeps(), PollerOutlook(), Pulse()

start(scan_context)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Scan a partition; return whether there is a backlog, nothing to do, or a newer loop that has taken over."""
    owner = Owner(event["owner"]["startedAt"], event["owner"]["name"])
    engine = scan_context()
    began_at = engine.clock.now()
    note_era(engine)
    partition, partitions = event["partition"], event["partitions"]
    with noting_ticks(_SWEEPS, partition, owner):
        done = scan(engine, partition, owner, _SWEEPS, partitions)
    _PULSE.note(engine, done, began_at, partition, partitions)
    provisioned = pollers() if partition == 0 and not done.backlog else None
    if provisioned is not None:
        look_ahead(engine, _OUTLOOK, provisioned, provisioned.bounds)
    flush(engine)
    if done.candidates or done.superseded:  # an empty line each second would cost more than the scan's reads
        log.info("scanned", extra={"partition": partition, **asdict(done)})
    return {"backlog": done.backlog, "idle": done.idle, "superseded": done.superseded}
