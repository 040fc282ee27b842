"""The fields that several rooms take: what a value must look like by itself, with the sentence that says so."""

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema

from timeball.domain.time.instants import parse_instant


def _instant(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("Write a time as 2026-11-21T09:30:00Z.")  # noqa: TRY004 - pydantic takes ValueError
    return parse_instant(value)


_INSTANT_SCHEMA: Final = {"type": "string", "format": "date-time", "examples": ["2026-11-21T09:30:00Z"]}

Instant = Annotated[int, BeforeValidator(_instant), WithJsonSchema(_INSTANT_SCHEMA)]
"""An ISO 8601 time with an offset; here ms."""

OverlapPolicy = Literal["allow", "skip", "queueOne", "cancelOther"]
