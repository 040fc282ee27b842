"""The headers that steer a request: the document lists each where the code acts on it, and nowhere else."""

import pytest

from functions.api.http.route import Route
from functions.api.routes import ROUTES
from tests.api.client import DOCUMENT, Api
from tests.api.http.requests import BODIES, path_of


@pytest.mark.parametrize("header", ["Idempotency-Key", "If-Match", "If-None-Match"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_header_is_listed_where_the_code_acts_on_it_and_nowhere_else(api: Api, route: Route, header: str) -> None:
    parameters = DOCUMENT["paths"][route.path][route.method.lower()].get("parameters", [])
    listed = any((one["in"], one["name"]) == ("header", header) for one in parameters)
    body = BODIES.get(route.body) if route.body else None
    answer = api.call(route.method, path_of(route), body, headers={header: "not one"})
    errors = answer.body.get("errors", []) if "json" in answer.headers["Content-Type"] else []
    assert [error["field"] for error in errors] == ([header] if listed else []), answer.text
