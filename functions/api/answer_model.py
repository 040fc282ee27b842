"""How an answer is made: names in camelCase, and every field in every answer, null where it has no value."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, WithJsonSchema
from pydantic.alias_generators import to_camel

Time = Annotated[
    str, WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-21T09:30:00.000Z"]})
]


class Answer(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)


def text_of(answer: BaseModel) -> str:
    """Return an answer as JSON text, with the fields that were set."""
    return answer.model_dump_json(by_alias=True, exclude_unset=True)
