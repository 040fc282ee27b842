"""How a body becomes a value: a model validates its fields one by one, all of them in one pass.

What is good of it goes on to be validated together, so that one mistake never hides another.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from functions.api.http.problems import ENOUGH_ERRORS, FieldError
from functions.api.http.sentences import field_errors


class Strict(BaseModel):
    """A part of a request: names in camelCase, no types but the declared ones, no unknown fields.

    No field of a whole body is needed by itself: what is missing is validated together with the rest.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, extra="forbid", strict=True
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, body: object) -> object:
        """Take `2.0` for 2 where a whole number is asked for, as JSON Schema does; what is any JSON stays as it is."""
        if not isinstance(body, dict) or float not in map(type, body.values()):
            return body
        whole = {field.alias for field in cls.model_fields.values() if int in _kinds(field.annotation)}
        return {name: int(value) if _is_whole(value) and name in whole else value for name, value in body.items()}

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, body: object) -> object:
        """Leave of thousands of unknown fields as many as are told: each is an error, and those are dear."""
        if not isinstance(body, dict) or len(body) <= ENOUGH_ERRORS:
            return body
        known = set(aliases(cls))
        unknown = islice((name for name in body if name not in known), ENOUGH_ERRORS)
        return {name: body[name] for name in (*(known & body.keys()), *unknown)}


def _kinds(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 - an annotation is any object
    """Return what a field may hold: the parts of a union, without what is said of them beside."""
    parts = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    return tuple(get_args(part)[0] if get_origin(part) is Annotated else part for part in parts)


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


R = TypeVar("R", bound=Strict)


def aliases(model: type[Strict]) -> list[str]:
    """List the fields of a model by the names that callers write."""
    return [field.alias for field in model.model_fields.values() if field.alias]


def read_fields(model: type[R], body: Mapping[str, Any]) -> tuple[R, set[str], list[FieldError]]:
    """Validate the fields of a body one by one: what is good of them, which were given, and what is wrong."""
    known = set(aliases(model))
    given = {name for name in known & body.keys() if body[name] is not None}
    try:
        return model.model_validate(body), given, []
    except ValidationError as bad:
        errors = bad.errors(include_url=False, include_context=True, include_input=False)
    spoilt = {error["loc"][0] for error in errors}
    good = {name: body[name] for name in (known - spoilt) & body.keys()}
    return model.model_validate(good), given, field_errors(model, errors)


def misplaced(given: set[str], needs: Mapping[str, tuple[str, ...]]) -> Iterator[FieldError]:
    """Validate the fields that mean something only beside one of others."""
    for name, partners in needs.items():
        if name in given and not given & set(partners):
            yield FieldError(name, f"This goes with {' or '.join(partners)} only; give that too, or leave this out.")


def cut_behind(limit: int) -> Callable[[object], object]:
    """Return what leaves of an object just enough entries to be too many: each is validated before their number is."""

    def cut(entries: object) -> object:
        return dict(islice(entries.items(), limit + 1)) if isinstance(entries, dict) else entries

    return cut
