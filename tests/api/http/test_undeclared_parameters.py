"""A parameter that an operation does not declare is refused on every route, before anything is done."""

import pytest

from tests.api.client import Api
from tests.api.dead_letters.calls import every_verb, listed
from tests.api.http.requests import BODIES, path_of
from tests.api.runs.rows import dead
from timeball.api.http.route import Route
from timeball.api.routes import PUBLIC_PATHS, ROUTES

NEED_A_KEY = [route for route in ROUTES if not route.is_public]


@pytest.mark.parametrize("route", NEED_A_KEY, ids=lambda route: f"{route.method} {route.path}")
def test_every_operation_refuses_an_undeclared_parameter(api: Api, route: Route) -> None:
    body = BODIES.get(route.body) if route.body else None
    answer = api.call(route.method, path_of(route), body, query={"everything": "1"})
    assert (answer.status, answer.bad_fields()) == (400, ["everything"])
    assert answer.body["errors"][0]["message"] == "There is no such parameter; leave it out."
    assert not api.store.jobs


@every_verb
def test_a_filter_in_the_query_instead_of_the_body_processes_no_letter(api: Api, verb: str) -> None:
    jobs = [api.create(everySeconds=60), api.create(everySeconds=60)]
    for job in jobs:
        dead(api, job)
    query = {"jobId": jobs[0]["jobId"], "limit": "1"}
    answer = api.call("POST", f"/v1/dead-letters:{verb}", {"filter": {}}, query=query)
    assert (answer.status, answer.bad_fields()) == (400, ["jobId", "limit"])
    assert len(listed(api)) == 2


@pytest.mark.parametrize("path", sorted(PUBLIC_PATHS))
def test_public_routes_accept_any_parameter_so_clients_can_bypass_a_cache(api: Api, path: str) -> None:
    api.tick()
    assert api.call("GET", path, tenant=None, query={"t": "1"}).status == 200


def test_a_request_without_a_key_is_a_401_before_its_parameters_are_checked(api: Api) -> None:
    assert api.call("POST", "/v1/jobs", {}, tenant=None, query={"x": "1"}).status == 401
