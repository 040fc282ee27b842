"""A trial of a target on the real template: the API's function may call no target, so an executor makes the call."""

import json

import pytest
from standardwebhooks.webhooks import Webhook

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_an_executor_makes_the_call_and_the_answer_shows_all_of_it(client: ApiClient, receiver: Receiver) -> None:
    target = {
        "type": "http",
        "url": f"{receiver.url}/{{{{payload.path}}}}",
        "headers": {"X-Key": "s3cret"},
        "body": '["{{jobId}}"]',
    }
    tried = ask(client, "POST", "/v1/targets:test", {"target": target, "payload": {"path": "ok"}})
    assert (tried["verdict"], tried["response"]["status"]) == ("succeeded", 200), tried
    assert tried["request"]["url"].endswith("/ok")
    assert (tried["request"]["body"], tried["request"]["headers"]["X-Key"]) == ('["timeball-trial"]', None)
    assert tried["timings"]["totalMs"] >= tried["timings"]["waitMs"] >= 0
    (call,) = receiver.arrivals()
    assert (call.job_id, call.path, call.body, call.attempt) == ("timeball-trial", "/ok", b'["timeball-trial"]', 1)


def test_a_target_that_runs_may_not_call_is_not_tried_either(client: ApiClient) -> None:
    refused = client.send("POST", "/v1/targets:test", json.dumps({"handler": "http://169.254.169.254/"}).encode())
    assert (refused.status, refused.body["errors"][0]["field"]) == (400, "handler")
    target = {"type": "http", "url": "https://example.com/", "secretId": "timeball/nobody/x"}
    refused = client.send("POST", "/v1/targets:test", json.dumps({"target": target}).encode())
    assert (refused.status, refused.body["errors"][0]["field"]) == (400, "target.secretId")


def test_a_call_is_signed_with_both_keys_of_a_secret_that_only_executors_may_read(
    stage: Stage, client: ApiClient, receiver: Receiver
) -> None:
    name, old, new = f"timeball/{stage.tenant}/hooks", "whsec_" + "YWJj" * 8, "whsec_" + "MDEy" * 8
    secrets = stage.emulator.client("secretsmanager")
    secrets.create_secret(Name=name, SecretString=old)
    secrets.put_secret_value(SecretId=name, SecretString=new)
    target = {"type": "http", "url": f"{receiver.url}/ok", "secretId": name}
    tried = ask(client, "POST", "/v1/targets:test", {"target": target, "payload": {"n": 1}})
    assert tried["signature"] == {"secretId": name, "keys": 2}, tried
    (call,) = receiver.arrivals()
    for key in (old, new):
        Webhook(key).verify(call.body, tried["request"]["headers"])
    absent = {**target, "secretId": f"timeball/{stage.tenant}/absent"}
    tried = ask(client, "POST", "/v1/targets:test", {"target": absent})
    assert (tried["verdict"], tried["mayRetry"], tried["request"]) == ("failed", True, None)
    assert "could not be read: there is no such secret" in tried["error"]
