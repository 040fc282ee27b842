"""Two writers of one resource: no update is lost, whichever store request of the first the second overtakes.

The test covers all routes of the API that write a resource: a new one needs a row in CHANGES.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from tests.api.admin.test_tenants import is_stopped
from tests.api.client import Answer, Api
from tests.api.http.requests import BODIES
from timeball.api.app import build_api
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.jobs.request import JobRequest
from timeball.api.routes import ROUTES
from timeball.ports.store import Store
from timeball.ports.tenants import Tenants

RACES = {"PUT": 200, "PATCH": 50}
NAMES = {"jobId": "nightly", "taskId": "nightly", "name": "nightly", "tenant": "globex"}

# For each route: the body of the first writer, and the body of the second.
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "PUT /v1/jobs/{jobId}": ({"name": "a", "cronExpression": "5 * * * *"}, {"name": "b"}),
    "PUT /v1/tasks/{taskId}": ({"name": "a", "maxRetries": 1}, {"name": "b"}),
    "PUT /v1/calendars/{name}": ({"dates": ["2026-12-24"]}, {"dates": ["2026-12-25"]}),
    "PUT /v1/limits/{name}": ({"limit": 1}, {"limit": 2}),
    "PATCH /v1/jobs/{jobId}": ({"name": "a"}, {"cronExpression": "5 * * * *"}),
    "PATCH /v1/admin/tenants/{tenant}": ({"disabled": True}, {"disabled": False}),
    "PATCH /v1/admin/keys/{keyId}": ({"name": "a"}, {"role": "operator"}),
    "PATCH /v1/admin/tenants/{tenant}/keys/{keyId}": ({"name": "a"}, {"role": "operator"}),
}
WRITERS = {f"{route.method} {route.path}": route for route in ROUTES if route.method in {"PATCH", "PUT"}}


@dataclass
class Overtaken:
    """A hook that runs `other` before a request to the store: before the `left`-th from now."""

    left: int = -1
    other: Callable[[], object] = lambda: None

    def step(self) -> None:
        self.left -= 1
        if self.left == -1:
            self.other()


class Collection:
    """A collection of the store that runs the other writer before a request, when it is time."""

    def __init__(self, of: Any, overtaken: Overtaken) -> None:
        self._of, self._overtaken = of, overtaken

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._of, name)

        def request(*args: Any, **named: Any) -> Any:
            self._overtaken.step()
            return method(*args, **named)

        return request


def raced_api() -> tuple[Api, Overtaken]:
    api, overtaken = Api(), Overtaken()
    store = Store(*(Collection(getattr(api.store, one.name), overtaken) for one in fields(Store)))
    tenants = Tenants(*(Collection(getattr(api.tenants, one.name), overtaken) for one in fields(Tenants)))
    api.handle = build_api(replace(api.edge, context=replace(api.context, store=store), tenants=tenants))
    return api, overtaken


def made(api: Api, route: Route) -> str:
    """Return the path of the resource that both writers change; for a PATCH the resource exists."""
    names = dict(NAMES)
    if "{keyId}" in route.path:
        keys = "/v1/admin/tenants/globex/keys" if "{tenant}" in route.path else "/v1/admin/keys"
        names["keyId"] = api.call("POST", keys, {"role": "viewer"}).body["keyId"]
    path = route.path.format(**names)
    if path == "/v1/jobs/nightly" and route.method == "PATCH":
        api.call("PUT", path, {"handler": "https://example.com", "everySeconds": 60})
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_of_two_writers_no_update_is_lost(name: str) -> None:
    for seed in range(RACES[WRITERS[name].method]):
        race(WRITERS[name], seed)


def race(route: Route, seed: int) -> None:
    """Let two writers race, both with one condition or both without, and check the final resource against their
    answers.
    """
    chance = random.Random(seed)  # noqa: S311 - a seed, no secret
    api, overtaken = raced_api()
    path, whole = made(api, route), BODIES[route.body] if route.body and route.method == "PUT" else {}
    if route.method == "PUT" and chance.random() < 0.7:
        assert api.call("PUT", path, whole).status == 201
    is_there = api.call("GET", path).status == 200
    condition: Mapping[str, str] = {"If-Match": '"1"'} if is_there else {"If-None-Match": "*"}
    headers = condition if chance.random() < 0.5 else {}
    changes = list(CHANGES[f"{route.method} {route.path}"])
    chance.shuffle(changes)
    answers: dict[int, Answer] = {}

    def write(writer: int) -> None:
        api.clock.advance(1)
        answers[writer] = api.call(route.method, path, whole | changes[writer], headers=headers)

    overtaken.other, overtaken.left = lambda: write(1), chance.randrange(6)
    write(0)
    overtaken.left = -1
    if 1 not in answers:
        write(1)
    told = f"{seed}: {[(answer.status, answer.text) for answer in answers.values()]}"
    won = {writer: answer for writer, answer in answers.items() if answer.status in {200, 201}}
    assert won, told
    assert {answer.status for answer in answers.values()} <= {200, 201, 412, 503}, told
    versions = {answer.body["version"] for answer in won.values()}
    assert len(versions) == len(won), told
    assert not headers or max(versions) == 1 + is_there, told  # under one condition at most one changes something
    newest = max(won, key=lambda writer: won[writer].body["version"])
    there = api.call("GET", path).body
    assert is_stopped(api) is there.get("disabled", False), told
    assert there["version"] == won[newest].body["version"], told
    kept = list(won) if route.method == "PATCH" and changes[0].keys() != changes[1].keys() else [newest]
    for writer in kept:
        assert changes[writer].items() <= there.items(), told


@pytest.mark.parametrize("step", range(6))
@pytest.mark.parametrize("name", WRITERS)
def test_one_of_two_writers_of_the_same_change_in_the_same_millisecond_is_refused(name: str, step: int) -> None:
    api, overtaken = raced_api()
    route = WRITERS[name]
    path, whole = made(api, route), BODIES[route.body] if route.body and route.method == "PUT" else {}
    if route.method == "PUT":
        api.call("PUT", path, whole | CHANGES[name][1])
    answers: list[Answer] = []

    def write() -> None:
        answers.append(api.call(route.method, path, whole | CHANGES[name][0], headers={"If-Match": '"1"'}))

    overtaken.other, overtaken.left = write, step
    write()
    overtaken.left = -1
    if len(answers) == 1:
        write()
    refused, done = sorted(answers, key=lambda answer: -answer.status)
    assert (done.status, refused.status in {412, 503}) == (200, True)
    assert api.call("GET", path).body["version"] == 2


def test_a_counter_that_two_clients_increment_under_conditions_loses_no_increment() -> None:
    chance = random.Random(14)  # noqa: S311 - a seed, no secret
    api, overtaken = raced_api()
    api.call("PUT", "/v1/jobs/nightly", {**BODIES[JobRequest], "tags": {"count": "0"}})

    def add() -> None:
        while True:
            there = api.call("GET", "/v1/jobs/nightly")
            body = {"tags": {"count": str(int(there.body["tags"]["count"]) + 1)}}
            answer = api.call("PATCH", "/v1/jobs/nightly", body, headers={"If-Match": there.headers["ETag"]})
            if answer.status == 200:
                return

    overtaken.other = add
    for _ in range(50):
        overtaken.left = chance.randrange(6)
        add()
        if overtaken.left >= 0:
            overtaken.left = -1
            add()
    assert api.call("GET", "/v1/jobs/nightly").body["tags"] == {"count": "100"}


@pytest.mark.parametrize("step", range(7))
def test_a_rotation_ends_the_old_key_even_if_that_key_is_changed_meanwhile(step: int) -> None:
    api, overtaken = raced_api()
    old = api.call("POST", "/v1/admin/keys", {"role": "viewer"}).headers["Location"]
    overtaken.other, overtaken.left = lambda: api.call("PATCH", old, {"name": "a"}), step
    assert api.call("POST", f"{old}/rotate", {"overlapSeconds": 60}).status == 201
    assert api.call("GET", old).body["expiresAt"] == "2026-11-21T09:31:00.250Z"
    assert len(api.call("GET", "/v1/admin/keys").body["items"]) == 2


@pytest.mark.parametrize("name", [name for name in WRITERS if name.startswith("PUT")])
def test_a_put_with_if_match_does_not_create_a_resource(api: Api, name: str) -> None:
    route = WRITERS[name]
    path = route.path.format(**NAMES)
    answer = api.call("PUT", path, BODIES[route.body] if route.body else None, headers={"If-Match": "*"})
    assert (answer.status, answer.body["type"]) == (412, Problem.STALE_VERSION.type)
    assert api.call("GET", path).status == 404
