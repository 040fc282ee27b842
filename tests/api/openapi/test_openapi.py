"""The document matches the code: it is made from the same table and models.

client.py checks every answer of every test against it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qsl

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from tests.api.client import DOCUMENT, Api
from tests.api.runs.rows import dead, waiting
from timeball.api.backfills.request import BackfillRequest
from timeball.api.calendars.request import CalendarBody, CalendarRequest
from timeball.api.dead_letters.request import DeadLetterFilter, DiscardRequest, ReplayRequest
from timeball.api.freezes import FreezeRequest
from timeball.api.http.problems import Problem
from timeball.api.jobs.request import JobRequest
from timeball.api.jobs.triggering import TriggerRequest
from timeball.api.openapi.document import document, document_text
from timeball.api.operations.request import MatchRequest, OperationRequest
from timeball.api.routes import ROUTES
from timeball.api.runs.callbacks import CompleteRequest, FailRequest, FanOutRequest, HeartbeatRequest
from timeball.api.schedules.preview import PreviewRequest
from timeball.api.targets import models as targets
from timeball.domain.model.terms.target import HttpTarget
from timeball.targets.http import request
from timeball.targets.http.addresses import parse_url

BODIES = [
    JobRequest,
    PreviewRequest,
    TriggerRequest,
    BackfillRequest,
    CalendarRequest,
    CalendarBody,
    FreezeRequest,
    CompleteRequest,
    FailRequest,
    HeartbeatRequest,
    FanOutRequest,
    ReplayRequest,
    DiscardRequest,
    DeadLetterFilter,
    OperationRequest,
    MatchRequest,
]
NEEDED: dict[type[BaseModel], list[str]] = {
    BackfillRequest: ["from", "to"],
    CalendarRequest: ["name", "timezone"],
    CalendarBody: ["timezone"],
    FreezeRequest: ["match"],
    CompleteRequest: ["attempt"],
    FailRequest: ["attempt"],
    OperationRequest: ["action", "match"],
    HeartbeatRequest: ["attempt"],
    FanOutRequest: ["attempt", "items"],
}
"""The fields that each body requires; a missing one is reported together with all other mistakes."""
DOCS = Path(__file__).parents[3] / "docs"
MANUAL = DOCS / "reference/api.md"


def test_the_checked_in_document_is_current() -> None:
    written = (DOCS / "openapi.json").read_text(encoding="utf-8")
    assert written == document_text(), "Run: .venv/bin/python -m timeball.api.openapi"


def test_the_document_is_served(api: Api) -> None:
    answer = api.call("GET", "/openapi.json", tenant=None)
    assert answer.body == document("/")
    assert answer.body["openapi"] == "3.1.0"


def test_every_route_is_in_the_document_and_nothing_else() -> None:
    operations = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert operations == {(route.method, route.path) for route in ROUTES}
    ids = [operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()]
    assert len(set(ids)) == len(ids)


def test_every_operation_id_is_a_verb_and_a_noun_and_stands_once() -> None:
    ids = [operation["operationId"] for methods in document()["paths"].values() for operation in methods.values()]
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if not re.fullmatch("[a-z]+([A-Z][a-z]+)+", name) or re.search("An?[A-Z]", name)] == []


def test_an_operation_that_reads_gets_one_resource_or_lists_several() -> None:
    for route in (route for route in ROUTES if route.method == "GET" and "application/json" in route.media_type):
        fields = {} if route.answer is None else route.answer.model_fields
        is_list = "next_cursor" in fields and "is_cut" not in fields  # a graph is one resource that has pages
        assert route.operation_id.startswith("list" if is_list else "get"), route.operation_id


def test_only_public_routes_are_open() -> None:
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        assert (operation.get("security") == []) == route.is_public
        assert ("401" in operation["responses"]) != route.is_public


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (part["$ref"],) if "$ref" in part else ()
        for child in part.values():
            yield from _references(child)
    elif isinstance(part, list):
        for child in part:
            yield from _references(child)


def test_every_reference_resolves_and_every_schema_is_used() -> None:
    described = DOCUMENT
    for reference in set(_references(described)):
        found: Any = described
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]
    used = {reference.rpartition("/")[2] for reference in _references(described)}
    assert set(described["components"]["schemas"]) <= used


@pytest.mark.parametrize("model", BODIES)
def test_a_body_has_the_fields_of_its_model_and_requires_only_needed_fields(
    model: type[BaseModel],
) -> None:
    schema = DOCUMENT["components"]["schemas"][model.__name__]
    assert set(schema["properties"]) == {field.alias for field in model.model_fields.values()}
    assert schema.get("required", []) == NEEDED.get(model, [])
    assert schema["additionalProperties"] is False


def test_every_field_of_a_schema_and_every_parameter_is_described() -> None:
    fields = [
        (name, field)
        for name, schema in DOCUMENT["components"]["schemas"].items()
        for field, part in schema.get("properties", {}).items()
        if "description" not in part
    ]
    parameters = [
        (path, parameter["name"])
        for path, methods in DOCUMENT["paths"].items()
        for operation in methods.values()
        for parameter in operation.get("parameters", [])
        if "description" not in parameter
    ]
    assert (fields, parameters) == ([], [])


def _but_items(schema: Any) -> Any:
    """Return a schema without the schemas of list items, because a patch replaces a list as a whole."""
    if isinstance(schema, dict):
        return {name: _but_items(part) for name, part in schema.items() if name != "items"}
    return [_but_items(part) for part in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize(("ref", "is_allowed"), [("a", True), (None, True), ("a b", False), (1, False)])
def test_an_item_of_a_batch_may_have_a_ref_beside_the_fields_of_a_job(
    api: Api, ref: object, *, is_allowed: bool
) -> None:
    schema = Draft202012Validator({**DOCUMENT, "$ref": "#/components/schemas/BatchRequest"})
    body = {"jobs": [{"handler": "https://example.com", "ref": ref}]}
    assert schema.is_valid(body) is is_allowed
    assert api.call("POST", "/v1/jobs:batch", body).body["items"][0]["status"] == (201 if is_allowed else 400)


def test_a_patch_may_give_any_field_of_a_job_and_remove_any() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    patch = schemas["JobPatch"]
    assert set(patch["properties"]) == set(schemas["JobRequest"]["properties"])
    assert patch["additionalProperties"] is False
    assert "required" not in json.dumps(_but_items(patch))
    assert "$ref" not in json.dumps(patch)
    for name, field in patch["properties"].items():
        assert name == "payload" or {"type": "null"} in field["anyOf"]
    targets, _ = patch["properties"]["target"]["anyOf"]
    target = targets["anyOf"][0]
    assert target["properties"]["url"]["type"] == "string"
    assert {"type": "null"} in target["properties"]["headers"]["anyOf"][0]["additionalProperties"]["anyOf"]
    content = DOCUMENT["paths"]["/v1/jobs/{jobId}"]["patch"]["requestBody"]["content"]
    assert set(content) == {"application/merge-patch+json", "application/json"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_manual_names_every_route(route: Any) -> None:
    assert route.path in MANUAL.read_text(encoding="utf-8")


@pytest.mark.parametrize("problem", Problem)
def test_the_manual_names_every_problem_with_its_status(problem: Problem) -> None:
    row = rf"\| `{problem.slug}` \| {problem.status} \|"
    assert re.search(row, MANUAL.read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", BODIES)
def test_the_manual_names_every_field_of_a_body(model: type[BaseModel]) -> None:
    manual = MANUAL.read_text(encoding="utf-8")
    for field in model.model_fields.values():
        assert f"`{field.alias}" in manual


def test_the_examples_of_the_manual_are_accepted(api: Api) -> None:
    examples = re.findall(r"```json\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        assert api.call("POST", "/v1/jobs", json.loads(example)).status == 201


def test_the_requests_of_the_manual_are_accepted(api: Api) -> None:
    """Send each request to one job, in the order of the page; requests about a run go to a run that fits."""
    requests = re.findall(r"```http\n(\w+) (\S+)\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    job = api.create(everySeconds=3600)
    seen = []
    for method, target, rest in requests:
        path, _, query = target.partition("?")
        head, _, body = f"\n{rest}".partition("\n\n")
        headers = dict(line.split(": ") for line in head.splitlines() if line)
        run = dead(api, job) if path.endswith(("/retry", "/succeed")) else waiting(api)
        where = path.format(**job, runId=run.id, cycleId=job["nextRunAt"])
        answer = api.call(method, where, raw=body.strip().encode(), headers=headers, query=dict(parse_qsl(query)))
        assert answer.status in {200, 201, 202}, answer.text
        seen.append(f"{method} {path}")
    assert {route for route in seen if route.startswith(("POST", "PATCH"))} >= {
        "POST /v1/jobs/{jobId}/pause",
        "PATCH /v1/jobs/{jobId}",
        "POST /v1/jobs/{jobId}/trigger",
        "POST /v1/jobs/{jobId}/backfills",
        *(
            f"POST /v1/runs/{{runId}}/{verb}"
            for verb in ("retry", "cancel", "succeed", "complete", "fail", "heartbeat")
        ),
        "POST /v1/dead-letters:replay",
        "POST /v1/dead-letters:discard",
        "POST /v1/operations",
    }


class TestWhatIsAcceptedCanBeSent:
    def test_the_documented_methods_are_those_of_the_caller(self) -> None:
        assert set(get_args(targets.HttpTargetField.model_fields["method"].annotation)) == request.METHODS

    @pytest.mark.parametrize("name", sorted(request.RESERVED_HEADERS))
    def test_a_header_that_the_caller_refuses_is_not_accepted(self, api: Api, name: str) -> None:
        target = {"type": "http", "url": "https://example.com", "headers": {name.title(): "x"}}
        assert api.call("POST", "/v1/jobs", {"target": target}).status == 400

    @pytest.mark.parametrize(
        "url",
        [
            "http://example.com",
            "https://example.com.:8443/a/b?c=d&e=%20f",
            "HTTPS://EXAMPLE.COM/",
            "https://1.1.1.1/",
            "https://[2606:4700::1111]:8443/x",
            "https://[::ffff:1.1.1.1]",
            "https://xn--bcher-kva.example/",
            "https://a_b.example/",
            "https://example.com:/",
            "https://localhost",
            "https://example.com?x=1",
        ],
    )
    def test_the_caller_can_read_every_url_that_is_accepted(self, api: Api, url: str) -> None:
        answer = api.call("POST", "/v1/jobs", {"handler": url})
        assert answer.status == 201, answer.text
        assert parse_url(url).host
        request.check_headers(HttpTarget(url, headers={"X-A": "b c\td"}))
