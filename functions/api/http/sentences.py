"""What a person reads for a bad field: one sentence for each kind of error that the models know."""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from functions.api.http.problems import ENOUGH_ERRORS, FieldError, shortened

_SENTENCES: Mapping[str, str] = {
    "missing": "This field is needed; give it.",
    "string_type": "This must be a string.",
    "string_unicode": "Leave out the half of a surrogate pair: it is no character.",
    "int_type": "This must be a whole number.",
    "float_type": "This must be a number.",
    "bool_type": "This must be true or false.",
    "dict_type": "This must be an object.",
    "list_type": "This must be an array.",
    "model_type": "This must be an object.",
    "literal_error": "Use {expected}.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This must be at most {le}.",
    "string_too_short": "This must have at least {min_length} character.",
    "string_too_long": "This must have at most {max_length} characters.",
    "too_short": "Give at least {min_length} entry.",
    "too_long": "At most {max_length} entries are allowed.",
    "value_error": "{error}",
}
_MAX_NAME = 100


def field_errors(model: type[BaseModel], errors: Sequence[ErrorDetails]) -> list[FieldError]:
    """Turn the errors of a model, as many as are told, into bad fields with their paths as the caller wrote them."""
    return [FieldError(_path(error["loc"]), _sentence(model, error)) for error in errors[:ENOUGH_ERRORS]]


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Return the sentence for a name that means nothing, with the known one that is probably meant."""
    meant = _nearest(name, known)
    return f"There is no such {kind}; " + (f"did you mean {meant}?" if meant else "leave it out.")


def _path(loc: tuple[int | str, ...]) -> str:
    return ".".join(shortened(str(part)) for part in loc if part != "[key]")


def _sentence(model: type[BaseModel], error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return unknown_name("field", str(error["loc"][-1]), _known(model, error["loc"][:-1]))
    sentence = _SENTENCES.get(error["type"])
    return sentence.format_map(error.get("ctx", {})) if sentence else f"{error['msg']}."


def _known(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """List the fields of the model that stands at a place within a model."""
    for name in loc:
        field = next(field for field in model.model_fields.values() if field.alias == name)
        part = model_of(field.annotation)
        if part is None:
            return []
        model = part
    return [field.alias for field in model.model_fields.values() if field.alias]


def model_of(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - an annotation is any object
    """Return the model that a field holds, or None if it holds a plain value."""
    parts = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    return next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)


def _nearest(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - needed for mistakes only

    plain = {field.lower(): field for field in known}
    wanted = name[:_MAX_NAME].replace("_", "").replace("-", "").lower()
    close = get_close_matches(wanted, plain, n=1, cutoff=0.75)
    if close:
        return plain[close[0]]
    begun = [field for lower, field in plain.items() if len(wanted) >= 4 and lower.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None
