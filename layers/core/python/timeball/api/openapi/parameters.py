"""The parameters of paths, queries and headers, with their descriptions in the document."""

from collections.abc import Mapping
from typing import Any, Final

from timeball.api.dead_letters.request import ERROR_CHARACTERS, DeadLetterFilter
from timeball.api.http.cursor import DEFAULT_LIMIT, MAX_LIMIT, MOST_OF_A_GRAPH
from timeball.api.http.depths import DEPTH, RUN_ID
from timeball.api.http.fields import INSTANT_SCHEMA
from timeball.api.http.traces import TRACEPARENT
from timeball.api.jobs.listing import ANY_TEXT, ORDERS, STATUSES, SUMMARY
from timeball.api.limits import LIMIT_NAME
from timeball.api.runs.listing import SORTS
from timeball.domain.dependencies.named_cycle import NAMED_CYCLE
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.reason import FAILURES, Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Children
from timeball.engine.scheduling.list_jobs import MAX_SORTED, Kind

_ETAG_OR_ANY: Final = {"type": "string", "if": {"not": {"const": "*"}}, "then": {"pattern": r'^(W/)?"[!#-~]*"$'}}
"""A plain string, because generators of clients accept no union in a header."""

_ID: Final = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
_TEXT: Final = {"type": "string"}
_SEARCHED: Final = {"type": "string", "pattern": f"^{ANY_TEXT.pattern}$"}


def _path(description: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"in": "path", "required": True, "description": description, "schema": schema}


def _query(description: str, schema: Mapping[str, Any], **form: object) -> Mapping[str, Any]:
    return {"in": "query", "description": description, **form, "schema": schema}


def _header(description: str, schema: Mapping[str, Any], example: object) -> Mapping[str, Any]:
    return {"in": "header", "description": description, "schema": schema, "example": example}


_PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "jobId": _path("The id of the job.", _ID),
    "cycleId": _path(
        "The cycle: its fire time, or for a graph of jobs that run once the fire time of any of them; the `cycleId` of "
        "a trigger, `manual-…`; of an event, `event-…`; or of a backfill, `{backfillId}-{fireTime}`.",
        {"type": "string", "anyOf": [{"pattern": INSTANT_SCHEMA["pattern"]}, {"pattern": NAMED_CYCLE}]},
    ),
    "revision": _path("A version of the job.", {"type": "integer", "minimum": 1}),
    "actor": _query(
        "Only changes by the API key with this id.",
        {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$"},
    ),
    "name": _path("The name of the calendar.", _ID),
    "taskId": _path("The id of the task.", _ID),
    "freezeId": _path("The id of the freeze.", _TEXT),
    "tenant": _path("The name of the tenant.", {"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}$"}),
    "keyId": _path("The id of the API key.", {"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}[.][0-9a-f]{12}$"}),
    "runId": _path("The id of the run.", _TEXT),
    "backfillId": _path("The id of the backfill.", {"type": "string", "pattern": "^[a-z0-9]{1,26}$"}),
    "operationId": _path("The id of the operation.", _ID),
    "status": _query(
        "Only runs in one of these states.",
        {"type": "array", "minItems": 1, "items": {"enum": [state.value for state in RunState]}},
        style="form",
        explode=False,
    ),
    "from": _query("Only rows whose (first) fire time is at this time or later.", INSTANT_SCHEMA),
    "to": _query("Only rows whose (first) fire time is at this time or earlier.", INSTANT_SCHEMA),
    "sort": _query(
        "By the end, or by the fire time; `-` means the newest first. By the end, live runs are the newest.",
        {"enum": list(SORTS), "default": SORTS[0]},
    ),
    "reason": _query("", {"enum": [reason.value for reason in FAILURES]}),
    "fingerprint": _query("", {"type": "string", "minLength": 1, "maxLength": 64}),
    "error": _query("", {"type": "string", "minLength": 1, "maxLength": ERROR_CHARACTERS}),
    "tag": _query(
        "Only jobs with all of these tags, each a key and a value separated by a colon, such as "
        "`tag=team:blue&tag=env:prod`.",
        {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^[^:]+:"}},
        style="form",
        explode=True,
    ),
    "children": _query(
        "The effect on the open jobs that depend on the job: they no longer depend on it, or they are cancelled too "
        "unless another parent may still let them run. Without it such a job is not cancelled.",
        {"enum": [choice.value for choice in Children]},
    ),
    "q": _query("Only jobs whose id or name begins with this text, in any case.", _SEARCHED),
    "owner": _query("Only jobs of this owner.", _SEARCHED),
    "priority": _query(
        "Only jobs with one of these priorities.",
        {"type": "array", "minItems": 1, "items": {"enum": [priority.value for priority in Priority]}},
        style="form",
        explode=False,
    ),
    "kind": _query(
        "Only jobs of one of these kinds. `dependent`: without a schedule of its own, for it waits for other jobs.",
        {"type": "array", "minItems": 1, "items": {"enum": [kind.value for kind in Kind]}},
        style="form",
        explode=False,
    ),
    "nextRunBefore": _query("Only jobs whose `nextRunAt` is before this time.", INSTANT_SCHEMA),
    "fields": _query("`summary`: only the first fields of each job, up to `tags`.", {"enum": [SUMMARY]}),
    "over": _query("`true`: only freezes that are over; by default those that are not.", {"enum": ["true", "false"]}),
    "limit": _query(
        "The most items of a page.", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    ),
    "cursor": _query(
        "The `nextCursor` of the page before, for the same query. Empty: the first page.",
        {"type": "string", "pattern": "^([A-Za-z0-9_-]{12,})?$"},
    ),
    "Idempotency-Key": _header(
        "A repeat with the same key and body gets the first answer, with `Idempotency-Replayed: true`.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        "order-1",
    ),
    DEPTH: _header(
        "The depth of the call during which the request is sent; what it creates has the next one.",
        {"type": "integer", "minimum": 0, "maximum": 9999},
        1,
    ),
    TRACEPARENT: _header(
        "The trace context (W3C) that the run continues; a malformed one is ignored, and a recurring job keeps none.",
        _TEXT,
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
    RUN_ID: _header("The run of the call during which the request is sent.", _TEXT, "import.1795253400250.s"),
    "If-None-Match": _header(
        "`*`: carry out the request only if the resource does not exist.", {"type": "string", "enum": ["*"]}, "*"
    ),
    "If-Match": _header(
        "An ETag: carry out the request only if the resource still has it. `*` means any.",
        _ETAG_OR_ANY,
        '"3"',
    ),
}
KNOWN_ETAGS: Final[Mapping[str, Any]] = {
    "name": "If-None-Match",
    **_header(
        "ETags of earlier answers, or `*`: a 304 without a body says that the answer still has one of them.",
        _TEXT,
        'W/"x1yVbnqZPd0a"',
    ),
}
"""The header with which a caller reads only an answer that it does not have."""

_AGAINST_A_LIMIT: Final = (
    "A repeat finds no dead letters left, and no answer is stored. Refused beside `limit`, where a repeat would go on."
)
_OF_A_GRAPH: Final = {
    "description": "The most jobs of a page.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MOST_OF_A_GRAPH, "default": MOST_OF_A_GRAPH},
}
_ELSEWHERE: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("/v1/limits/{name}", "name"): {
        "description": "The name of the limit.",
        "schema": {"type": "string", "pattern": f"^{LIMIT_NAME.pattern}$"},
    },
    ("/v1/jobs", "status"): {
        "description": "Only jobs in one of these statuses; `running`: jobs with a run under way.",
        "schema": {"type": "array", "minItems": 1, "items": {"enum": [str(status) for status in STATUSES]}},
    },
    ("/v1/jobs:batch", "Idempotency-Key"): {
        "description": "Covers each item without a `jobId` by its index: under the same key an unchanged item gets the "
        "same answer as before, with 201 or 200, and a changed item gets a 422.",
    },
    ("/v1/jobs", "taskId"): {"in": "query", "required": False, "description": "Only jobs that name this task."},
    ("/v1/jobs", "name"): {
        "in": "query",
        "required": False,
        "description": "Only jobs of exactly this name.",
        "schema": _SEARCHED,
    },
    ("/v1/jobs", "sort"): {
        "in": "query",
        "description": f"The order of the jobs; with a minus the last comes first. Any order but that of `createdAt` "
        f"is only for lists in which at most {MAX_SORTED} jobs are searched.",
        "schema": {"enum": list(ORDERS), "default": "-createdAt"},
    },
    ("/v1/jobs", "from"): {"description": "Only jobs created at this time or later."},
    ("/v1/jobs", "to"): {"description": "Only jobs created at this time or earlier."},
    ("/v1/runs", "jobId"): {"in": "query", "required": False, "description": "Only runs of this job."},
    ("/v1/runs", "taskId"): {"in": "query", "required": False, "description": "Only runs whose job named this task."},
    ("/v1/runs", "reason"): {
        "description": "Only runs with this reason.",
        "schema": {"enum": [reason.value for reason in Reason]},
    },
    ("/v1/runs", "tag"): {
        "description": "Only runs of jobs with all of these tags, each a key and a value separated by a colon.",
    },
    ("/v1/runs", "from"): {
        "description": "Only runs whose end (by `fireTime`: whose fire time) is at this time or later; a live run "
        "counts with its start.",
    },
    ("/v1/runs", "to"): {
        "description": "Only runs whose end (by `fireTime`: whose fire time) is at this time or earlier. If `status` "
        "is missing or has `succeeded`, and without `jobId`, at most an hour after `from`, which is the default.",
    },
    ("/v1/upcoming", "jobId"): {"in": "query", "required": False, "description": "Only fires of this job."},
    ("/v1/upcoming", "from"): {"description": "Only fires at this time or later; default: now."},
    ("/v1/upcoming", "to"): {
        "description": "Only fires at this time or earlier, at most 400 days ahead; default: a day after `from`."
    },
    ("/v1/upcoming", "limit"): {"schema": {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 1_000}},
    ("/v1/jobs/{jobId}/graph", "limit"): _OF_A_GRAPH,
    ("/v1/cycles/{jobId}/{cycleId}", "limit"): _OF_A_GRAPH,
    ("/v1/changes", "jobId"): {"in": "query", "required": False, "description": "Only changes of this job."},
    ("/v1/changes", "from"): {"description": "Only changes at this time or later."},
    ("/v1/changes", "to"): {"description": "Only changes at this time or earlier."},
    **{
        (path, field.alias or ""): {"in": "query", "required": False, "description": field.description}
        for path in ("/v1/dead-letters", "/v1/dead-letters:groups")
        for field in DeadLetterFilter.model_fields.values()
    },
    ("/v1/dead-letters:replay", "Idempotency-Key"): {"description": _AGAINST_A_LIMIT},
    ("/v1/dead-letters:discard", "Idempotency-Key"): {"description": _AGAINST_A_LIMIT},
}
"""The meanings of the same names on other paths. A list of dead letters has the parameters of its filter in a body."""


def described_parameter(name: str, path: str) -> dict[str, Any]:
    """Return the description of a parameter on a path."""
    return {"name": name, **_PARAMETERS.get(name, {}), **_ELSEWHERE.get((path, name), {})}
