"""Secrets of users: their current values, in the memory store and over Secrets Manager as moto mocks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.backends import client, moto, posts_to, thin_client
from tests.contract.waits import Waits
from timeball.aws.secrets_manager import SecretsManager
from timeball.ports.errors import UnavailableError
from timeball.ports.secrets import Secrets, SecretUnreadableError
from timeball.testing.memory_services import MemorySecrets

NAME, SERVICE = "timeball/acme/orders", "secretsmanager"


@dataclass(frozen=True)
class Subject:
    """Secrets, and a function that gives one a value."""

    secrets: Secrets
    put: Callable[[str, str], None]


@pytest.fixture(params=["memory", "moto", "moto, thin"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    if request.param == "memory":
        memory = MemorySecrets()
        yield Subject(memory, memory.put)
        return
    with moto():
        manager = client(SERVICE)

        def put(name: str, value: str) -> None:
            if any(one["Name"] == name for one in manager.list_secrets()["SecretList"]):
                manager.put_secret_value(SecretId=name, SecretString=value)
            else:
                manager.create_secret(Name=name, SecretString=value)

        asked = thin_client(SERVICE, posts_to(SERVICE)) if "thin" in request.param else manager
        yield Subject(SecretsManager(lambda: asked, Waits().asker()), put)


def test_a_secret_has_its_value_and_after_a_change_also_the_previous_one(subject: Subject) -> None:
    subject.put(NAME, "one")
    assert list(subject.secrets.live_values(NAME)) == ["one"]
    subject.put(NAME, "two")
    assert list(subject.secrets.live_values(NAME)) == ["two", "one"]
    subject.put(NAME, "three")
    assert list(subject.secrets.live_values(NAME)) == ["three", "two"]


def test_an_unknown_secret_cannot_be_read_and_the_error_says_why(subject: Subject) -> None:
    subject.put("timeball/acme/other", "x")
    with pytest.raises(SecretUnreadableError, match="there is no such secret, or it has no value yet"):
        subject.secrets.live_values(NAME)


def test_a_binary_secret_and_one_marked_for_deletion_cannot_be_read() -> None:
    with moto():
        manager = client("secretsmanager")
        secrets = SecretsManager(lambda: manager, Waits().asker())
        manager.create_secret(Name=NAME, SecretBinary=b"\x00")
        with pytest.raises(SecretUnreadableError, match="binary"):
            secrets.live_values(NAME)
        manager.delete_secret(SecretId=NAME)
        with pytest.raises(SecretUnreadableError, match="marked to be deleted"):
            secrets.live_values(NAME)


def test_an_unreadable_previous_value_does_not_hide_the_current_one() -> None:
    with moto():
        manager = client("secretsmanager")
        manager.create_secret(Name=NAME, SecretBinary=b"\x00")  # a mistake, corrected since
        manager.put_secret_value(SecretId=NAME, SecretString="one")
        assert list(SecretsManager(lambda: manager, Waits().asker()).live_values(NAME)) == ["one"]


@pytest.mark.parametrize(
    ("code", "status", "raised"),
    [
        ("AccessDeniedException", 400, SecretUnreadableError),
        ("DecryptionFailure", 400, SecretUnreadableError),
        ("Unforeseen", 400, SecretUnreadableError),
        ("ThrottlingException", 400, UnavailableError),
        ("InternalServiceError", 500, UnavailableError),
    ],
)
def test_a_refusal_is_distinguished_from_no_answer(code: str, status: int, raised: type[Exception]) -> None:
    class Refusing:
        def get_secret_value(self, **_: Any) -> Any:
            answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
            raise ClientError(answer, "GetSecretValue")

    with pytest.raises(raised):
        SecretsManager(Refusing, Waits().asker()).live_values(NAME)
