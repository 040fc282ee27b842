"""The document lists each header that steers a request on the routes that act on it, and on no others."""

import pytest

from tests.api.client import DOCUMENT, Api
from tests.api.http.requests import BODIES, path_of
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES


@pytest.mark.parametrize("header", ["Idempotency-Key", "If-Match", "If-None-Match"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_header_is_listed_exactly_where_the_code_acts_on_it(api: Api, route: Route, header: str) -> None:
    parameters = DOCUMENT["paths"][route.path][route.method.lower()].get("parameters", [])
    listed = any((one["in"], one["name"]) == ("header", header) for one in parameters)
    body = BODIES.get(route.body) if route.body else None
    answer = api.call(route.method, path_of(route), body, headers={header: "not one"})
    errors = answer.body.get("errors", []) if "json" in answer.headers["Content-Type"] else []
    is_of_reads = (route.method, header) == ("GET", "If-None-Match")
    assert not is_of_reads or listed  # and a text without an ETag is as good as none
    assert [error["field"] for error in errors] == ([header] if listed and not is_of_reads else []), answer.text
