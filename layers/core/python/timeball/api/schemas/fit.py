"""Whether a payload matches its task's schema, and the size limit of its target.

Each part that does not is named in a sentence of our own. The library builds its messages from its input, so large
values are replaced by equal ones with a short text.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from timeball.api.http.body import compact
from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, invalid, shortened
from timeball.api.schemas.accepted import Allowance, OutOfTimeError
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task
from timeball.engine.resolving import read_tasks
from timeball.targets.aws.allowed import fits_all, too_large

log = logging.getLogger(__name__)

PAYLOAD: Final = "payload"
_LONG: Final = 100
_TOO_DEAR: Final = FieldError(
    PAYLOAD,
    "Comparing this with the task's payloadSchema takes too long; give a smaller payload, or fewer at once.",
)

_BROKEN: Final = FieldError(
    PAYLOAD, "The task's payloadSchema cannot be applied; replace it by a schema whose references lead to schemas."
)

_SENTENCES: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": lambda kinds: f"This must be of type {' or '.join([kinds] if isinstance(kinds, str) else kinds)}.",
    "enum": lambda values: f"Use one of {_text(values)}.",
    "const": lambda value: f"This must be {_text(value)}.",
    "minimum": lambda least: f"This must be at least {least}.",
    "maximum": lambda most: f"This must be at most {most}.",
    "exclusiveMinimum": lambda bound: f"This must be more than {bound}.",
    "exclusiveMaximum": lambda bound: f"This must be less than {bound}.",
    "multipleOf": lambda step: f"This must be a multiple of {step}.",
    "minLength": lambda least: f"This must have at least {least} characters.",
    "maxLength": lambda most: f"This must have at most {most} characters.",
    "pattern": lambda pattern: f"This must match {shortened(pattern)}.",
    "minItems": lambda least: f"Give at least {least} entries.",
    "maxItems": lambda most: f"At most {most} entries are allowed.",
    "uniqueItems": lambda _: "Give each entry once.",
    "minProperties": lambda least: f"Give at least {least} fields.",
    "maxProperties": lambda most: f"At most {most} fields are allowed.",
    "anyOf": lambda _: "This matches none of the forms that the schema allows.",
    "oneOf": lambda _: "This must match exactly one of the forms that the schema allows.",
    "not": lambda _: "This is what the schema excludes.",
}
"""The sentence for each keyword that does not hold, from the keyword's value."""


def misfits(schema: str, payload: object, allowance: Allowance) -> list[FieldError]:
    """Return where a payload does not match a schema (JSON text, accepted before), of very many errors the first."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import, and needed for tasks with a schema only
    from referencing import Registry  # noqa: PLC0415

    try:
        with allowance.spent():
            # An empty registry fetches nothing, whatever a schema says.
            validator = Draft202012Validator(json.loads(schema), registry=Registry())
            found = (error for bad in validator.iter_errors(_terse(payload)) for error in _field_errors(bad))
            return list(islice(dict.fromkeys(islice(found, ENOUGH_ERRORS)), ENOUGH_ERRORS))
    except (OutOfTimeError, RecursionError):
        return [_TOO_DEAR]
    except Exception:
        log.exception("a schema that was accepted cannot be applied")
        return [_BROKEN]


class _Object(dict[str, object]):
    def __repr__(self) -> str:
        return "{...}"


class _Array(list[object]):
    def __repr__(self) -> str:
        return "[...]"


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "'...'"


def _terse(value: object) -> object:
    """Return a value that equals another and has a short text."""
    if isinstance(value, dict):
        return _Object((name, _terse(part)) for name, part in value.items())
    if isinstance(value, list):
        return _Array(map(_terse, value))
    return _Text(value) if isinstance(value, str) and len(value) > _LONG else value


def _field_errors(error: Any) -> Iterator[FieldError]:  # noqa: ANN401 - the library has no types
    """Yield what is wrong at one path; missing and unknown fields each by name."""
    path = (PAYLOAD, *error.absolute_path)
    match error.validator:
        case "required":
            for name in error.validator_value:
                if name not in error.instance:
                    yield FieldError(_path(*path, name), "This field is required.")
        case "additionalProperties" if error.validator_value is False:
            for name in islice(_unknown(error.instance, error.schema), ENOUGH_ERRORS):
                yield FieldError(_path(*path, name), "The schema has no such field; leave it out.")
        case keyword:
            sentence = _SENTENCES.get(keyword) if isinstance(keyword, str) else None
            said = sentence(error.validator_value) if sentence else f"The schema's {keyword or 'false'} does not hold."
            yield FieldError(_path(*path), said)


def _unknown(instance: Mapping[str, object], schema: Mapping[str, Any]) -> Iterator[str]:
    patterns = [*schema.get("patternProperties", ())]
    for name in instance:
        if name not in schema.get("properties", ()) and not any(re.search(pattern, name) for pattern in patterns):
            yield name


def _path(*path: str | int) -> str:
    return ".".join(shortened(str(part)) for part in path)


def _text(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def refuse_misfit(edge: ApiContext, job_key: JobKey, payload: object) -> None:
    """Raise ProblemError that names each path at which a payload does not match, or says that it is too large."""
    text = compact(payload)
    is_small = fits_all(text)  # every target accepts this size, so the job is read without its target
    job = edge.context.store.jobs.read([job_key], with_work=not is_small)[0]
    if job is None:
        return
    task = None if job.task_id is None else _task(edge, TaskKey(job_key.tenant, job.task_id))
    wrong = [*_against_schema(task, payload), *([] if is_small else _against_target(task, job, text))]
    if wrong:
        raise invalid(wrong)


def _task(edge: ApiContext, key: TaskKey) -> Task | None:
    return read_tasks(edge.context, [key]).get(key)


def _against_schema(task: Task | None, payload: object) -> list[FieldError]:
    if task is None or task.spec.payload_schema is None:
        return []
    return misfits(task.spec.payload_schema, payload, Allowance())


def _against_target(task: Task | None, job: Job, payload: str) -> Iterator[FieldError]:
    if task is not None:
        target = task.spec.target
    elif job.spec.work is not None:
        target = job.spec.work.target
    else:
        return
    sentence = too_large(target, payload)
    if sentence is not None:
        yield FieldError("payload", sentence)
