"""Rules that hold on every route: an invalid body, a body that is too large, and an id of another tenant are refused.

test_edge.py and test_undeclared_parameters.py have requests without a key, with another method, or with an unknown
parameter.
"""

import re

import pytest

from tests.api.backfills.calls import HOURLY
from tests.api.client import OPERATING, Api
from tests.api.http.requests import BODIES
from tests.api.http.test_access import rows_of
from tests.api.runs.rows import waiting
from timeball.api.http.access import Access
from timeball.api.http.body import MAX_BYTES
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES

JSON = {"Content-Type": "application/json"}
WITH_FIELDS = [route for route in ROUTES if route.body]
OF_SOMETHING = [route for route in ROUTES if "{" in route.path]
OF_A_TENANTS = [route for route in OF_SOMETHING if re.search(r"{tenant}.*{", route.path)]


def name(route: Route) -> str:
    return f"{route.method} {route.path}"


FIRE = {"cycleId": "2026-11-21T09:30:00Z"}
"""A fire time is no id: it is the same for all tenants."""


def owned(api: Api) -> dict[str, str]:
    """Return the ids of a tenant's resources by their names in paths; the Location header of each POST has them."""
    job = api.create(**HOURLY, concurrencyLimit={"name": "db", "limit": 1})
    ids = {"jobId": job["jobId"], "name": "db", "runId": str(waiting(api).id), "revision": "1", "tenant": "acme"}
    ids |= FIRE
    for route in ROUTES:
        if route.method == "POST" and 201 in route.answers and names_in(route) <= ids.keys():
            made = api.call("POST", route.path.format(**ids), BODIES[route.body] if route.body else None)
            ids = ids_in(made.headers.get("Location", "")) | ids
    return ids


def names_in(route: Route) -> set[str]:
    return set(re.findall(r"{(\w+)}", route.path))


def ids_in(location: str) -> dict[str, str]:
    templates = (re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", route.path) for route in ROUTES)
    found = (re.fullmatch(template, location) for template in templates)
    return {name: value for match in found if match for name, value in match.groupdict().items()}


@pytest.mark.parametrize("route", WITH_FIELDS, ids=name)
@pytest.mark.parametrize(
    ("raw", "headers", "problem"),
    [
        (b"{", JSON, Problem.MALFORMED_BODY),
        (b"[]", JSON, Problem.MALFORMED_BODY),
        (b'{"a": 1, "a": 1}', JSON, Problem.MALFORMED_BODY),
        (b'{"a": NaN}', JSON, Problem.MALFORMED_BODY),
        (b"\xff", JSON, Problem.MALFORMED_BODY),
        (b"a=1", {"Content-Type": "application/x-www-form-urlencoded"}, Problem.UNSUPPORTED_MEDIA_TYPE),
        (b" " * (MAX_BYTES + 1), JSON, Problem.BODY_TOO_LARGE),
    ],
    ids=["broken", "an array", "a key twice", "NaN", "no UTF-8", "a form", "too large"],
)
def test_an_invalid_body_is_refused_with_the_problem_for_its_defect(
    api: Api, route: Route, raw: bytes, headers: dict[str, str], problem: Problem
) -> None:
    answer = api.call(route.method, route.path.format(**owned(api)), raw=raw, headers=headers)
    assert (answer.status, answer.body["type"]) == (problem.status, problem.type)


@pytest.mark.parametrize("route", WITH_FIELDS, ids=name)
def test_an_undeclared_field_is_refused_by_its_name(api: Api, route: Route) -> None:
    answer = api.call(route.method, route.path.format(**owned(api)), {"nobodyDeclaredThis": 1})
    assert answer.body["type"] == Problem.INVALID_REQUEST.type
    assert "nobodyDeclaredThis" in answer.bad_fields()


@pytest.mark.parametrize("route", OF_SOMETHING, ids=name)
def test_an_id_of_another_tenant_is_as_unknown_as_any(api: Api, route: Route) -> None:
    body = BODIES[route.body] if route.body else None
    ids = owned(api)
    path, unknown = (route.path.format(**named) for named in (ids, dict.fromkeys(ids, "nobodys") | FIRE))
    before = rows_of(api, OPERATING)
    answer = api.call(route.method, path, body, tenant="globex")
    if route.method == "PUT":
        assert answer.status == 201  # an id of the caller's own, although the neighbour has the same
    elif route.access is Access.ADMINISTER_ALL:
        assert (answer.status, answer.body["type"]) == (403, Problem.FORBIDDEN.type)  # whichever tenant the path names
    else:
        assert (answer.status, answer.body["type"]) == (404, Problem.NOT_FOUND.type)
    if route.method != "PUT":
        assert answer.text == api.call(route.method, unknown, body, tenant="globex").text
    assert rows_of(api, OPERATING) == before


@pytest.mark.parametrize("route", OF_A_TENANTS, ids=name)
def test_an_id_of_one_tenant_is_unknown_in_a_path_of_another(api: Api, route: Route) -> None:
    """This holds for admins of both tenants, too."""
    ids = owned(api) | {"tenant": "globex"}
    before = rows_of(api, OPERATING)
    answer = api.call(route.method, route.path.format(**ids), BODIES[route.body] if route.body else None)
    assert (answer.status, answer.body["type"]) == (404, Problem.NOT_FOUND.type)
    assert rows_of(api, OPERATING) == before
