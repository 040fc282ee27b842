"""The answer of an operation: names in camelCase, and every field in every answer, null where it has no value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Self

from pydantic import (
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from timeball.domain.time.instants import SECOND_MS, format_instant


def _text(at: object) -> object:
    return format_instant(at) if isinstance(at, int) else at


def _seconds(duration: object) -> object:
    return duration / SECOND_MS if isinstance(duration, int) else duration


Text = Annotated[str, BeforeValidator(str)]
"""The text of a value, such as a run's id."""
Filled = Annotated[str | None, BeforeValidator(lambda text: text or None)]
"""A text that is null if it is empty."""
Seconds = Annotated[float, BeforeValidator(_seconds)]
"""A duration in an answer; milliseconds become seconds."""
Time = Annotated[
    str,
    BeforeValidator(_text),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-21T09:30:00.000Z"]}),
]
"""A time in an answer; an instant (ms) becomes its text."""

CreatedAt = Annotated[Time, Field(description="When it was created.")]
UpdatedAt = Annotated[Time, Field(description="When it last changed.")]
Version = Annotated[int, Field(description="The number of the version, from 1; the `ETag` is this number in quotes.")]
NextCursor = Annotated[str | None, Field(description="The `cursor` of the next page; null on the last page.")]


class AnswerModel(BaseModel):
    """A part of an answer, also made from a value of the domain whose attributes have the names of its fields."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True, from_attributes=True)

    @classmethod
    def about(cls, value: object, **others: Any) -> Self:  # noqa: ANN401 - fields of any types
        """Return the answer about a value, a dataclass; `others` are fields that it does not have."""
        if others:
            known, value = vars(value), object.__new__(type(value))
            vars(value).update(known, **others)
        return cls.model_validate(value)


BY_NAME: Final = ConfigDict(alias_generator=AliasGenerator(serialization_alias=to_camel))
"""The configuration of a model that is only made by the names of its fields, which is faster for long lists."""


def attribute(path: str, *, description: str, serialization_alias: str | None = None) -> Any:  # noqa: ANN401 - as Field
    """Return a field that is the attribute at a path, such as `id.job.job_id`; null if the first one is null."""
    first, *others = path.split(".")
    source = AliasChoices(AliasPath(first, *others), first) if others else first
    return Field(validation_alias=source, serialization_alias=serialization_alias, description=description)


@dataclass(frozen=True)
class Reply:
    """What an operation answers."""

    status: int
    """The HTTP status."""
    body: str
    """The text; JSON unless `media_type` says otherwise."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers besides those that every answer has."""
    media_type: str = "application/json"


def ok(answer: BaseModel, *, version: int | None = None, is_repeated: bool = False) -> Reply:
    """Return a 200, with an ETag if there is a version; `is_repeated` says that an Idempotency-Key was used again."""
    return Reply(200, text_of(answer), {**_versioned(version), **_replayed(is_repeated=is_repeated)})


def accepted(answer: BaseModel) -> Reply:
    """Return a 202: the request will be carried out, and there is nothing to read yet."""
    return Reply(202, text_of(answer))


def created(answer: BaseModel, location: str, *, version: int | None = None, is_repeated: bool = False) -> Reply:
    """Return a 201, with an ETag if there is a version; `is_repeated` says that an Idempotency-Key was used again."""
    replayed = _replayed(is_repeated=is_repeated)
    return Reply(201, text_of(answer), {**_versioned(version), "Location": location, **replayed})


def text_of(answer: BaseModel) -> str:
    """Return an answer as JSON text, with the fields that were set."""
    return answer.model_dump_json(by_alias=True, exclude_unset=True)


def etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def time_of(at: int | None) -> str | None:
    """Return an instant (ms) as text; None without one."""
    return None if at is None else format_instant(at)


def _replayed(*, is_repeated: bool) -> dict[str, str]:
    return {"Idempotency-Replayed": "true"} if is_repeated else {}


def _versioned(version: int | None) -> dict[str, str]:
    return {} if version is None else {"ETag": etag(version)}
