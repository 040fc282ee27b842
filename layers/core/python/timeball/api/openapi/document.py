"""The OpenAPI 3.1 document, made from the table of routes and the models; a test keeps docs/openapi.json current."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from timeball.api.admin.keys import KeyAnswer, NewKeyAnswer
from timeball.api.admin.request import KeyRequest, TenantRequest
from timeball.api.admin.tenants import TenantAnswer
from timeball.api.backfills.operations import BackfillAnswer
from timeball.api.http.access import either, roles_for
from timeball.api.http.exchange import MERGE_PATCH
from timeball.api.http.problems import CONTENT_TYPE, Problem, ProblemDetails
from timeball.api.http.route import Route
from timeball.api.http.schema_rules import one_at_most
from timeball.api.jobs.answers import JobAnswer
from timeball.api.jobs.request import SCHEDULE_FORMS, TO_CALL, JobRequest
from timeball.api.openapi.examples import example_of_answer, example_of_body
from timeball.api.openapi.parameters import KNOWN_ETAGS, described_parameter
from timeball.api.operations.operations import OperationAnswer
from timeball.api.routes import ROUTES

_NULL: Final = {"type": "null"}
_LEFT_OUT_OF_A_PATCH: Final = {"required", "default", "allOf", "oneOf", "discriminator"}
"""A patch need not give a required field, nor the field that selects one of several models."""


def patch_of(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a patch: no field is required, objects may be partial, and null removes optional fields.

    `schemas` has the schemas that references lead to, by name; the patch's schema contains copies of them.
    """
    if "$ref" in schema:
        return patch_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    patch = {name: part for name, part in schema.items() if name not in _LEFT_OUT_OF_A_PATCH}
    for alternatives in (schema[name] for name in ("anyOf", "oneOf") if name in schema):
        patch["anyOf"] = [patch_of(part, schemas) for part in alternatives]
    if "properties" in schema:
        patch["properties"] = _properties_of_a_patch(schema, schemas)
    if isinstance(schema.get("additionalProperties"), dict):
        patch["additionalProperties"] = _nullable(patch_of(schema["additionalProperties"], schemas))
    return patch


