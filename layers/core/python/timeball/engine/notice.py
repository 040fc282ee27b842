"""Tell of every instant that did not run: one log line and one count, by the word that stands in the ledger too."""

import logging

from timeball.domain.ids import JobKey
from timeball.domain.instants import format_instant
from timeball.domain.reason import Reason
from timeball.engine.world import World

log = logging.getLogger(__name__)

SKIPPED = "FiresSkipped"
"""The name of the counter."""


def skipped(world: World, job: JobKey, reason: Reason, count: int, fire_at: int) -> None:
    """Tell that so many fires of a job, from `fire_at` on, were skipped, and why."""
    log.info(
        "skipped",
        extra={
            "tenant": job.tenant,
            "job_id": job.job_id,
            "reason": reason.value,
            "count": count,
            "fire_time": format_instant(fire_at),
        },
    )
    world.meter.count(SKIPPED, count, reason.value)
