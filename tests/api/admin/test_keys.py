"""Routes of API keys: a key is shown once, listed without its secret, changed, rotated with an overlap, and revoked."""

import logging
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.api.authorizer import Authorizer
from timeball.domain.model.tenants.key import hash_of
from timeball.domain.time.instants import format_instant

KEYS = "/v1/admin/keys"
OF_GLOBEX = "/v1/admin/tenants/globex/keys"


def make(api: Api, path: str = KEYS, **fields: object) -> dict[str, Any]:
    answer = api.call("POST", path, {"role": "viewer", **fields})
    assert answer.status == 201, answer.text
    body: dict[str, Any] = answer.body
    return body


def opens(api: Api, key: str) -> dict[str, Any]:
    """Return the context that a fresh authorizer gives a key; empty if it refuses the key."""
    told = Authorizer(api.tenants, api.clock)({"headers": {"authorization": f"Bearer {key}"}})
    context: dict[str, Any] = told["context"]
    return {} if "refused" in context else context


def test_a_key_works_and_is_shown_only_by_the_answer_that_created_it(api: Api) -> None:
    answer = api.call("POST", OF_GLOBEX, {"role": "submitter", "name": "ci", "tags": {"team": "blue"}})
    made = answer.body
    assert (answer.status, answer.headers["ETag"]) == (201, '"1"')
    assert answer.headers["Location"] == f"{OF_GLOBEX}/{made['keyId']}"
    assert made["key"].startswith(f"tb_{made['keyId']}_")
    told = opens(api, made["key"])
    assert (told["tenant"], told["keyId"], told["role"]) == ("globex", made["keyId"], "submitter")
    read = api.call("GET", answer.headers["Location"])
    assert read.body == {name: value for name, value in made.items() if name != "key"}
    assert (made["name"], made["tags"], made["createdBy"], made["expiresAt"]) == ("ci", {"team": "blue"}, "key_1", None)
    secret = made["key"].rpartition("_")[2]
    listed = api.call("GET", OF_GLOBEX)
    assert [one["keyId"] for one in listed.body["items"]] == [made["keyId"]]
    for text in (read.text, listed.text, repr(api.tenants)):
        assert secret not in text
    assert api.tenants.keys[made["keyId"]].hashed == hash_of(made["key"])


