"""A route rotates the signing secret, and the token of an attempt under way stays valid."""

from tests.api.client import NOW, SECRET, Answer, Api
from tests.api.runs.rows import row, waiting
from timeball.domain.attempts.callback_token import ACCEPTED_MS, SIGNS_AFTER_MS, token_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import format_instant

PATH = "/v1/admin/signing-secret/rotate"


def heartbeat(api: Api, run: Run, secret: str) -> Answer:
    headers = {"Authorization": f"Bearer {token_of(run.id, 1, secret)}"}
    return api.call("POST", f"/v1/runs/{run.id}/heartbeat", {"attempt": 1}, tenant=None, headers=headers)


def test_a_token_from_before_a_rotation_may_end_its_run_after_the_rotation(api: Api) -> None:
    run = waiting(api)
    token = token_of(run.id, 1, SECRET)
    assert api.store.signing.secrets(SECRET).newest == SECRET
    assert api.call("POST", PATH).status == 200
    assert api.store.signing.secrets("").newest != SECRET
    headers = {"Authorization": f"Bearer {token}"}
    assert api.call("POST", f"/v1/runs/{run.id}/complete", {"attempt": 1}, tenant=None, headers=headers).status == 200
    assert row(api, str(run.id)).state is RunState.SUCCEEDED


def test_a_token_is_valid_for_one_rotation_and_refused_after_two(api: Api) -> None:
    secrets = [api.store.signing.secrets(SECRET).newest]
    for _ in range(2):
        api.clock.advance(ACCEPTED_MS)
        assert api.call("POST", PATH).status == 200
        secrets.append(api.store.signing.secrets("").newest)
    run = waiting(api)
    assert [heartbeat(api, run, secret).status for secret in secrets] == [401, 200, 200]


def test_a_repeated_rotation_changes_nothing(api: Api) -> None:
    first = api.call("POST", PATH)
    assert first.body == {
        "rotatedAt": format_instant(NOW),
        "signsFrom": format_instant(NOW + SIGNS_AFTER_MS),
        "acceptedUntil": format_instant(NOW + ACCEPTED_MS),
    }
    stands = api.store.signing.secrets("")
    told = api.call("GET", "/v1/changes").body
    api.clock.advance(ACCEPTED_MS - 1)
    assert api.call("POST", PATH).body == first.body
    assert api.store.signing.secrets("") == stands
    assert len(api.call("GET", "/v1/changes").body["items"]) == len(told["items"]) == 1
    api.clock.advance(1)
    assert api.call("POST", PATH).body["rotatedAt"] == format_instant(NOW + ACCEPTED_MS)


def test_only_admins_of_the_operating_tenant_rotate_the_secret_and_no_answer_shows_it(api: Api) -> None:
    assert api.call("POST", PATH, tenant="globex").status == 403
    assert api.call("POST", PATH, role="operator").status == 403
    answer = api.call("POST", PATH)
    stands = api.store.signing.secrets("")
    assert stands.newest not in answer.text
    assert stands.before is not None
    assert stands.before not in answer.text
