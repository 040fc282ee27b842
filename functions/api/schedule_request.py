"""What a request may say about when: the fields of a schedule, which creating a job and previewing one share."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from pydantic import Field

from timeball.domain.instants import SECOND_MS
from timeball.domain.schedule import Cron, Every
from timeball.domain.stepper import Gap, Overlap

from .fields import Expression, Instant, Period, ZoneName
from .problems import FieldError
from .request_model import Strict

RECURRING: Final = ("cronExpression", "everySeconds")
NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dstPolicy": ("cronExpression",),
    "anchorAt": ("everySeconds",),
    "startAt": RECURRING,
    "endAt": RECURRING,
}
"""Fields that mean something only beside one of others, whatever the request."""


class DstPolicy(Strict):
    """What becomes of local times that clocks skip or show twice. What is not given follows from the expression."""

    gap: Literal["next", "skip"] | None = Field(
        None, description="Of times that clocks skip: fire once when they have, or not at all."
    )
    overlap: Literal["first", "both"] | None = Field(
        None, description="Of times that clocks show twice: fire at the first, or at both."
    )


class ScheduleFields(Strict):
    """When a job is due."""

    schedule_at: Instant | None = Field(None, description="Run once, at this time.")
    cron_expression: Expression | None = Field(None, description="Run whenever a five-field expression matches.")
    timezone: ZoneName | None = Field(None, description="The IANA zone of `cronExpression`, default UTC.")
    dst_policy: DstPolicy | None = Field(None, description="What a clock change does to `cronExpression`.")
    every_seconds: Period | None = Field(None, description="Run at an interval: seconds or `PT15M`.")
    anchor_at: Instant | None = Field(
        None, description="An instant of the interval; default `startAt`, else the next whole second."
    )
    start_at: Instant | None = Field(None, description="No fire before this time.")
    end_at: Instant | None = Field(None, description="No fire after this time.")


def bad_window(request: ScheduleFields) -> Iterator[FieldError]:
    """Judge the two ends of the window together."""
    if request.start_at is not None and request.end_at is not None and request.end_at < request.start_at:
        yield FieldError("endAt", "This lies before startAt; give a later time.")


def recurring_of(request: ScheduleFields, now: int) -> Cron | Every | None:
    """Return the recurring timing that a faultless request asks for at an instant (ms), if it asks for one."""
    if request.cron_expression is not None:
        asked = request.dst_policy or DstPolicy.model_validate({})
        return Cron(
            request.cron_expression,
            request.timezone or "UTC",
            gap=None if asked.gap is None else Gap(asked.gap),
            overlap=None if asked.overlap is None else Overlap(asked.overlap),
        )
    if request.every_seconds is not None:
        anchor_at = request.anchor_at if request.anchor_at is not None else request.start_at
        return Every(request.every_seconds, -(-now // SECOND_MS) * SECOND_MS if anchor_at is None else anchor_at)
    return None
