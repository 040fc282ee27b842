"""A target whose URL is an address that webhooks never reach is refused when its job is created, not at its call."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Api
from timeball.api.app import build_api
from timeball.targets.http.addresses import parse_rules

EVERY = {"everySeconds": 60}
CLOSED = [
    "http://127.0.0.1:8080/hook",
    "http://10.1.2.3/",
    "http://169.254.169.254/latest/meta-data/",
    "https://0.0.0.0/",
    "https://224.0.0.1/",
    "http://10.0.0.1./",
    "http://169.254.169.254.:80/",
    "http://[::1]/",
    "https://[fd00:ec2::254]:443/",
    "http://[::ffff:192.168.0.1]/",
    "http://[64:ff9b::a00:1]/",
]


def create(api: Api, handler: str) -> Any:
    return api.call("POST", "/v1/jobs", {"handler": handler, **EVERY})


def opened(api: Api, networks: str) -> None:
    """Let an API's webhooks reach these networks."""
    api.handle = build_api(replace(api.edge, addresses=parse_rules(networks)))


@pytest.mark.parametrize("url", CLOSED)
def test_a_closed_address_is_refused_as_handler_and_as_target_and_nothing_is_stored(api: Api, url: str) -> None:
    for body, field in (({"handler": url}, "handler"), ({"target": {"type": "http", "url": url}}, "target.url")):
        answer = api.call("POST", "/v1/jobs", {**body, **EVERY})
        assert (answer.status, answer.bad_fields()) == (400, [field])
        (error,) = answer.body["errors"]
        assert "private, local or reserved; the setting timeball:private_targets opens" in error["message"]
    assert api.store.jobs == {}


@pytest.mark.parametrize(
    "host",
    ["127.1", "2130706433", "0x7f000001", "0X7F.1", "017700000001", "127.0.0.01", "127.0.0.1.0", "1.1.1.256", "a.0x"],
)
def test_an_address_that_is_not_written_as_four_decimal_numbers_is_refused(api: Api, host: str) -> None:
    for url in (f"http://{host}/", f"https://{host}.:8443/x"):
        answer = create(api, url)
        assert (answer.status, answer.bad_fields()) == (400, ["handler"])
        assert "four decimal numbers" in answer.body["errors"][0]["message"]
    assert api.store.jobs == {}


@pytest.mark.parametrize(
    "url", ["https://1.1.1.1.:8443/", "http://4.example/", "http://a.0xa.b4/", "http://7-eleven./"]
)
def test_a_public_address_with_a_trailing_dot_and_names_with_numbers_are_accepted(api: Api, url: str) -> None:
    assert create(api, url).status == 201


@pytest.mark.parametrize(
    "url", ["https://1.1.1.1/", "https://[2606:4700::1111]/", "https://localhost/", "http://a.test"]
)
def test_public_addresses_and_names_are_accepted(api: Api, url: str) -> None:
    assert create(api, url).status == 201


def test_exactly_the_networks_that_the_setting_opens_are_accepted(api: Api) -> None:
    opened(api, "10.1.0.0/16,169.254.0.0/16")
    answers = [create(api, url).status for url in ("http://10.1.2.3/", "http://10.2.0.1/", "http://169.254.169.254/")]
    assert answers == [201, 400, 400]


def test_a_job_whose_address_was_closed_since_can_be_changed_but_not_to_another_closed_address(
    api: Api,
) -> None:
    opened(api, "10.0.0.0/8")
    path = f"/v1/jobs/{create(api, 'http://10.0.0.1/').body['jobId']}"
    opened(api, "")
    assert api.call("PATCH", path, {"tags": {"team": "a"}}).status == 200
    answer = api.call("PATCH", path, {"handler": "http://10.0.0.2/"})
    assert (answer.status, answer.bad_fields()) == (400, ["handler"])
    assert api.call("GET", path).body["target"]["url"] == "http://10.0.0.1/"


def test_a_repeated_creation_gets_its_first_answer_though_the_address_was_closed_since(api: Api) -> None:
    opened(api, "10.0.0.0/8")
    body, key = {"handler": "http://10.0.0.1/", **EVERY}, {"Idempotency-Key": "k"}
    first = api.call("POST", "/v1/jobs", body, headers=key)
    opened(api, "")
    again = api.call("POST", "/v1/jobs", body, headers=key)
    assert (first.status, again.status, again.body) == (201, 201, first.body)
