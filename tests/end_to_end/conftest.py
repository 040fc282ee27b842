"""One Timeball for all tests of a group: the real template on the embedded AWS, called over HTTP."""

from collections.abc import Iterator

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from local.stage import run_local_stage
from tests.end_to_end.account import Account
from timeball.dev.stage import Stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with run_local_stage() as stage:
        yield stage


@pytest.fixture
def client(stage: Stage) -> ApiClient:
    return ApiClient(stage.deployment.api_url, stage.key)


@pytest.fixture
def admin(stage: Stage) -> ApiClient:
    """Return a client with the first key, which the deployment has created."""
    return ApiClient(stage.deployment.api_url, stage.admin_key)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def account(stage: Stage) -> Account:
    return Account(stage)
