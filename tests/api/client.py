"""A client of the API over the memory fakes: it sends an API Gateway event and parses the answer."""

import base64
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.patterns import matches
from timeball.api.app import build_api
from timeball.api.http.edge import ApiContext
from timeball.api.openapi.document import document, document_text
from timeball.api.openapi.page import page_text
from timeball.api.routes import ROUTES
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.key import Key, Role
from timeball.domain.model.tenants.tenant import new_tenant
from timeball.domain.model.terms.policies import Work
from timeball.domain.time.instants import parse_instant
from timeball.engine.context import Context, Rules
from timeball.engine.events.receive import receive
from timeball.engine.scheduling.dispatch import dispatch
from timeball.engine.tally import Tally
from timeball.ports.due_index import Owner
from timeball.testing import gateway
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.memory_services import MemoryBus
from timeball.testing.memory_store import MemoryStore, MemoryTenants
from timeball.testing.recorders import KeptTelemetry, MemoryTrials
from timeball.testing.virtual_clock import VirtualClock

DOCUMENT = document()
NOW = parse_instant("2026-11-21T09:30:00.250Z")
OPERATING = "acme"
"""The tenant whose admins manage all tenants."""
SECRET = "s" * 64


@dataclass(frozen=True)
class Answer:
    """An answer as a client sees it."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    def bad_fields(self) -> list[str]:
        return [error["field"] for error in self.body["errors"]]


@dataclass
class Api:
    """The API of one test, with its store, queue, bus and clock; with `counts`, `flush` writes what was counted."""

    store: MemoryStore = field(default_factory=MemoryStore)
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(NOW))
    tenants: MemoryTenants = field(default_factory=MemoryTenants)
    counts: bool = False
    console: str | None = None

    def __post_init__(self) -> None:
        self.queue = MemoryQueue(self.clock.now)
        self.bus = MemoryBus(matches)
        self.trials = MemoryTrials()
        self.tally = Tally(self.clock, KeptTelemetry())
        telemetry = self.tally if self.counts else KeptTelemetry()
        self.context = Context(self.store, self.queue, self.clock, Rules(), telemetry)
        numbers = itertools.count(1)
        self.tenants.tenants.insert([new_tenant(name, NOW) for name in (OPERATING, "globex")], NOW)
        self.tenants.keys.insert([Key(key_id, "", Role.ADMIN, NOW) for key_id in ("key_1", "key_2")], NOW)
        self.edge = ApiContext(
            self.context,
            lambda: next(numbers).to_bytes(16),
            document_text,
            page_text,
            lambda at: self.clock.advance(max(0, at - self.clock.now())),
            operating_tenant=OPERATING,
            tenants=self.tenants,
            signing_secrets=lambda: self.store.signing.secrets(SECRET).accepted(self.clock.now()),
            bus=self.bus,
            trials=self.trials,
            console=self.console,
        )
        self.handle = build_api(self.edge)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        tenant: str | None = "acme",
        key: str = "key_1",
        key_name: str | None = None,
        role: str = "admin",
        bounds: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str | Sequence[str]] | None = None,
        as_base64: bool = False,
        session: str | None = None,
    ) -> Answer:
        sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        event = event_of(method, path, tenant, headers or {}, query or {}, key, role) | _body(sent, as_base64=as_base64)
        found = event["requestContext"]["authorizer"]["lambda"]
        if key_name:
            found["keyName"] = json.dumps(key_name)
        if bounds:
            found["tags"] = json.dumps(bounds)
        if session:
            found["session"] = session
        return self.answer(event)

    def answer(self, event: Mapping[str, Any]) -> Answer:
        answer = self.handle(event, LambdaContext())
        assert not answer["isBase64Encoded"]
        seen = Answer(answer["statusCode"], answer["headers"], answer["body"])
        check_documented(event["requestContext"]["http"]["method"], event["rawPath"], seen)
        return seen

    def flush(self) -> None:
        """Flush the telemetry, as the function does at the end of an invocation."""
        self.tally.flush(self.store.usage)

    def create(self, **fields: object) -> Any:
        answer = self.call("POST", "/v1/jobs", {"handler": "https://example.com/hook", **fields})
        assert answer.status == 201, answer.text
        return answer.body

    def dispatch(self) -> None:
        """Plan every pending job once, as a scan would."""
        pending = [job for job in self.store.jobs.values() if job.status is JobStatus.PENDING]
        dispatch(self.context, pending, self.clock.now())

    def work_of(self, job_id: str) -> Work:
        work = self.store.jobs[JobKey("acme", job_id)].spec.work
        assert work is not None
        return work

    def tick(self) -> None:
        """Note a tick, as the first scan of a loop does."""
        self.store.partitions.take(0, Owner("2026-11-21T09:30:00Z", "loop"), self.clock.now())

    def receive(self) -> None:
        """Create the runs of all events that the bus has matched, as the events function would."""
        messages, self.bus.queue = self.bus.queue, []
        receive(self.context, self.bus, messages)

    def only_run(self) -> Run:
        (run,) = self.store.runs.values()
        return run

    def put(self, run: Run) -> None:
        self.store.runs[run.id] = run


def check_documented(method: str, path: str, answer: Answer) -> None:
    """Check an answer of a route against the OpenAPI document: its status, its headers, its fields."""
    routes = [route for route in ROUTES if route.method == method and route.path_pattern.fullmatch(path)]
    for route in routes:
        described = DOCUMENT["paths"][route.path][method.lower()]["responses"].get(str(answer.status))
        assert described is not None, f"{method} {route.path} does not document {answer.status}"
        if answer.status < 300:
            assert set(described["headers"]) <= {*answer.headers, "Idempotency-Replayed"}
            if "application/json" in described["content"]:
                check_fields(described["content"]["application/json"]["schema"], answer.body)


def check_fields(schema: Any, value: Any) -> None:
    """Check the names of an answer's fields against a schema, as deep as the schema names any."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for alternative in schema.get("anyOf", ()):
        if "$ref" in alternative and value is not None:
            check_fields(alternative, value)
    if "properties" in schema and isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value) <= set(schema["properties"])
        for name, part in value.items():
            check_fields(schema["properties"][name], part)
    if isinstance(value, list):
        for item in value:
            check_fields(schema.get("items", {}), item)


def event_of(
    method: str,
    path: str,
    tenant: str | None,
    headers: Mapping[str, str],
    query: Mapping[str, str | Sequence[str]],
    key: str = "key_1",
    role: str = "admin",
) -> dict[str, Any]:
    pairs = [(name, one) for name, text in query.items() for one in ([text] if isinstance(text, str) else text)]
    event = gateway.event_of(method, path, headers, pairs)
    event["rawQueryString"] = urlencode(query, doseq=True, errors="surrogatepass")
    event["requestContext"]["authorizer"]["lambda"] = (
        {} if tenant is None else {"tenant": tenant, "keyId": key, "role": role}
    )
    return event


def _body(body: bytes, *, as_base64: bool) -> dict[str, Any]:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        as_base64 = True
        text = ""
    if as_base64:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return {"body": text} if body else {}
