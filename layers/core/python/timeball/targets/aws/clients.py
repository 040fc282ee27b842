"""The clients of AWS that calls need: each is made for the first call that needs it, and kept for the process.

Invariant: importing this module loads nothing of AWS. A request is sent once: only the engine decides on a retry.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from timeball.domain.sharing.capacity import CAPACITY

_CONNECT_SECONDS = 5

_one_at_a_time = threading.Lock()
"""Threads may share boto3's clients, but not the session that makes them."""


Connect = Callable[[str, str, int], Any]
"""Return a client of a service in a region that waits so many seconds for an answer. It may block."""


def connect(service: str, region: str, seconds: int) -> Any:  # noqa: ANN401 - as boto3 makes them
    """Return this process's client of a service in a region that waits so long for an answer."""
    with _one_at_a_time:
        return _client(service, region, seconds)


@cache
def _client(service: str, region: str, seconds: int) -> Any:  # noqa: ANN401 - as boto3 makes them
    import boto3  # noqa: PLC0415 - slow, and most executors call no target of AWS
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=min(_CONNECT_SECONDS, seconds),
        read_timeout=seconds,
        retries={"total_max_attempts": 1},
        max_pool_connections=CAPACITY,
        tcp_keepalive=True,  # a function may be silent for minutes
    )
    make: Any = boto3.client  # its type knows only literal names
    return make(service, region_name=region, config=config)
