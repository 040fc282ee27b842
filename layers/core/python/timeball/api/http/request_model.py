"""Validate a body by a model: all of its fields in one pass.

The valid fields are then validated together, so that one mistake never hides another.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema
from pydantic_core.core_schema import literal_schema, no_info_after_validator_function

from timeball.api.http.problems import ENOUGH_ERRORS, FieldError
from timeball.api.http.sentences import field_errors


class Strict(BaseModel):
    """A part of a request: names in camelCase, only the declared types, no unknown fields.

    In the model of a whole body no field is required: what is missing is found when the fields are validated together.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, extra="forbid", strict=True
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, body: object) -> object:
        """Accept `2.0` as 2 for a whole number, as JSON Schema does; a field of any JSON is left as it is."""
        if not isinstance(body, dict) or float not in map(type, body.values()):
            return body
        whole = {field.alias for field in cls.model_fields.values() if int in _kinds(field.annotation)}
        return {name: int(value) if _is_whole(value) and name in whole else value for name, value in body.items()}

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, body: object) -> object:
        """Keep only as many unknown fields as an answer reports: each is an error, and errors are expensive."""
        if not isinstance(body, dict) or len(body) <= ENOUGH_ERRORS:
            return body
        known = set(aliases(cls))
        unknown = islice((name for name in body if name not in known), ENOUGH_ERRORS)
        return {name: body[name] for name in (*(known & body.keys()), *unknown)}


def _kinds(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 - an annotation is any object
    """Return the types that a field may hold: the members of a union, without their annotations."""
    parts = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    return tuple(get_args(part)[0] if get_origin(part) is Annotated else part for part in parts)


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


R = TypeVar("R", bound=Strict)


def aliases(model: type[Strict]) -> list[str]:
    """List the fields of a model by the names that callers write."""
    return [field.alias for field in model.model_fields.values() if field.alias]


def read_fields(model: type[R], body: Mapping[str, Any]) -> tuple[R, set[str], list[FieldError]]:
    """Validate the fields of a body: return the valid ones, the names of those that were given, and all errors."""
    known = set(aliases(model))
    given = {name for name in known & body.keys() if body[name] is not None}
    try:
        return model.model_validate(body), given, []
    except ValidationError as bad:
        errors = bad.errors(include_url=False, include_context=True, include_input=False)
    spoilt = {error["loc"][0] for error in errors}
    good = {name: body[name] for name in (known - spoilt) & body.keys()}
    return model.model_validate(good), given, field_errors(model, errors)


class ByValue:
    """Marks a field whose type is an enum of texts: a caller writes a text, and the field holds the member."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[StrEnum], _: GetCoreSchemaHandler) -> CoreSchema:
        """Validate as one of the texts, so that errors and the document name these."""
        return no_info_after_validator_function(source, literal_schema([member.value for member in source]))


def stated(part: BaseModel | None, *names: str) -> dict[str, Any]:
    """Return all fields of a part of a request, or those in `names`, for a value of the domain with the same names.

    A field that is null is left out, so that it takes the domain's default. A list becomes a tuple.
    """
    values = {} if part is None else vars(part)
    chosen = {name: values[name] for name in names or values}
    given = {name: value for name, value in chosen.items() if value is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def misplaced(given: set[str], needs: Mapping[str, tuple[str, ...]]) -> Iterator[FieldError]:
    """Yield an error for each given field that needs one of its partners and has none."""
    for name, partners in needs.items():
        if name in given and not given & set(partners):
            yield FieldError(
                name, f"This is only valid with {' or '.join(partners)}; give that too, or leave this out."
            )


def cut_behind(limit: int) -> Callable[[object], object]:
    """Return a validator that cuts an object to `limit` + 1 entries: entries are validated before their number."""

    def cut(entries: object) -> object:
        return dict(islice(entries.items(), limit + 1)) if isinstance(entries, dict) else entries

    return cut
