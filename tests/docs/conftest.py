import pytest

from tests.api.client import Api


@pytest.fixture
def api() -> Api:
    return Api()
