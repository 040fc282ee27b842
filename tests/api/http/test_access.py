"""Every route for every role, in the caller's own tenant and in another. The table of routes is the table of cases.

No route is named here, and the ids in paths come from earlier answers. So a new route is tested from the day it is
declared.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from tests.api.client import OPERATING, Answer, Api
from tests.api.http.requests import BODIES
from tests.api.runs.rows import waiting
from timeball.api.app import build_api
from timeball.api.http.access import Access, refusal, roles_for
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES
from timeball.domain.model.tenants.key import Role

NAMES = [f"{route.method} {route.path}" for route in ROUTES]
OTHER = "globex"


ANYBODY = [*Role, "", "editor", "ADMIN"]


def users_of(route: Route) -> list[str]:
    """Return the roles that may use a route."""
    return [role for role in ANYBODY if route.is_public or role in roles_for(route.access)]


@dataclass
class World:
    """An API, and the ids from its answers, by their names in paths."""

    api: Api = field(default_factory=Api)
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api.tick()
        self.fresh_from(1)

    def fresh_from(self, first: int) -> None:
        """Let fresh ids start with this number."""
        numbers = itertools.count(first)
        edge = replace(self.api.edge, random_bytes=lambda: next(numbers).to_bytes(16))
        self.api.handle = build_api(edge)

    def call(self, route: Route, tenant: str, role: str, bounds: Mapping[str, str] | None = None) -> Answer:
        path = re.sub(r"\{(\w+)\}", lambda name: self.ids.get(name[1], "1"), route.path)
        body = BODIES.get(route.body, {}) if route.body else None
        return self.api.call(route.method, path, body, tenant=tenant, role=role, bounds=bounds)

    def learn(self, answer: Answer) -> None:
        """Keep the ids of the resource that an answer created."""
        if answer.status == 201:
            self.ids |= {name: told for name, told in answer.body.items() if isinstance(told, str)}

    def rows(self, tenant: str) -> set[str]:
        return rows_of(self.api, tenant)


def rows_of(api: Api, tenant: str) -> set[str]:
    """Return all rows of a tenant, as text."""
    return {row for row in map(repr, _rows(api)) if f"'{tenant}'" in row}


def _rows(api: Api) -> Iterator[tuple[Any, Any]]:
    tables: list[Any] = [api.store, api.tenants]
    for collection in (getattr(table, one.name) for table in tables for one in fields(table)):
        for part in (collection, *vars(collection).values()):
            if isinstance(part, dict):
                yield from part.items()


def populated() -> World:
    """Return a world in which the operating tenant has one of everything that a single request creates."""
    world = World()
    run = waiting(world.api)
    for route in ROUTES:
        if route.status == 201 and route.path != "/v1/admin/operations":  # which is an operation of every tenant
            world.learn(world.call(route, OPERATING, Role.ADMIN))
    world.ids |= {"jobId": run.id.job.job_id, "runId": str(run.id), "tenant": OPERATING}
    return world


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_role_may_use_the_routes_of_its_access_and_no_others(route: Route) -> None:
    for role in users_of(route):
        answer = populated().call(route, OPERATING, role)
        assert answer.status not in (401, 403), (role, answer.text)
        assert answer.status < 500, (role, answer.text)
    world = populated()
    before = world.rows(OPERATING)
    for role in [one for one in ANYBODY if one not in users_of(route)]:
        answer = world.call(route, OPERATING, role)
        assert (answer.status, answer.body["type"]) == (403, Problem.FORBIDDEN.type), role
        assert f"the role {roles_for(route.access)[0]}" in answer.body["detail"], role
        assert world.rows(OPERATING) == before, role


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_another_tenants_resources_answer_as_if_they_did_not_exist(route: Route) -> None:
    for role in users_of(route):
        world, without = populated(), World()
        without.ids = world.ids
        without.api.clock.advance(world.api.clock.now() - without.api.clock.now())
        for one in (world, without):
            one.fresh_from(1_000)
        before = world.rows(OPERATING)
        answer, expected = world.call(route, OTHER, role), without.call(route, OTHER, role)
        assert (answer.status, answer.headers, answer.text) == (expected.status, expected.headers, expected.text), role
        assert world.rows(OPERATING) == before, role
        assert world.rows(OTHER) == without.rows(OTHER), role


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_role_without_access_learns_nothing_of_mistakes_or_existing_resources(route: Route) -> None:
    if not route.is_public:
        path = re.sub(r"\{\w+\}", "1", route.path)
        query = {"nonsense": "1"}
        answer = Api().call(route.method, path, raw=b"[", role="nobody", query=query)
        assert (answer.status, answer.body["type"]) == (403, Problem.FORBIDDEN.type)


@pytest.mark.parametrize(
    ("access", "may"),
    [
        (Access.IDENTIFY, {"admin", "operator", "submitter", "viewer", "worker"}),
        (Access.SIGN_IN, {"admin", "operator", "submitter", "viewer"}),
        (Access.READ, {"admin", "operator", "submitter", "viewer"}),
        (Access.SUBMIT, {"admin", "operator", "submitter"}),
        (Access.OPERATE, {"admin", "operator"}),
        (Access.REPORT, {"admin", "operator", "worker"}),  # a submitter's key does not report for a target
        (Access.ADMINISTER, {"admin"}),
        (Access.ADMINISTER_ALL, {"admin"}),
    ],
)
def test_each_access_has_its_roles(access: Access, may: set[str]) -> None:
    assert {role for role in Role if refusal(access, role, is_operating=True) is None} == may
    assert refusal(access, None, is_operating=True) is not None


def test_admins_of_other_tenants_cannot_manage_tenants() -> None:
    refused = refusal(Access.ADMINISTER_ALL, Role.ADMIN, is_operating=False)
    assert refused is not None
    assert "admin in the tenant that operates" in refused


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_route_that_changes_something_is_not_declared_as_reading(route: Route) -> None:
    assert route.access is not Access.READ or route.method == "GET" or route.path.endswith(":preview")
