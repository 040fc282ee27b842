"""Fields that several resources share: the form of each value, with the sentence for a wrong one."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from timeball.api.http.body import compact
from timeball.api.http.request_model import cut_behind
from timeball.domain.model.ids import JOB_ID
from timeball.domain.model.jobs.calendar import CALENDAR_NAME
from timeball.domain.time.instants import parse_instant

MAX_PAYLOAD_BYTES: Final = 256 * 1024
MAX_TAGS: Final = 50

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PLAIN: Final = {"pattern": r"^[^\x00-\x1f\x7f-\x9f]*$"}
_TAG_KEY: Final = {"pattern": r"^[^:\x00-\x1f\x7f-\x9f]*$"}


def _instant(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("Write a time as 2026-11-21T09:30:00Z.")  # noqa: TRY004 - pydantic takes ValueError
    return parse_instant(value)


def _payload(payload: object) -> object:
    size = len(compact(payload).encode())
    if size > MAX_PAYLOAD_BYTES:
        raise ValueError(f"The payload has {size} bytes; at most {MAX_PAYLOAD_BYTES} (256 KB) are allowed.")
    return payload


class Checked:
    """Checks the text of a field by a function; `advice` is the sentence for a wrong one."""

    def __init__(self, is_right: Callable[[str], object], advice: str, **schema: object) -> None:
        self._is_right = is_right
        self._advice = advice
        self._schema = {"type": "string", **schema}

    def __get_pydantic_core_schema__(self, source: type[str], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check after the type of the value."""
        return no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> dict[str, object]:
        """Document the field as a text with these keywords."""
        return self._schema

    def _checked(self, text: str) -> str:
        if not self._is_right(text):
            raise ValueError(self._advice)
        return text


JobId = Annotated[
    str,
    Checked(JOB_ID.fullmatch, "No job can have this id; give the jobId of an answer.", pattern=f"^{JOB_ID.pattern}$"),
]
TaskId = Annotated[
    str,
    Checked(JOB_ID.fullmatch, "No task can have this id; give the taskId of an answer.", pattern=f"^{JOB_ID.pattern}$"),
]


DATE: Final = "(19[7-9][0-9]|2[0-3][0-9]{2})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
"""The pattern of a date from 1970 to 2399."""

INSTANT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "string",
    "format": "date-time",
    "pattern": rf"^{DATE}[Tt]"
    r"([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
    "examples": ["2026-11-21T09:30:00Z"],
}
"""The JSON Schema of a time of RFC 3339, from 1970 to 2399; the pattern lets generators make valid times."""

Instant = Annotated[int, BeforeValidator(_instant), WithJsonSchema(dict(INSTANT_SCHEMA))]
"""An ISO 8601 time with an offset; read as ms."""

Payload = Annotated[Any, AfterValidator(_payload)]
"""Any JSON of at most MAX_PAYLOAD_BYTES."""


CalendarName = Annotated[
    str,
    Checked(
        CALENDAR_NAME.fullmatch,
        "Give 1 to 64 letters, digits, - or _.",
        pattern=f"^{CALENDAR_NAME.pattern}$",
        examples=["holidays-de"],
    ),
]


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("Leave out the control characters.")
    return text


def _tag_key(text: str) -> str:
    if ":" in text:
        raise ValueError("Leave out the colon: in a query a colon ends the key of a tag.")
    return _plain(text)


Name = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=_PLAIN), AfterValidator(_plain)]
Tags = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_tag_key)],
        Annotated[str, Field(max_length=256, json_schema_extra=_PLAIN), AfterValidator(_plain)],
    ],
    Field(
        max_length=MAX_TAGS,
        json_schema_extra={"propertyNames": {**_TAG_KEY, "minLength": 1, "maxLength": 128}},
    ),
    BeforeValidator(cut_behind(MAX_TAGS)),
]