def test_no_log_line_and_no_change_record_contains_a_usable_key(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        made = make(api)
        api.call("DELETE", f"{KEYS}/{made['keyId']}")
    told = api.call("GET", "/v1/changes").text
    assert made["keyId"] in told
    for text in (told, repr(api.store.changes), repr([vars(record) for record in caplog.records])):
        assert made["key"].rpartition("_")[2] not in text


@pytest.mark.parametrize(
    ("fields", "bad"),
    [
        ({"role": None}, ["role"]),
        ({"role": "editor"}, ["role"]),
        ({"role": 5}, ["role"]),
        ({"role": "admin", "tags": {"team": "blue"}}, ["tags"]),
        ({"tags": {str(number): "x" for number in range(11)}}, ["tags"]),
        ({"expiresAt": "2026-11-21T09:30:00Z"}, ["expiresAt"]),
        ({"expiresAt": "soon", "role": "boss", "key": "tb_mine"}, ["expiresAt", "key", "role"]),
    ],
)
def test_a_bad_key_is_refused_with_every_mistake_named(api: Api, fields: dict[str, Any], bad: list[str]) -> None:
    before = repr(api.tenants.keys)
    answer = api.call("POST", KEYS, {"role": "viewer", **fields})
    assert answer.status == 400
    assert sorted(answer.bad_fields()) == bad
    assert repr(api.tenants.keys) == before


def test_keys_are_listed_page_by_page(api: Api) -> None:
    made = sorted(make(api)["keyId"] for _ in range(5))
    seen: list[str] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = api.call("GET", KEYS, query={"limit": "2", **cursor}).body
        seen += [one["keyId"] for one in page["items"]]
        cursor = {"cursor": page["nextCursor"]} if page["nextCursor"] else None
    assert seen == made
    other = api.call("GET", OF_GLOBEX, query={"cursor": api.call("GET", KEYS, query={"limit": "2"}).body["nextCursor"]})
    assert (other.status, other.bad_fields()) == (400, ["cursor"])


def patch(api: Api, key: dict[str, Any], body: object, **headers: str) -> Answer:
    return api.call("PATCH", f"{KEYS}/{key['keyId']}", body, headers={"If-Match": headers.get("version", "*")})


def test_a_key_is_changed_by_a_merge_patch(api: Api) -> None:
    key = make(api, tags={"team": "blue", "kind": "x"}, expiresAt="2026-12-01T00:00:00Z")
    answer = patch(
        api, key, {"role": "operator", "tags": {"kind": None}, "expiresAt": None, "name": "new"}, version='"1"'
    )
    assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
    body = answer.body
    assert (body["role"], body["tags"], body["expiresAt"], body["name"]) == ("operator", {"team": "blue"}, None, "new")
    assert opens(api, key["key"])["role"] == "operator"
    again = patch(api, key, {"role": "operator"})
    assert again.headers["ETag"] == '"2"'
    assert patch(api, key, {"name": "x"}, version='"1"').status == 412
    assert patch(api, key, {"role": None}).bad_fields() == ["role"]
    assert patch(api, key, {"nope": None}).bad_fields() == ["nope"]


def test_a_rotated_key_works_beside_the_new_one_until_the_overlap_ends(api: Api) -> None:
    old = make(api, role="operator", name="ci", tags={"team": "blue"}, expiresAt="2026-11-22T09:30:00.250Z")
    api.clock.advance(3_600_000)
    answer = api.call("POST", f"{KEYS}/{old['keyId']}/rotate", {"overlapSeconds": 600})
    new = answer.body
    assert answer.status == 201
    assert new["keyId"] != old["keyId"]
    assert (new["role"], new["name"], new["tags"]) == ("operator", "ci", {"team": "blue"})
    assert new["expiresAt"] == "2026-11-22T10:30:00.250Z"  # it lives as long as the old one would have
    assert opens(api, old["key"])
    assert opens(api, new["key"])
    api.clock.advance(600_000)
    assert not opens(api, old["key"])
    assert opens(api, new["key"])


def test_a_rotation_never_prolongs_a_key_and_overlaps_for_a_day_by_default(api: Api) -> None:
    brief, endless = make(api, expiresAt="2026-11-21T09:31:00Z"), make(api)
    for key in (brief, endless):
        assert api.call("POST", f"{KEYS}/{key['keyId']}/rotate").status == 201
    ends = [api.tenants.keys[key["keyId"]].expires_at for key in (brief, endless)]
    assert ends == [NOW - 250 + 60_000, NOW + 86_400_000]


def test_a_revoked_key_opens_nothing_and_stays_listed(api: Api) -> None:
    key = make(api)
    answer = api.call("DELETE", f"{KEYS}/{key['keyId']}", headers={"If-Match": '"1"'})
    assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
    assert answer.body["revokedAt"] == "2026-11-21T09:30:00.250Z"
    assert not opens(api, key["key"])
    assert api.call("DELETE", f"{KEYS}/{key['keyId']}").body == answer.body
    assert [one["keyId"] for one in api.call("GET", KEYS).body["items"]] == [key["keyId"]]
    for method, path in (("PATCH", ""), ("POST", "/rotate")):
        refused = api.call(method, f"{KEYS}/{key['keyId']}{path}", {})
        assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:key-revoked")


@pytest.mark.parametrize(
    ("method", "body"),
    [("DELETE", None), ("PATCH", {"role": "viewer"}), ("PATCH", {"expiresAt": "2026-12-01T00:00:00Z"})],
)
def test_an_admin_key_cannot_revoke_demote_or_expire_itself(api: Api, method: str, body: object) -> None:
    own = make(api, role="admin")
    answer = api.call(method, f"{KEYS}/{own['keyId']}", body, key=own["keyId"])
    assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:locks-out")
    assert opens(api, own["key"])
    assert patch(api, own, {"name": "mine"}).status == 200


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_another_tenants_key_is_not_found_under_the_callers_own_path(api: Api, method: str) -> None:
    key = make(api, OF_GLOBEX)
    body: object = {} if method == "PATCH" else None
    assert api.call(method, f"{KEYS}/{key['keyId']}", body).status == 404
    assert api.call(method, f"/v1/admin/tenants/acme/keys/{key['keyId']}", body).status == 404


def test_an_admin_of_another_tenant_manages_only_its_own_keys(api: Api) -> None:
    answer = api.call("POST", KEYS, {"role": "admin"}, tenant="globex")
    assert (answer.status, answer.body["tenant"]) == (201, "globex")
    assert api.call("GET", OF_GLOBEX, tenant="globex").body["items"][0]["keyId"] == answer.body["keyId"]
    assert api.call("POST", "/v1/admin/tenants/acme/keys", {"role": "admin"}, tenant="globex").status == 404
    assert api.call("POST", "/v1/admin/tenants/nobody/keys", {"role": "admin"}, tenant="globex").status == 404


@pytest.mark.parametrize("lost", [{"method": "DELETE"}, {"method": "PATCH", "body": {"role": "viewer"}}])
def test_a_revoked_or_demoted_admin_key_creates_no_key_at_once(api: Api, lost: dict[str, Any]) -> None:
    stolen = make(api, role="admin")["keyId"]
    assert api.call("POST", KEYS, {"role": "admin"}, key=stolen).status == 201
    assert api.call(path=f"{KEYS}/{stolen}", **lost).status == 200
    before = repr(api.tenants.keys)  # for a minute an authorizer may remember the old role
    for path in (KEYS, OF_GLOBEX, f"{KEYS}/{stolen}/rotate"):
        assert api.call("POST", path, {"role": "admin"}, key=stolen).status == 403
    assert api.call("GET", KEYS, key=stolen).status == 403
    assert repr(api.tenants.keys) == before


def test_an_expired_admin_key_creates_no_key(api: Api) -> None:
    brief = make(api, role="admin", expiresAt=format_instant(NOW + 1_000))["keyId"]
    api.clock.advance(1_000)
    assert api.call("POST", KEYS, {"role": "admin"}, key=brief).status == 403


ENDS_AT = "2026-12-01T00:00:00.000Z"
LATER = "2026-12-01T00:00:01Z"


def test_a_key_ends_no_later_than_the_key_that_created_it(api: Api) -> None:
    maker = make(api, role="admin", expiresAt=ENDS_AT)["keyId"]
    made = api.call("POST", KEYS, {"role": "admin"}, key=maker)
    assert (made.status, made.body["expiresAt"]) == (201, ENDS_AT)
    later = api.call("POST", KEYS, {"role": "viewer", "expiresAt": LATER}, key=maker)
    assert (later.status, later.bad_fields()) == (400, ["expiresAt"])
    assert api.call("POST", KEYS, {"role": "viewer", "expiresAt": ENDS_AT}, key=maker).status == 201


def test_a_key_rotated_by_a_key_that_expires_ends_no_later_than_that_key(api: Api) -> None:
    brief, maker = make(api, expiresAt="2026-11-30T00:00:00Z"), make(api, role="admin", expiresAt=ENDS_AT)
    api.clock.advance(2 * 86_400_000)
    for key in (brief, maker):
        rotated = api.call("POST", f"{KEYS}/{key['keyId']}/rotate", {}, key=maker["keyId"])
        assert (rotated.status, rotated.body["expiresAt"]) == (201, ENDS_AT)


@pytest.mark.parametrize("ends", [{}, {"expiresAt": LATER}])
def test_a_rotation_whose_new_key_would_end_before_the_old_one_is_refused(api: Api, ends: dict[str, str]) -> None:
    service, maker = make(api, role="submitter", **ends), make(api, role="admin", expiresAt=ENDS_AT)
    before = repr(api.tenants.keys)
    refused = api.call("POST", f"{KEYS}/{service['keyId']}/rotate", {}, key=maker["keyId"])
    assert (refused.status, refused.bad_fields()) == (400, ["expiresAt"])
    assert ENDS_AT in refused.text
    assert repr(api.tenants.keys) == before


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ({}, {"role": "admin"}),
        ({}, {"role": "worker"}),
        ({"role": "worker"}, {"role": "viewer"}),
        ({"expiresAt": ENDS_AT}, {"expiresAt": None}),
        ({"expiresAt": ENDS_AT}, {"expiresAt": LATER}),
        ({"tags": {"a": "b"}}, {"tags": {"a": None}}),
        ({"tags": {"a": "b"}}, {"tags": {"a": "c"}}),
        ({"role": "operator", "expiresAt": ENDS_AT}, {"role": "viewer", "expiresAt": LATER}),
    ],
)
def test_a_key_that_expires_grants_nothing_to_a_key_that_outlives_it(
    api: Api, key: dict[str, Any], change: dict[str, Any]
) -> None:
    maker = make(api, role="admin", expiresAt=ENDS_AT)["keyId"]
    other = make(api, **key)
    answer = api.call("PATCH", f"{KEYS}/{other['keyId']}", change, key=maker)
    assert (answer.status, answer.bad_fields()) == (400, ["expiresAt"])
    assert api.call("PATCH", f"{KEYS}/{other['keyId']}", {"name": "mine"}, key=maker).status == 200
    assert api.call("DELETE", f"{KEYS}/{other['keyId']}", key=maker).status == 200


@pytest.mark.parametrize(
    "change", [{"role": "viewer"}, {"expiresAt": LATER}, {"expiresAt": ENDS_AT}, {"tags": {"a": "b"}}]
)
def test_a_key_that_expires_may_restrict_a_key_that_outlives_it(api: Api, change: dict[str, Any]) -> None:
    maker = make(api, role="admin", expiresAt=ENDS_AT)["keyId"]
    other = make(api, role="operator")
    assert api.call("PATCH", f"{KEYS}/{other['keyId']}", change, key=maker).status == 200