def _properties_of_a_patch(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    changes = {name: patch_of(part, schemas) for name, part in schema["properties"].items()}
    needed = schema.get("required", [])
    return {name: part if name in needed else _nullable(part) for name, part in changes.items()}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    is_anything = not schema.keys() & {"type", "enum", "const", "anyOf"}
    if is_anything or _NULL in schema.get("anyOf", []):
        return schema
    return {"anyOf": [schema, _NULL]}


VERSION: Final = "1.0.0"
SERVER: Final = "https://timeball.example"
"""The base URL in the checked-in document; an API serves the document with its own base path."""

_REF: Final = "#/components/schemas/{model}"
_VERSIONED: Final = (JobAnswer, BackfillAnswer, OperationAnswer, TenantAnswer, KeyAnswer, NewKeyAnswer)
"""The answers with an ETag."""
_PATCH_OF: Final[dict[type[BaseModel], str]] = {
    JobRequest: "JobPatch",
    KeyRequest: "KeyPatch",
    TenantRequest: "TenantPatch",
}
_EXCLUSIVE: Final[dict[type[BaseModel], Sequence[Sequence[str]]]] = {JobRequest: (TO_CALL, SCHEDULE_FORMS)}
"""Fields of which a patch may give only one, like the whole body; other rules depend on what is patched."""


TAGS: Final[Mapping[str, str]] = {
    "Jobs": "What is called, when, and by which policies.",
    "Runs": "A run for each fire, with its attempts; reports of targets; what is done by hand.",
    "Dead letters": "Runs that failed for good, until they are replayed or discarded.",
    "Dependencies": "The graph of jobs that wait for jobs.",
    "Cycles": "All runs of a graph for one fire time.",
    "Backfills": "Fires of the past, run as an object of their own.",
    "Events": "Events that start jobs.",
    "Operations": "A change of all jobs or runs that match, with its progress.",
    "Tasks": "What many jobs have in common: a target and policies.",
    "Targets": "Try a call of a target.",
    "Schedules": "The fires of a schedule, without a job.",
    "Calendars": "Dates on which jobs do not fire.",
    "Freezes": "Times during which jobs do not run.",
    "Limits": "Bounds on the runs of all jobs that name a limit.",
    "History": "The revisions of jobs, and all changes.",
    "Now": "What needs attention, what runs and what fires next, in one answer.",
    "Stats": "Counts, lateness, costs.",
    "Admin": "Tenants, API keys, the signing secret.",
    "Service": "The API itself.",
}
"""The packages of the operations, as tags with descriptions, in the order of the page."""

_DONE: Final = {200: "Done.", 201: "Created.", 202: "Accepted."}
"""The descriptions of successful answers."""


def document(server: str = SERVER) -> dict[str, Any]:
    """Return the document of an API with a base URL, or a base path."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Timeball",
            "version": VERSION,
            "description": "Run work now, later, at an interval or on a cron, and see the result of each run.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server, "description": "The stack in your AWS account."}],
        "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
        "security": [{"apiKey": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "responses": _shared_responses(),
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `tb_...`."}},
        },
    }


@cache
def document_text(server: str = SERVER) -> str:
    """Return the document as JSON text."""
    return json.dumps(document(server), indent=2) + "\n"


def _operation(route: Route) -> dict[str, Any]:
    path_parameters = re.findall(r"\{(\w+)\}", route.path)
    described: dict[str, Any] = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "tags": [tag_of(route)],
        "responses": _responses(route),
    }
    if route.is_public:
        described["security"] = []
    else:
        described["description"] = f"Needs a key with the role {either(roles_for(route.access))}."
    if route.takes_code:
        described["security"] = [{"apiKey": []}, {}]
        described["description"] += " Or needs a one-time code in the body, and no key."
    names = (*path_parameters, *route.query, *route.headers)
    parameters = [described_parameter(name, route.path) for name in names]
    if route.method == "GET":
        parameters.append(dict(KNOWN_ETAGS))
        described["responses"]["304"] = {"description": "You have this answer already.", "headers": _texts("ETag")}
    if parameters:
        described["parameters"] = parameters
    if route.body:
        described["requestBody"] = {"required": not route.is_body_optional, "content": _body_content(route)}
    return described


def tag_of(route: Route) -> str:
    """Return the tag of a route: the package of its operation under `timeball.api`."""
    room = route.operation.__module__.removeprefix("timeball.api.").partition(".")[0]
    return "Service" if room == "routes" else room.replace("_", " ").capitalize()


def _responses(route: Route) -> dict[str, Any]:
    responses = {
        str(status): {
            "description": _DONE[status],
            "headers": _headers(route, status, answer),
            "content": (
                _json_content(answer, example_of_answer(route.operation_id, status))
                if answer
                else {route.media_type: {"schema": {}}}
            ),
        }
        for status, answer in sorted(route.answers.items())
    }
    for status, problems in sorted(_problems_by_status(route).items()):
        responses[str(status)] = _problems_response(problems)
    return responses


def _problems_by_status(route: Route) -> dict[int, list[Problem]]:
    by_status: dict[int, list[Problem]] = {}
    for problem in dict.fromkeys(route.all_problems):
        by_status.setdefault(problem.status, []).append(problem)
    return by_status


def _shared_responses() -> dict[str, Any]:
    """Return the responses that operations refer to: the problems that are alone with their status somewhere."""
    alone = {problems[0] for route in ROUTES for problems in _problems_by_status(route).values() if len(problems) == 1}
    return {problem.slug: _problem_response(problem) for problem in Problem if problem in alone}


def _problems_response(problems: list[Problem]) -> dict[str, Any]:
    if len(problems) == 1:
        return {"$ref": f"#/components/responses/{problems[0].slug}"}
    response = _problem_response(problems[0])
    response["description"] = "; or: ".join(problem.title for problem in problems)
    del response["content"][CONTENT_TYPE]["example"]
    return response


def _headers(route: Route, status: int, answer: type[BaseModel] | None) -> dict[str, Any]:
    names = ["X-Request-Id"]
    if route.method == "GET" or answer in _VERSIONED:
        names.append("ETag")
    if status == 201:
        names += ["Location", "Idempotency-Replayed"]
    return _texts(*names)


def _texts(*names: str) -> dict[str, Any]:
    return {name: {"schema": {"type": "string"}} for name in names}


def _problem_response(problem: Problem) -> dict[str, Any]:
    example = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": f"{problem.title}.",
        "instance": "Kq3vRjZGliAEMJw=",
    }
    schema = {"$ref": _REF.format(model="Problem")}
    return {
        "description": f"{problem.title}.",
        "content": {CONTENT_TYPE: {"schema": schema, "example": example}},
    }


def _json_content(model: type[BaseModel], example: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model.__name__)}, **example}}


def _body_content(route: Route) -> dict[str, Any]:
    if route.body is None:
        return {}
    example = example_of_body(route.operation_id)
    if route.method != "PATCH":
        return _json_content(route.body, example)
    schema = {"$ref": _REF.format(model=_PATCH_OF[route.body])}
    return {media_type: {"schema": schema, **example} for media_type in MERGE_PATCH}


def _schemas() -> dict[str, Any]:
    bodies = {route.body for route in ROUTES if route.body}
    answers = {answer for route in ROUTES for answer in route.answers.values() if answer}
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in bodies),
        *((model, "serialization") for model in answers),
        (ProblemDetails, "serialization"),
    ]
    _, definitions = models_json_schema(wanted, by_alias=True, ref_template=_REF)
    schemas: dict[str, Any] = definitions["$defs"]
    schemas["Problem"] = schemas.pop("ProblemDetails")
    for model, name in _PATCH_OF.items():
        schemas[name] = patch_of(schemas[model.__name__], schemas)
        if model in _EXCLUSIVE:
            schemas[name]["allOf"] = [one_at_most(group, {}) for group in _EXCLUSIVE[model]]
        schemas[name]["description"] = (
            "A merge patch (RFC 7396): given fields replace, null removes, other fields stay."
        )
    return {name: _tidy(schema) for name, schema in sorted(schemas.items())}


def _tidy(schema: Any) -> Any:  # noqa: ANN401 - a schema is any JSON
    """Leave out titles made from names, and defaults of null."""
    if isinstance(schema, list):
        return [_tidy(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _tidy(part)
        for name, part in schema.items()
        if not (name == "title" and isinstance(part, str)) and not (name == "default" and part is None)
    }
