"""The graph that most tests of dependencies start with."""

import pytest

from tests.api.client import Api
from tests.api.dependencies.asking import put


@pytest.fixture
def diamond(api: Api) -> Api:
    for job_id, *parents in (("a",), ("b", "a"), ("c", "a"), ("d", "b", "c")):
        assert put(api, job_id, *parents).status == 201
    return api
