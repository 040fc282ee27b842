"""Parameters without a value: an empty cursor means the first page, and any other empty parameter is refused."""

import pytest

from tests.api.client import Api
from tests.api.http.requests import BODIES, path_of
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES

WITH_PARAMETERS = [route for route in ROUTES if route.query]
CASES = [(route, name) for route in WITH_PARAMETERS for name in route.query]


@pytest.mark.parametrize(("route", "name"), CASES, ids=lambda one: one if isinstance(one, str) else one.path)
def test_an_empty_cursor_is_the_first_page_and_no_other_parameter_may_be_empty(
    api: Api, route: Route, name: str
) -> None:
    body = BODIES.get(route.body) if route.body else None
    plain = api.call(route.method, path_of(route), body)
    answer = api.call(route.method, path_of(route), body, query={name: ""})
    if name == "cursor":
        assert (answer.status, answer.text) == (plain.status, plain.text)
    else:
        assert (answer.status, answer.bad_fields()) == (400, [name])


def test_a_parameter_that_a_list_does_not_have_is_refused_even_if_it_is_empty(api: Api) -> None:
    assert api.call("GET", "/v1/stats", query={"cursor": ""}).bad_fields() == ["cursor"]
    assert api.call("GET", "/v1/jobs", query={"who": "", "cursor": ""}).bad_fields() == ["who"]
