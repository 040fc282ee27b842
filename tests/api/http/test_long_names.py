"""A name in a path that is longer than a table's key may be is refused with an answer, and never a 500.

Moto reads keys of any length. DynamoDB, as AWS documents it, refuses a partition key of more than 2,048 bytes and a
sort key of more than 1,024, in queries too.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.client import Api
from tests.contract.backends import client, moto, new_table
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.schema import JOBS

NAMED = [route for route in ROUTES if "{" in route.path and route.method in ("GET", "DELETE")]
NAMES = ["a" * 1_025, "a" * 2_100, "%C3%BC" * 700, "%F0%9F%98%80" * 300, "%" * 2_100]
MOST_BYTES = {JOBS.partition.name: 2_048, JOBS.sort.name: 1_024}


def refuse_long_keys(params: Any, **_: object) -> None:
    """Raise ValueError where DynamoDB would answer with a ValidationException."""
    if isinstance(params, list):
        for one in params:
            refuse_long_keys(one)
    if isinstance(params, dict):
        for name, value in params.items():
            most = MOST_BYTES.get(name.lower(), 2_048 if name.startswith(":") else None)
            text = value.get("S") if most and isinstance(value, dict) else None
            if isinstance(text, str) and most and len(text.encode()) > most:
                raise ValueError(f"Size of {name} has exceeded the maximum size limit of {most} bytes")
            refuse_long_keys(value)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with moto():
        dynamodb = client("dynamodb")
        store = dynamo_store(dynamodb, new_table(dynamodb), threads=2)
        dynamodb.meta.events.register("before-parameter-build.dynamodb", refuse_long_keys)
        yield Api(store)  # type: ignore[arg-type]  # a fake keeps keys of any length


@pytest.mark.parametrize("route", NAMED, ids=lambda route: f"{route.method} {route.path}")
def test_a_name_that_no_table_can_hold_is_refused(api: Api, route: Route) -> None:
    path = re.sub(r"\{\w+\}", "{}", route.path)
    for name in NAMES:
        answer = api.call(route.method, path.format(*[name] * path.count("{}")))
        assert answer.status in (400, 404), answer.text[:300]
        assert answer.headers["Content-Type"] == "application/problem+json"
