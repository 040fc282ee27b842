"""Validate a body by a model: all of its fields in one pass, with a sentence for each kind of error.

The valid fields are then validated together, so that one mistake never hides another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails
from pydantic_core.core_schema import literal_schema, no_info_after_validator_function

from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, invalid, shortened

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


_FIELDS_BY_OTHER_NAMES: Final[Mapping[str, str]] = {
    "tz zone tzname": "timezone",
    "cron crontab cronschedule cronexpr scheduleexpression": "cronExpression",
    "schedule trigger when recurrence": "cronExpression everySeconds scheduleAt delaySeconds",
    "every interval period rate": "everySeconds",
    "at runat executeat fireat time datetime": "scheduleAt",
    "expiresat until validuntil": "endAt to",
    "uri endpoint webhook webhookurl targeturl callbackurl": "url handler target.url",
    "url": "handler target.url",
    "method verb httpmethod": "method target.method",
    "headers": "target.headers",
    "function lambda functionname functionarn": "functionArn target.functionArn",
    "retries retrycount attempts maxattempts": "maxRetries",
    "backoff retrydelay retrybackoff": "retryPolicy",
    "parameters params args arguments input data body": "payload",
    "dependencies parents upstream needs after": "dependsOn",
    "labels": "tags",
    "title description": "name",
    "misfire misfirepolicy misfiregracetime": "catchUp",
    "concurrency maxconcurrency parallelism": "overlapPolicy concurrencyLimit",
    "dedupekey idempotencykey": "uniqueKey",
    "onfailure onsuccess onlate onrecovery": "notify",
    "pagesize perpage size": "limit",
    "page offset token pagetoken nextcursor nexttoken": "cursor",
    "state": "status",
    "since start": "from startAt",
    "end": "to endAt",
}
"""Names that other schedulers use, and ours for the same, by a path if the field stands deeper. Ours are only named
where a request has them."""

_TAKEN_ELSEWHERE: Final[Mapping[str, str]] = {
    "id jobid": "The path names the id of a job: PUT /v1/jobs/{jobId}.",
    "paused enabled disabled active": "POST /v1/jobs/{jobId}/pause pauses a job, and .../resume resumes it.",
}
"""Names of what a job has, but not as a field of its body, and the sentences that say where."""


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Return the sentence for an unknown name, with the known names that it means or the one closest to it."""
    plain = _plain(name)
    if "cronExpression" in known and "handler" in known and (elsewhere := _listed_under(plain, _TAKEN_ELSEWHERE)):
        return f"There is no such {kind}. {elsewhere}"
    ours = (_listed_under(plain, _FIELDS_BY_OTHER_NAMES) or "").split()
    meant = " or ".join(one for one in ours if one.partition(".")[0] in known) or _nearest(name, known)
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
    models: list[type[BaseModel]] = []
    for at, name in enumerate(loc):
        if len(models) > 1:
            within, models = _tagged_with(name, models), []
            continue
        location.append(name)
        models = _models_at(within, name)
        if models or at < len(loc) - 1:
            within = models[0] if len(models) == 1 else None
    return tuple(location), [] if within is None else aliases(within)


def _models_at(model: type[BaseModel] | None, name: int | str) -> list[type[BaseModel]]:
    """List the models that a field of a model may hold, by the name that callers write."""
    fields = () if model is None else model.model_fields.values()
    return next((models_of(field.annotation) for field in fields if field.alias == name), [])


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


def _plain(name: str) -> str:
    return name[:_MAX_NAME].replace("_", "").replace("-", "").lower()


def _listed_under(name: str, table: Mapping[str, str]) -> str | None:
    return next((entry for names, entry in table.items() if name in names.split()), None)


def _nearest(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - needed for mistakes only

    plain = {field.lower(): field for field in known}
    wanted = _plain(name)
    close = get_close_matches(wanted, plain, n=1, cutoff=0.75)
    if close:
        return plain[close[0]]
    begun = [field for lower, field in plain.items() if len(wanted) >= 4 and lower.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None


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


def aliases(model: type[BaseModel]) -> list[str]:
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


def read_valid(model: type[R], body: Mapping[str, Any]) -> R:
    """Return a body whose fields do not depend on each other. Raises ProblemError that names every error."""
    wanted, _, errors = read_fields(model, body)
    if errors:
        raise invalid(errors)
    return wanted


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
