from typing import Any

import pytest

from tests.api.client import Api


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def job(api: Api) -> dict[str, Any]:
    """A recurring job."""
    created: dict[str, Any] = api.create(everySeconds=60)
    return created
