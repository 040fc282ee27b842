"""The parameters of paths, queries and headers: what the document says of them."""

from collections.abc import Mapping
from typing import Any, Final

from functions.api.dead_letters.request import ERROR_CHARACTERS
from functions.api.http.fields import INSTANT_SCHEMA
from functions.api.http.generations import DEPTH, RUN_ID
from functions.api.http.paging import DEFAULT_LIMIT, MAX_LIMIT
from functions.api.jobs.listing import STATUSES
from functions.api.keys.fields import FLOW_KEY
from timeball.domain.model.reason import FAILURES
from timeball.domain.model.runs.run import RunState

_ETAG_OR_ANY: Final = {"type": "string", "if": {"not": {"const": "*"}}, "then": {"pattern": r'^(W/)?"[!#-~]*"$'}}
"""A string, for generators of clients, which take no union in a header."""

_PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "jobId": {
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "fireTime": {
        "in": "path",
        "required": True,
        "description": "The fire time of the cycle; of a graph of jobs that run once that of any of them.",
        "schema": INSTANT_SCHEMA,
    },
    "revision": {
        "in": "path",
        "required": True,
        "description": "A version that the job had.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "actor": {
        "in": "query",
        "description": "Only what the API key of this id did.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$"},
    },
    "name": {
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "taskId": {
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "freezeId": {"in": "path", "required": True, "schema": {"type": "string"}},
    "tenant": {
        "in": "path",
        "required": True,
        "description": "A tenant's name.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}$"},
    },
    "keyId": {
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}[.][0-9a-f]{12}$"},
    },
    "key": {"in": "path", "required": True, "schema": {"type": "string", "pattern": f"^{FLOW_KEY.pattern}$"}},
    "runId": {"in": "path", "required": True, "schema": {"type": "string"}},
    "backfillId": {
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[a-z0-9]{1,26}$"},
    },
    "operationId": {
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "status": {
        "in": "query",
        "description": "Only runs in one of these states.",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "minItems": 1, "items": {"enum": [state.value for state in RunState]}},
    },
    "from": {"in": "query", "description": "No (first) fire time before this.", "schema": INSTANT_SCHEMA},
    "to": {"in": "query", "description": "No (first) fire time after this.", "schema": INSTANT_SCHEMA},
    "reason": {
        "in": "query",
        "description": "Only runs with this reason.",
        "schema": {"enum": [reason.value for reason in FAILURES]},
    },
    "error": {
        "in": "query",
        "description": "Part of what the last attempt's error says, in upper or lower case.",
        "schema": {"type": "string", "minLength": 1, "maxLength": ERROR_CHARACTERS},
    },
    "tag": {
        "in": "query",
        "description": "Only jobs with all of these tags, each a key and a value with a colon between, such as "
        "`tag=team:blue&tag=env:prod`.",
        "style": "form",
        "explode": True,
        "schema": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^[^:]+:"}},
    },
    "limit": {
        "in": "query",
        "description": "Items of a page.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    },
    "cursor": {
        "in": "query",
        "description": "`nextCursor` of the page before; the rest of the query must be the same. Empty: the first.",
        "schema": {"type": "string", "pattern": "^([A-Za-z0-9_-]{12,})?$"},
    },
    "Idempotency-Key": {
        "in": "header",
        "description": "The same key and body gives the first answer, with `Idempotency-Replayed: true`.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    DEPTH: {
        "in": "header",
        "description": "As the call brought it from which this comes: what is made is a generation deeper.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 9999},
    },
    RUN_ID: {
        "in": "header",
        "description": "As the call brought it from which this comes.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "in": "header",
        "description": "`*`: the request is done only if the resource is not there yet.",
        "schema": {"type": "string", "enum": ["*"]},
    },
    "If-Match": {
        "in": "header",
        "description": "An ETag: the request is done only if the resource still has it. `*` means any.",
        "schema": {**_ETAG_OR_ANY, "examples": ['"3"', "*"]},
    },
}
_AGAINST_A_LIMIT: Final = (
    "Keeps no answer, for what was dealt with is dead no more; refused beside `limit`, whose repeat goes further."
)
_ELSEWHERE: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("/v1/jobs", "status"): {
        "description": "Only jobs in one of these statuses.",
        "schema": {"type": "array", "minItems": 1, "items": {"enum": [str(status) for status in STATUSES]}},
    },
    ("/v1/jobs:batch", "Idempotency-Key"): {
        "description": "Covers each item by its place: under the same key an item that is the same is answered as "
        "before, with 201 or 200, and one that has changed with 422.",
    },
    ("/v1/jobs", "taskId"): {"in": "query", "required": False, "description": "Only jobs that name this task."},
    ("/v1/jobs", "from"): {"description": "Not created before this."},
    ("/v1/jobs", "to"): {"description": "Not created after this."},
    ("/v1/audit", "jobId"): {"in": "query", "required": False, "description": "Only what was done to this job."},
    ("/v1/audit", "from"): {"description": "Nothing before this."},
    ("/v1/audit", "to"): {"description": "Nothing after this."},
    ("/v1/dead-letters", "jobId"): {"in": "query", "required": False, "description": "Only runs of this job."},
    ("/v1/dead-letters", "taskId"): {
        "in": "query",
        "required": False,
        "description": "Only runs of jobs that named this task.",
    },
    ("/v1/dead-letters", "from"): {"description": "No death before this."},
    ("/v1/dead-letters", "to"): {"description": "No death after this."},
    ("/v1/dead-letters:replay", "Idempotency-Key"): {"description": _AGAINST_A_LIMIT},
    ("/v1/dead-letters:discard", "Idempotency-Key"): {"description": _AGAINST_A_LIMIT},
}
"""What the same names mean on other paths."""


def described_parameter(name: str, path: str) -> dict[str, Any]:
    """Return the description of a parameter of a path."""
    return {"name": name, **_PARAMETERS[name], **_ELSEWHERE.get((path, name), {})}
