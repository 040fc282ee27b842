"""Sessions over the API, each request through a fresh or a shared authorizer: what they may do, and when they end."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api, event_of
from timeball.api.admin.sessions import router
from timeball.api.authorizer import Authorizer
from timeball.api.http.edge import CODES_PER_SECOND
from timeball.api.http.problems import Problem
from timeball.domain.model.tenants.session import fresh_code
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant

SESSIONS, CODES, CURRENT = "/v1/sessions", "/v1/sessions/codes", "/v1/sessions/current"
JOB = {"handler": "https://example.com/hook"}


@dataclass
class Door:
    """The API and its authorizer, as a deployment connects them."""

    api: Api = field(default_factory=Api)

    def __post_init__(self) -> None:
        self.authorizer = Authorizer(self.api.tenants, self.api.clock)

    def call(self, method: str, path: str, key: str | None, body: object = None) -> Answer:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        event = event_of(method, path, None, headers, {})
        event["requestContext"]["authorizer"]["lambda"] = self.authorizer(event)["context"]
        return self.api.answer(event | ({} if body is None else {"body": json.dumps(body)}))

    def key(self, role: str = "operator", **fields: object) -> str:
        made = self.api.call("POST", "/v1/admin/keys", {"role": role, **fields})
        assert made.status == 201, made.text
        return str(made.body["key"])

    def session(self, key: str, body: Mapping[str, object] | None = None) -> Any:
        made = self.call("POST", SESSIONS, key, body)
        assert made.status == 201, made.text
        return made.body

    def later(self, ms: int) -> None:
        self.api.clock.advance(ms)

    def revoke(self, key: str) -> None:
        key_id = key.removeprefix("tb_").partition("_")[0]
        assert self.api.call("DELETE", f"/v1/admin/keys/{key_id}").status == 200


@pytest.fixture
def door() -> Door:
    return Door()


def at(ms: int) -> str:
    return format_instant(ms)


def test_a_session_reads_and_changes_nothing(door: Door) -> None:
    key = door.key("admin")
    session = door.session(key)
    assert (session["role"], session["keyRole"], session["tenant"]) == ("viewer", "admin", "acme")
    assert (session["expiresAt"], session["idleSeconds"]) == (at(NOW + 8 * HOUR_MS), 3600)
    assert door.call("GET", "/v1/jobs", session["key"]).status == 200
    for method, path, body in (("POST", "/v1/jobs", JOB), ("GET", "/v1/admin/keys", None), ("POST", CODES, None)):
        assert door.call(method, path, session["key"], body).status == 403, path
    assert not door.api.store.jobs


def test_a_session_may_change_what_its_key_may_for_half_an_hour_at_most(door: Door) -> None:
    session = door.session(door.key("operator"))
    for seconds in (0, 1801, -1, 1.5, "60"):
        bad = door.call("POST", SESSIONS, session["key"], {"allowChangesForSeconds": seconds})
        assert (bad.status, bad.bad_fields()) == (400, ["allowChangesForSeconds"])
    after = door.session(session["key"], {"allowChangesForSeconds": 1800})
    assert (after["role"], after["expiresAt"]) == ("operator", at(NOW + 1800 * SECOND_MS))
    assert door.call("POST", "/v1/jobs", after["key"], JOB).status == 201
    assert door.call("POST", "/v1/jobs", session["key"], JOB).status == 403  # the first one stays a viewer's
    assert door.call("GET", "/v1/admin/keys", after["key"]).status == 403  # an operator's
    door.later(1800 * SECOND_MS)
    assert door.call("POST", "/v1/jobs", after["key"], JOB).status == 401
    assert door.call("GET", "/v1/jobs", session["key"]).status == 200


def test_a_later_session_key_for_changes_replaces_the_earlier_one(door: Door) -> None:
    session = door.session(door.key())
    first, second = (door.session(session["key"], {"allowChangesForSeconds": 60})["key"] for _ in range(2))
    assert [door.call("POST", "/v1/jobs", one, JOB).status for one in (first, second)] == [401, 201]


def test_a_session_makes_no_sessions_for_others(door: Door) -> None:
    session = door.session(door.key("admin"))
    changing = door.session(session["key"], {"allowChangesForSeconds": 1800})["key"]
    for key in (session["key"], changing):
        assert door.call("POST", SESSIONS, key).status == 403
        assert door.call("POST", SESSIONS, key, {}).status == 403
        assert door.call("POST", CODES, key).status == 403
        for name in ("tenant", "keyId", "role", "tags"):
            assert door.call("POST", SESSIONS, key, {name: "globex"}).bad_fields() == [name]


def test_a_session_has_the_tags_of_its_key(door: Door) -> None:
    key = door.key(tags={"team": "blue"})
    session = door.session(key)
    assert session["tags"] == {"team": "blue"}
    other = door.api.create(tags={"team": "red"}, everySeconds=60)["jobId"]
    mine = door.api.create(tags={"team": "blue"}, everySeconds=60)["jobId"]
    changing = door.session(session["key"], {"allowChangesForSeconds": 60})["key"]
    for one in (session["key"], changing):
        statuses = [door.call("GET", f"/v1/jobs/{job}", one).status for job in (other, mine)]
        assert statuses == [404, 200]
    assert door.call("POST", "/v1/jobs", changing, JOB).status == 403


def test_a_session_ends_within_a_minute_of_its_revoked_key(door: Door) -> None:
    key = door.key()
    session = door.session(key)
    changing = door.session(session["key"], {"allowChangesForSeconds": 1800})["key"]
    for one in (session["key"], changing):
        assert door.call("GET", "/v1/jobs", one).status == 200
    door.revoke(key)
    assert door.call("POST", SESSIONS, session["key"], {"allowChangesForSeconds": 60}).status == 401  # at once
    door.later(60 * SECOND_MS)
    for one in (session["key"], changing):
        assert door.call("GET", "/v1/jobs", one).status == 401


def test_a_session_ends_with_its_key_that_expires(door: Door) -> None:
    session = door.session(door.key(expiresAt=at(NOW + HOUR_MS // 2)))
    assert session["expiresAt"] == at(NOW + HOUR_MS // 2)
    door.later(HOUR_MS // 2)
    assert door.call("GET", "/v1/jobs", session["key"]).status == 401


def test_a_session_ends_after_an_hour_without_a_request_and_after_eight_hours_with_them(door: Door) -> None:
    key = door.key()
    idle, busy = door.session(key)["key"], door.session(key)["key"]
    for minutes in range(0, 8 * 60 - 50, 50):
        door.later(50 * MINUTE_MS if minutes else 0)
        assert door.call("GET", "/v1/jobs", busy).status == 200, minutes
    assert door.call("GET", "/v1/jobs", idle).status == 401
    door.later(8 * HOUR_MS - (door.api.clock.now() - NOW))
    assert door.call("GET", "/v1/jobs", busy).status == 401
    short = door.session(key)["key"]
    door.later(HOUR_MS)
    assert door.call("GET", "/v1/jobs", short).status == 401


def test_requests_of_a_session_write_at_most_once_in_some_minutes(door: Door) -> None:
    session = door.session(door.key())
    before = door.api.tenants.sessions[session["sessionId"]].revision
    for _ in range(120):
        door.call("GET", "/v1/jobs", session["key"])
        door.later(5 * SECOND_MS)
    written = door.api.tenants.sessions[session["sessionId"]].revision - before
    assert 1 <= written <= 4  # in ten minutes


def test_a_session_that_is_ended_ends_with_both_of_its_keys(door: Door) -> None:
    key = door.key()
    session, other = door.session(key), door.session(key)
    changing = door.session(session["key"], {"allowChangesForSeconds": 60})["key"]
    ended = door.call("DELETE", CURRENT, session["key"])
    assert (ended.status, ended.body["endedAt"]) == (200, at(NOW))
    door.later(MINUTE_MS)
    statuses = [door.call("GET", "/v1/jobs", one).status for one in (session["key"], changing, other["key"], key)]
    assert statuses == [401, 401, 200, 200]


def test_an_api_key_that_ends_the_current_session_stays_alive(door: Door) -> None:
    key = door.key()
    answer = door.call("DELETE", CURRENT, key)
    assert (answer.status, answer.body["type"]) == (409, Problem.NO_SESSION.type)
    door.later(MINUTE_MS)
    assert door.call("GET", "/v1/jobs", key).status == 200


def test_a_code_begins_one_session(door: Door) -> None:
    code = door.call("POST", CODES, door.key()).body["code"]
    assert door.call("GET", "/v1/jobs", code).status == 401
    first = door.call("POST", SESSIONS, None, {"code": code})
    assert (first.status, first.body["role"]) == (201, "viewer")
    assert door.call("GET", "/v1/jobs", first.body["key"]).status == 200
    again = door.call("POST", SESSIONS, None, {"code": code})
    assert (again.status, again.body["type"]) == (401, Problem.UNAUTHENTICATED.type)


def test_a_code_is_refused_when_it_is_old_or_its_key_or_its_tenant_no_longer_works(door: Door) -> None:
    key = door.key()
    old, revoked = (door.call("POST", CODES, key).body["code"] for _ in range(2))
    door.later(10 * MINUTE_MS - 1)
    fresh = door.call("POST", CODES, key).body["code"]
    door.later(1)
    assert door.call("POST", SESSIONS, None, {"code": old}).status == 401
    door.revoke(key)
    assert [door.call("POST", SESSIONS, None, {"code": one}).status for one in (revoked, fresh)] == [401, 401]
    of_globex = door.api.call("POST", "/v1/admin/tenants/globex/keys", {"role": "viewer"}).body["key"]
    code = door.call("POST", CODES, of_globex).body["code"]
    assert door.api.call("PATCH", "/v1/admin/tenants/globex", {"disabled": True}).status == 200
    assert door.call("POST", SESSIONS, None, {"code": code}).status == 401


def test_codes_are_throttled_by_themselves(door: Door) -> None:
    session_id = door.session(door.key())["sessionId"]
    guesses = [fresh_code(session_id, number.to_bytes(16)) for number in range(4 * CODES_PER_SECOND)]
    statuses = [door.call("POST", SESSIONS, None, {"code": one}).status for one in guesses]
    assert statuses == [401] * 2 * CODES_PER_SECOND + [429] * 2 * CODES_PER_SECOND
    assert door.call("POST", SESSIONS, door.key()).status == 201  # a holder of an API key is not affected
    door.later(SECOND_MS)
    assert door.call("POST", SESSIONS, None, {"code": guesses[0]}).status == 401


@pytest.mark.parametrize("code", ["", "x", "tbc_", 7, None, [], "tbc_acme.000000000000.000000000000_" + "0" * 40])
def test_a_text_that_is_no_code_costs_no_read(door: Door, code: object) -> None:
    door.api.tenants.sessions.clear()
    answer = door.call("POST", SESSIONS, None, {"code": code})
    assert answer.status in (400, 401)
    assert "000000" not in answer.text


def test_a_code_is_sent_without_a_key_and_an_api_key_makes_no_changing_session(door: Door) -> None:
    key = door.key()
    code = door.call("POST", CODES, key).body["code"]
    assert door.call("POST", SESSIONS, key, {"code": code}).bad_fields() == ["code"]
    assert door.call("POST", SESSIONS, "tb_wrong", {"code": code}).status == 401
    for sent, body in ((key, {}), (None, {"code": code})):
        refused = door.call("POST", SESSIONS, sent, {**body, "allowChangesForSeconds": 60})
        assert refused.bad_fields() == ["allowChangesForSeconds"]
    assert door.call("POST", SESSIONS, None, {"code": code}).status == 201  # none of these has used it


def test_a_workers_key_begins_no_session(door: Door) -> None:
    worker = door.key("worker")
    assert [door.call("POST", path, worker).status for path in (SESSIONS, CODES)] == [403, 403]
    assert door.call("GET", "/v1/me", worker).body["role"] == "worker"


def test_only_hashes_are_stored_and_nothing_is_logged(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        key = door.key()
        code = door.call("POST", CODES, key).body["code"]
        session = door.call("POST", SESSIONS, None, {"code": code}).body["key"]
        changing = door.session(session, {"allowChangesForSeconds": 60})["key"]
        seen = [door.call("GET", "/v1/me", session).text, door.call("DELETE", CURRENT, changing).text]
    everything = repr([door.api.tenants.sessions, dict(door.api.tenants.sessions), door.api.store, *seen])
    for text in (everything, repr([vars(record) for record in caplog.records])):
        for secret in (key, code, session, changing):
            assert secret.rpartition("_")[2] not in text


def test_a_session_key_for_changes_manages_keys_only_while_its_row_says_so(door: Door) -> None:
    key = door.key("admin")
    session = door.session(key)
    changing = door.session(session["key"], {"allowChangesForSeconds": 60})["key"]
    made = door.call("POST", "/v1/admin/keys", changing, {"role": "viewer"})
    assert (made.status, made.body["createdBy"]) == (201, session["keyId"])
    door.call("DELETE", CURRENT, session["key"])
    # The authorizer still remembers the session; the row decides where keys are made.
    assert door.call("POST", "/v1/admin/keys", changing, {"role": "admin"}).status == 403


def test_me_says_who_the_caller_is(door: Door) -> None:
    key = door.key("submitter", name="ci", tags={"team": "blue"}, expiresAt=at(NOW + 9 * HOUR_MS))
    me = door.call("GET", "/v1/me", key).body
    assert (me["name"], me["role"], me["tenant"], me["tags"]) == ("ci", "submitter", "acme", {"team": "blue"})
    assert (me["expiresAt"], me["session"]) == (at(NOW + 9 * HOUR_MS), None)
    assert key.startswith(f"tb_{me['keyId']}_")
    assert set(me["limits"]) >= {"activeJobs", "requestsPerSecond", "payloadBytes"}
    session = door.session(key)
    seen = door.call("GET", "/v1/me", session["key"]).body
    assert (seen["keyId"], seen["role"], seen["expiresAt"]) == (me["keyId"], "viewer", at(NOW + 8 * HOUR_MS))
    assert seen["session"]["sessionId"] == session["sessionId"]
    changing = door.session(session["key"], {"allowChangesForSeconds": 60})["key"]
    raised = door.call("GET", "/v1/me", changing).body
    assert (raised["role"], raised["expiresAt"]) == ("submitter", at(NOW + MINUTE_MS))


def test_me_shows_the_quotas_of_the_tenant(door: Door) -> None:
    assert door.api.call("PATCH", "/v1/admin/tenants/acme", {"quotas": {"activeJobs": 7}}).status == 200
    limits = door.call("GET", "/v1/me", door.key()).body["limits"]
    assert limits["activeJobs"] == 7


def test_each_route_of_sessions_is_closed_to_signed_requests() -> None:
    api = Api()
    for route in router.routes:
        answer = api.call(route.method, route.path, key="iam/123456789012/role/billing", role="operator")
        assert answer.status == (200 if route.path == "/v1/me" else 403)
