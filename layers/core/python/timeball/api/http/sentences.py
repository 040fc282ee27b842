"""The sentence for a bad field: one for each kind of error that the models raise."""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, shortened

_SENTENCES: Mapping[str, str] = {
    "missing": "This field is required.",
    "string_type": "This must be a string.",
    "string_unicode": "Leave out the unpaired surrogate: it is not a character.",
    "int_type": "This must be a whole number.",
    "float_type": "This must be a number.",
    "bool_type": "This must be true or false.",
    "dict_type": "This must be an object.",
    "list_type": "This must be an array.",
    "model_type": "This must be an object.",
    "model_attributes_type": "This must be an object.",
    "union_tag_not_found": "This field is required.",
    "union_tag_invalid": "Use {expected_tags}.",
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
TAG: Final = "type"
"""The field that selects a model of a union."""


def field_errors(model: type[BaseModel], errors: Sequence[ErrorDetails]) -> list[FieldError]:
    """Turn the errors of a model, up to the reported number, into bad fields with the paths that the caller wrote."""
    return [_field_error(model, error) for error in errors[:ENOUGH_ERRORS]]


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Return the sentence for an unknown name, with the known name that is closest to it if there is one."""
    meant = _nearest(name, known)
    return f"There is no such {kind}; " + (f"did you mean {meant}?" if meant else "leave it out.")


def _field_error(model: type[BaseModel], error: ErrorDetails) -> FieldError:
    loc, within = _location(model, error["loc"])
    if error["type"].startswith("union_tag"):
        loc = (*loc, TAG)
    path = ".".join(shortened(str(part)) for part in loc if part != "[key]")
    if error["type"] == "extra_forbidden":
        return FieldError(path, unknown_name("field", str(loc[-1]), within))
    sentence = _SENTENCES.get(error["type"])
    return FieldError(path, sentence.format_map(error.get("ctx", {})) if sentence else f"{error['msg']}.")


def _location(model: type[BaseModel], loc: tuple[int | str, ...]) -> tuple[tuple[int | str, ...], list[str]]:
    """Return a path within a model as the caller wrote it, and the fields of the innermost model on the path.

    Pydantic adds the tag of a union to the path; the tag is not a field, so it is left out.
    """
    within: type[BaseModel] | None = model
    location: list[int | str] = []
    tagged: list[type[BaseModel]] = []
    for at, name in enumerate(loc):
        if tagged:
            within, tagged = _tagged_with(name, tagged), []
            continue
        location.append(name)
        fields = within.model_fields.values() if within else ()
        models = next((models_of(field.annotation) for field in fields if field.alias == name), [])
        if models or at < len(loc) - 1:
            tagged, within = (models, None) if len(models) > 1 else ([], models[0] if models else None)
    return tuple(location), [field.alias for field in within.model_fields.values() if field.alias] if within else []


def models_of(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - an annotation is any object
    """List the models that a field may hold; a tag selects one of several. A plain value has none."""
    if get_origin(annotation) is Annotated:
        return models_of(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return [model for part in get_args(annotation) for model in models_of(part)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def model_of(annotation: Any, tag: object = None) -> type[BaseModel] | None:  # noqa: ANN401 - as above
    """Return the model that a field holds, selected by a tag if there are several; None for a plain value."""
    models = models_of(annotation)
    return models[0] if len(models) == 1 else _tagged_with(tag, models)


def _tagged_with(tag: object, models: Sequence[type[BaseModel]]) -> type[BaseModel] | None:
    return next((one for one in models if tag in get_args(one.model_fields[TAG].annotation)), None)


def _nearest(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - needed for mistakes only

    plain = {field.lower(): field for field in known}
    wanted = name[:_MAX_NAME].replace("_", "").replace("-", "").lower()
    close = get_close_matches(wanted, plain, n=1, cutoff=0.75)
    if close:
        return plain[close[0]]
    begun = [field for lower, field in plain.items() if len(wanted) >= 4 and lower.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None
