"""Silence the logs: thousands of lines about intended failures say nothing, and cost as much as the stories."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
