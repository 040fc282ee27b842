"""The parameters of paths, queries and headers, with their descriptions in the document."""

from collections.abc import Mapping
from typing import Any, Final

from timeball.api.dead_letters.request import ERROR_CHARACTERS, DeadLetterFilter
from timeball.api.http.cursor import DEFAULT_LIMIT, MAX_LIMIT
from timeball.api.http.fields import INSTANT_SCHEMA
from timeball.api.http.generations import DEPTH, RUN_ID
from timeball.api.jobs.reading import STATUSES
from timeball.api.limits import LIMIT_NAME
from timeball.domain.model.reason import FAILURES
from timeball.domain.model.runs.run import RunState

_ETAG_OR_ANY: Final = {"type": "string", "if": {"not": {"const": "*"}}, "then": {"pattern": r'^(W/)?"[!#-~]*"$'}}
"""A plain string, because generators of clients accept no union in a header."""

_PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "jobId": {
        "in": "path",
        "required": True,
        "description": "The id of the job.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "fireTime": {
        "in": "path",
        "required": True,
        "description": "The fire time of the cycle; for a graph of jobs that run once, the fire time of any of them.",
        "schema": INSTANT_SCHEMA,
    },
    "revision": {
        "in": "path",
        "required": True,
        "description": "A version of the job.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "actor": {
        "in": "query",
        "description": "Only changes by the API key with this id.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$"},
    },
    "name": {
        "in": "path",
        "required": True,
        "description": "The name of the calendar.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "taskId": {
        "in": "path",
        "required": True,
        "description": "The id of the task.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "freezeId": {
        "in": "path",
        "required": True,
        "description": "The id of the freeze.",
        "schema": {"type": "string"},
    },
    "tenant": {
        "in": "path",
        "required": True,
        "description": "The name of the tenant.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}$"},
    },
    "keyId": {
        "in": "path",
        "required": True,
        "description": "The id of the API key.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}[.][0-9a-f]{12}$"},
    },
    "runId": {
        "in": "path",
        "required": True,
        "description": "The id of the run.",
        "schema": {"type": "string"},
    },
    "backfillId": {
        "in": "path",
        "required": True,
        "description": "The id of the backfill.",
        "schema": {"type": "string", "pattern": "^[a-z0-9]{1,26}$"},
    },
    "operationId": {
        "in": "path",
        "required": True,
        "description": "The id of the operation.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "status": {
        "in": "query",
        "description": "Only runs in one of these states.",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "minItems": 1, "items": {"enum": [state.value for state in RunState]}},
    },
    "from": {
        "in": "query",
        "description": "Only rows whose (first) fire time is at this time or later.",
        "schema": INSTANT_SCHEMA,
    },
    "to": {
        "in": "query",
        "description": "Only rows whose (first) fire time is at this time or earlier.",
        "schema": INSTANT_SCHEMA,
    },
    "reason": {
        "in": "query",
        "schema": {"enum": [reason.value for reason in FAILURES]},
    },
    "error": {
        "in": "query",
        "schema": {"type": "string", "minLength": 1, "maxLength": ERROR_CHARACTERS},
    },
    "tag": {
        "in": "query",
        "description": "Only jobs with all of these tags, each a key and a value separated by a colon, such as "
        "`tag=team:blue&tag=env:prod`.",
        "style": "form",
        "explode": True,
        "schema": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^[^:]+:"}},
    },
    "limit": {
        "in": "query",
        "description": "The most items of a page.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    },
    "cursor": {
        "in": "query",
        "description": "The `nextCursor` of the page before, for the same query. Empty: the first page.",
        "schema": {"type": "string", "pattern": "^([A-Za-z0-9_-]{12,})?$"},
    },
    "Idempotency-Key": {
        "in": "header",
        "description": "A repeat with the same key and body gets the first answer, with `Idempotency-Replayed: true`.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    DEPTH: {
        "in": "header",
        "description": "The generation of the call during which the request is sent; what it creates has the next one.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 9999},
    },
    RUN_ID: {
        "in": "header",
        "description": "The run of the call during which the request is sent.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "in": "header",
        "description": "`*`: carry out the request only if the resource does not exist.",
        "schema": {"type": "string", "enum": ["*"]},
    },
    "If-Match": {
        "in": "header",
        "description": "An ETag: carry out the request only if the resource still has it. `*` means any.",
        "schema": {**_ETAG_OR_ANY, "examples": ['"3"', "*"]},
    },
}
_AGAINST_A_LIMIT: Final = (
    "A repeat finds no dead letters left, and no answer is stored. Refused beside `limit`, where a repeat would go on."
)
_ELSEWHERE: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("/v1/limits/{name}", "name"): {
        "description": "The name of the limit.",
        "schema": {"type": "string", "pattern": f"^{LIMIT_NAME.pattern}$"},
    },
    ("/v1/jobs", "status"): {
        "description": "Only jobs in one of these statuses.",
        "schema": {"type": "array", "minItems": 1, "items": {"enum": [str(status) for status in STATUSES]}},
    },
    ("/v1/jobs:batch", "Idempotency-Key"): {
        "description": "Covers each item by its index: under the same key an unchanged item gets the same answer as "
        "before, with 201 or 200, and a changed item gets a 422.",
    },
    ("/v1/jobs", "taskId"): {"in": "query", "required": False, "description": "Only jobs that name this task."},
    ("/v1/jobs", "from"): {"description": "Only jobs created at this time or later."},
    ("/v1/jobs", "to"): {"description": "Only jobs created at this time or earlier."},
    ("/v1/changes", "jobId"): {"in": "query", "required": False, "description": "Only changes of this job."},
    ("/v1/changes", "from"): {"description": "Only changes at this time or later."},
    ("/v1/changes", "to"): {"description": "Only changes at this time or earlier."},
    **{
        ("/v1/dead-letters", field.alias or ""): {"in": "query", "required": False, "description": field.description}
        for field in DeadLetterFilter.model_fields.values()
    },
    ("/v1/dead-letters:replay", "Idempotency-Key"): {"description": _AGAINST_A_LIMIT},
    ("/v1/dead-letters:discard", "Idempotency-Key"): {"description": _AGAINST_A_LIMIT},
}
"""The meanings of the same names on other paths. A list of dead letters has the parameters of its filter in a body."""


def described_parameter(name: str, path: str) -> dict[str, Any]:
    """Return the description of a parameter on a path."""
    return {"name": name, **_PARAMETERS[name], **_ELSEWHERE.get((path, name), {})}
