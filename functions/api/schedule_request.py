"""What a request may say about when: the fields of a schedule, which creating a job and previewing one share.

A request is judged in one pass: its fields one by one, then those that are good together, so that one mistake
never hides another.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from timeball.domain.instants import SECOND_MS
from timeball.domain.schedule import Cron, Every
from timeball.domain.stepper import Gap, Overlap

from .fields import Expression, Instant, Period, ZoneName
from .problems import FieldError
from .sentences import field_errors

RECURRING: Final = ("cronExpression", "everySeconds")
NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dstPolicy": ("cronExpression",),
    "anchorAt": ("everySeconds",),
    "startAt": RECURRING,
    "endAt": RECURRING,
}
"""Fields that mean something only beside one of others, whatever the request."""


class Strict(BaseModel):
    """A part of a request: names in camelCase, no types but the declared ones, no unknown fields."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, extra="forbid", strict=True
    )


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


R = TypeVar("R", bound=ScheduleFields)


def read_fields(model: type[R], body: Mapping[str, Any]) -> tuple[R, set[str], list[FieldError]]:
    """Judge the fields of a body one by one: what is good of them, which were given, and what is wrong."""
    aliases = {field.alias for field in model.model_fields.values()}
    given = {name for name, value in body.items() if value is not None and name in aliases}
    try:
        return model.model_validate(body), given, []
    except ValidationError as bad:
        errors = bad.errors(include_url=False, include_context=True, include_input=False)
    spoilt = {error["loc"][0] for error in errors}
    good = {name: value for name, value in body.items() if name not in spoilt}
    return model.model_validate(good), given, field_errors(model, errors)


def misplaced(given: set[str], needs: Mapping[str, tuple[str, ...]]) -> Iterator[FieldError]:
    """Judge the fields that mean something only beside one of others."""
    for name, partners in needs.items():
        if name in given and not given & set(partners):
            yield FieldError(name, f"This goes with {' or '.join(partners)} only; give that too, or leave this out.")


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
