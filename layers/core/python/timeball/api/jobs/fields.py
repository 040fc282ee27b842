"""Fields of a job that need more than a type: the form of each value, with the sentence for a wrong one."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from timeball.api.http.request_model import cut_behind
from timeball.domain.model.terms.policies import Cause

MAX_TAGS: Final = 50

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_RETRY_CAUSE: Final = re.compile(rf"{Cause.TIMEOUT}|{Cause.CONNECTION}|{Cause.REPORTED}|[1-5][0-9]{{2}}|[345]xx")


_PLAIN: Final = {"pattern": r"^[^\x00-\x1f\x7f-\x9f]*$"}
_TAG_KEY: Final = {"pattern": r"^[^:\x00-\x1f\x7f-\x9f]*$"}


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("Leave out the control characters.")
    return text


def _tag_key(text: str) -> str:
    if ":" in text:
        raise ValueError("Leave out the colon: in a query a colon ends the key of a tag.")
    return _plain(text)


def _retry_cause(text: str) -> str:
    if not _RETRY_CAUSE.fullmatch(text):
        raise ValueError('Give timeout, connection, reported, a status such as "409", or a class: "3xx", "4xx", "5xx".')
    return text


def _retry_causes(causes: list[str]) -> list[str]:
    if len(set(causes)) < len(causes):
        raise ValueError("Give each entry once.")
    return causes


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
RetryCause = Annotated[
    str,
    AfterValidator(_retry_cause),
    WithJsonSchema({"type": "string", "pattern": f"^({_RETRY_CAUSE.pattern})$", "examples": ["timeout", "409", "5xx"]}),
]
RetryCauses = Annotated[
    list[RetryCause], Field(max_length=20, json_schema_extra={"uniqueItems": True}), AfterValidator(_retry_causes)
]
Factor = Annotated[float, Field(ge=1, le=10)]
