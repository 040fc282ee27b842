"""A target reports with the token of its attempt and needs no API key; the token opens nothing else."""

import json
from typing import Any

import pytest

from tests.api.client import SECRET, Answer, Api
from tests.api.http.requests import BODIES
from tests.api.http.test_access import World, populated
from tests.api.runs.rows import row, waiting
from timeball.api.http.access import Access
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.runs.run import RunState

FORBIDDEN, UNKNOWN = "urn:timeball:problem:forbidden", "urn:timeball:problem:unauthenticated"


def say(api: Api, run_id: object, verb: str, token: str, attempt: object = 1, **fields: object) -> Answer:
    body = {"attempt": attempt, **fields}
    headers = {"Authorization": f"Bearer {token}"}
    return api.call("POST", f"/v1/runs/{run_id}/{verb}", body, tenant=None, headers=headers)


@pytest.mark.parametrize(
    ("verb", "state"), [("complete", RunState.SUCCEEDED), ("fail", RunState.RETRYING), ("heartbeat", RunState.RUNNING)]
)
def test_a_target_reports_with_the_token_of_its_attempt(api: Api, verb: str, state: RunState) -> None:
    run = waiting(api)
    answer = say(api, run.id, verb, token_of(run.id, 1, SECRET))
    assert answer.status == 200, answer.text
    assert row(api, str(run.id)).state is state


def test_a_token_of_another_run_tenant_or_secret_is_refused(api: Api) -> None:
    run = waiting(api)
    (other,) = [one.id for one in (waiting(api, name="other"),)]
    mine = token_of(run.id, 1, SECRET)
    for token in (token_of(other, 1, SECRET), mine.replace("acme", "globex"), token_of(run.id, 1, "x"), f"{mine}0"):
        answer = say(api, run.id, "complete", token)
        assert (answer.status, answer.body["type"]) == (401, UNKNOWN)
        assert mine not in answer.text
    assert row(api, str(run.id)).state is RunState.RUNNING


def test_a_token_reports_only_on_its_own_attempt(api: Api) -> None:
    run = waiting(api)
    answer = say(api, run.id, "complete", token_of(run.id, 2, SECRET), attempt=1)
    assert (answer.status, answer.body["type"]) == (403, FORBIDDEN)
    stale = say(api, run.id, "complete", token_of(run.id, 2, SECRET), attempt=2)
    assert (stale.status, stale.body["type"]) == (409, "urn:timeball:problem:stale-attempt")
    assert row(api, str(run.id)).state is RunState.RUNNING


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_token_is_no_key_on_any_other_route(route: Route) -> None:
    world: World = populated()
    before = world.rows("acme")
    run_id = world.ids["runId"]
    token = token_of(next(iter(run for run in world.api.store.runs if str(run) == run_id)), 1, SECRET)
    path = route.path.format_map(_Ids(world.ids))
    body: Any = BODIES.get(route.body, {}) if route.body else None
    headers = {"Authorization": f"Bearer {token}"}
    answer = world.api.call(route.method, path, body, tenant=None, headers=headers)
    if route.access is Access.REPORT or route.is_public:
        assert answer.status == 200
    else:
        assert answer.status == 401
        assert world.rows("acme") == before


def test_an_api_key_takes_precedence_over_a_token(api: Api) -> None:
    run = waiting(api)
    headers = {"Authorization": "Bearer tb_key"}
    answer = api.call("POST", f"/v1/runs/{run.id}/heartbeat", {"attempt": 1}, role="viewer", headers=headers)
    assert answer.status == 403
    assert json.loads(answer.text)["type"] == FORBIDDEN


class _Ids(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "1"
