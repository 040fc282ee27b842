"""The thin client sends requests and fails as boto3's clients do, and reads the environment at each request."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from tests.contract.waits import Waits
from timeball.aws.clients import (
    OPERATIONS,
    WireClient,
    credentials_of_environment,
    endpoint_of,
    wire_client,
)
from timeball.aws.connections import Response, UnansweredError
from timeball.aws.signing import Credentials
from timeball.ports.errors import UnavailableError
from timeball.setting import SettingsError

NO_ENVIRONMENT = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_SESSION_TOKEN")


@dataclass
class Posts:
    """A transport that answers every request in the same way, and records the requests."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    host: str = "dynamodb.us-east-1.amazonaws.com"
    came: list[tuple[Mapping[str, str], Any]] = field(default_factory=list)
    once: list[bool] = field(default_factory=list)

    def post(self, headers: Mapping[str, str], body: bytes, *, once: bool = False) -> Response:
        self.came.append((headers, json.loads(body)))
        self.once.append(once)
        if not self.status:
            raise UnansweredError("nothing came")
        return Response(self.status, self.headers, self.body)


def client_of(posts: Posts, service: str = "dynamodb") -> Any:
    return WireClient(service, "us-east-1", posts, lambda: Credentials("id", "secret"))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NO_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


def test_a_method_calls_the_operation_of_its_name_and_returns_the_answer() -> None:
    posts = Posts(body=b'{"Attributes": {"a": {"N": "1"}}}')
    assert client_of(posts).update_item(TableName="jobs", Key={}) == {"Attributes": {"a": {"N": "1"}}}
    ((headers, body),) = posts.came
    assert headers["x-amz-target"] == "DynamoDB_20120810.UpdateItem"
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert body == {"TableName": "jobs", "Key": {}}


def test_only_an_update_without_a_condition_must_not_be_sent_twice() -> None:
    posts = Posts()
    client = client_of(posts)
    client.update_item(TableName="jobs", Key={}, UpdateExpression="ADD runs :one")
    client.update_item(TableName="jobs", Key={}, UpdateExpression="SET a = :a", ConditionExpression="v = :v")
    client.query(TableName="jobs")
    assert posts.once == [True, False, False]


def test_each_service_has_its_own_headers() -> None:
    posts = Posts()
    client_of(posts, "secretsmanager").get_secret_value(SecretId="timeball/acme/orders")
    ((headers, _),) = posts.came
    assert headers["x-amz-target"] == "secretsmanager.GetSecretValue"
    assert headers["content-type"] == "application/x-amz-json-1.1"


def test_operations_that_are_not_in_use_are_no_methods() -> None:
    assert not hasattr(client_of(Posts()), "delete_table")
    assert not hasattr(client_of(Posts(), "sqs"), "put_item")


def test_a_failed_condition_brings_the_standing_row() -> None:
    kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
    client = client_of(Posts(400, json.dumps({"__type": kind, "message": "no", "Item": {"a": {"N": "1"}}}).encode()))
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as refusal:
        client.put_item(TableName="jobs")
    assert refusal.value.response["Item"] == {"a": {"N": "1"}}


OLD_CODE = {"x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender"}
REFUSALS: dict[str, tuple[Posts, str]] = {
    # The answer, and the code that boto3 would report.
    "by its type": (Posts(400, b'{"__type": "a.b#ValidationException", "message": "m"}'), "ValidationException"),
    "by a bare type": (Posts(400, b'{"__type": "InvalidAddress", "Message": "m"}'), "InvalidAddress"),
    "by the code of old": (
        Posts(400, b'{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}', OLD_CODE),
        "AWS.SimpleQueueService.NonExistentQueue",
    ),
    "by nothing": (Posts(413, b""), "413"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_the_error_that_boto3_raises(case: str) -> None:
    posts, code = REFUSALS[case]
    with pytest.raises(ClientError) as refusal:
        client_of(posts).query(TableName="jobs")
    assert refusal.value.response["Error"]["Code"] == code
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == posts.status


UNKNOWN: dict[str, Posts] = {
    "no answer": Posts(0),
    "an answer that is no JSON": Posts(200, b"<html>"),
    "a failure of the service": Posts(500, b'{"__type": "a#InternalServerError"}'),
    "a failure on the way": Posts(503, b"<html>"),
    "throttling": Posts(400, b'{"__type": "a#ProvisionedThroughputExceededException"}'),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_answer_that_says_nothing_about_the_request_is_retried_and_then_unavailable(case: str) -> None:
    posts = UNKNOWN[case]
    with pytest.raises((ClientError, BotoCoreError)):
        client_of(posts).query(TableName="jobs")
    posts.came.clear()
    with pytest.raises(UnavailableError):
        Waits().asker().ask(lambda: client_of(posts).query(TableName="jobs"))
    assert len(posts.came) > 1


def test_credentials_come_from_the_environment_at_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "old")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert credentials_of_environment() == Credentials("old", "secret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "new")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert credentials_of_environment() == Credentials("new", "secret", "token")


def test_a_services_endpoint_comes_from_the_environment_or_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    assert endpoint_of("sqs", "eu-central-1") == "https://sqs.eu-central-1.amazonaws.com"
    assert endpoint_of("dynamodb", "cn-north-1") == "https://dynamodb.cn-north-1.amazonaws.com.cn"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:2")
    assert endpoint_of("dynamodb", "eu-central-1") == "http://127.0.0.1:1"
    assert endpoint_of("sqs", "eu-central-1") == "http://127.0.0.1:2"


REGIONS = ("us-east-1", "eu-central-1", "ap-southeast-7", "cn-north-1", "us-gov-west-1", "us-gov-east-1")
VARIABLES: dict[str, dict[str, str]] = {
    "as is": {},
    "FIPS": {"AWS_USE_FIPS_ENDPOINT": "true"},
    "no FIPS": {"AWS_USE_FIPS_ENDPOINT": "false"},
    "another host of one service": {"AWS_ENDPOINT_URL_SECRETS_MANAGER": "https://vpce-1.example"},
    "that, ignored": {
        "AWS_ENDPOINT_URL_SECRETS_MANAGER": "https://vpce-1.example",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    },
    "one host of all": {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_USE_FIPS_ENDPOINT": "true"},
}


@pytest.mark.parametrize("case", VARIABLES)
def test_a_service_has_the_endpoint_that_boto3_uses(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", **VARIABLES[case]}.items():
        monkeypatch.setenv(name, value)
    session = get_session()
    for service in OPERATIONS:
        for region in REGIONS:
            expected = session.create_client(service, region_name=region).meta.endpoint_url
            assert endpoint_of(service, region) == expected


@pytest.mark.parametrize("region", ["eusc-de-east-1", "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1"])
def test_a_region_of_another_partition_is_refused_with_a_sentence(region: str) -> None:
    with pytest.raises(SettingsError, match=rf"partitions aws, aws-cn and aws-us-gov of AWS, and {region} is in"):
        endpoint_of("dynamodb", region)


def test_a_client_has_the_timeouts_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    waits = Waits().asker().patience
    found: Any = wire_client("dynamodb", waits)._connections
    assert (found._connect_seconds, found._read_seconds) == (waits.connect_seconds, waits.read_seconds)
