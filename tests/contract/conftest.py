"""One suite for every store. `TIMEBALL_CONTRACT_ENDPOINT` adds an endpoint, with both forms of write."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from tests.contract.backends import MotoPosts, MotoTable, client, moto, new_table, posts_to, thin_client
from tests.contract.waits import Waits
from timeball.aws.connections import Connections, Response, UnansweredError
from timeball.aws.dynamodb.store import dynamo_store
from timeball.ports.store import Store
from timeball.testing.memory_store import MemoryStore

ENDPOINT = os.environ.get("TIMEBALL_CONTRACT_ENDPOINT")
_AT_ENDPOINT = (
    "endpoint-batch-thin",
    *(pytest.param(one, marks=pytest.mark.more) for one in ("endpoint-single", "endpoint-batch")),
)
STORES = [
    *("memory", "moto-single-thin", pytest.param("moto-single", marks=pytest.mark.more)),
    *(_AT_ENDPOINT if ENDPOINT else []),
]
"""Each form of write once, through the thin client, as it is deployed; other pairs are left to `make test-all`."""


@dataclass(frozen=True)
class Subject:
    """A store, and a way to lose the answer to its next write, so that it repeats the write.

    `requests` returns the number of requests so far.
    """

    store: Store
    lose_answer: Callable[[], None]
    was_repeated: Callable[[], bool]
    requests: Callable[[], int]


@pytest.fixture(scope="module")
def moto_table() -> Iterator[MotoTable]:
    """Create one table for all tests of a module."""
    with moto():
        yield MotoTable()


@pytest.fixture(params=STORES)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Create an empty store."""
    place, writes, is_thin = ([*str(request.param).split("-"), "", ""])[:3]
    if place == "memory":
        memory = MemoryStore()
        yield Subject(memory, lambda: memory.lose_answers(1), lambda: True, lambda: 0)
    elif place == "moto":
        table: MotoTable = request.getfixturevalue("moto_table")
        table.replace({})
        with _dynamo(table.client, table.name, writes, None, is_thin=bool(is_thin)) as found:
            yield found
    else:
        dynamodb = client("dynamodb", ENDPOINT)
        table_name = new_table(dynamodb)
        _made.add(table_name)
        with _dynamo(dynamodb, table_name, writes, ENDPOINT, is_thin=bool(is_thin)) as found:
            yield found
        for name in dynamodb.list_tables()["TableNames"]:
            if name in _made:
                dynamodb.delete_table(TableName=name)


_made: set[str] = set()


@pytest.fixture
def store(subject: Subject) -> Store:
    """Return the store of the subject."""
    return subject.store


@contextmanager
def _dynamo(dynamodb: Any, table: str, writes: str, endpoint: str | None, *, is_thin: bool) -> Iterator[Subject]:
    losing = LosingPosts(posts_to("dynamodb", endpoint)) if is_thin else LostAnswers(dynamodb)
    asking = thin_client("dynamodb", losing) if isinstance(losing, LosingPosts) else dynamodb
    store = dynamo_store(asking, table, writes=writes, asker=Waits().asker())
    yield Subject(store, losing.lose_next, lambda: losing.repeated, lambda: losing.requests)
    losing.stop()


WRITES = ("PutItem", "UpdateItem", "BatchExecuteStatement", "BatchWriteItem", "DeleteItem")


class LosingPosts:
    """A transport that lets the next write happen, loses its answer, and sees whether it is repeated."""

    def __init__(self, posts: MotoPosts | Connections) -> None:
        self._posts, self.host = posts, posts.host
        self._losing = False
        self._sent = 0
        self.requests = 0
        self.repeated = False

    def stop(self) -> None:
        """Close the connections."""
        self._posts.close()

    def lose_next(self) -> None:
        """Lose the answer to the next write."""
        self._losing, self._sent, self.repeated = True, 0, False

    def post(self, headers: Mapping[str, str], body: bytes, *, once: bool = False) -> Response:
        self.requests += 1
        answer = self._posts.post(headers, body, once=once)
        if headers["x-amz-target"].rpartition(".")[2] in WRITES:
            self._sent += 1
            self.repeated = self._sent > 1
            if self._losing:
                self._losing = False
                raise UnansweredError("lost")
        return answer


class LostAnswers:
    """A hook that lets the next write happen, loses its answer, and sees whether it is repeated."""

    def __init__(self, dynamodb: Any) -> None:
        self._session = dynamodb._endpoint.http_session
        self._losing = False
        self._sent = 0
        self.requests = 0
        self.repeated = False
        dynamodb.meta.events.register_first("before-send.dynamodb", self._before_send)
        self._events = dynamodb.meta.events

    def stop(self) -> None:
        """Stop watching requests."""
        self._events.unregister("before-send.dynamodb", self._before_send)

    def lose_next(self) -> None:
        """Lose the answer to the next write."""
        self._losing, self._sent, self.repeated = True, 0, False

    def _before_send(self, request: Any, **_: Any) -> Any:
        self.requests += 1
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        if operation not in WRITES:
            return None
        self._sent += 1
        self.repeated = self._sent > 1
        if not self._losing:
            return None
        self._losing = False
        self._answer(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    def _answer(self, request: Any) -> None:
        """Let the real handler answer: moto's stub, which is another handler, or the endpoint."""
        self._events.unregister("before-send.dynamodb", self._before_send)
        try:
            responses = self._events.emit("before-send.dynamodb.Lost", request=request)
            if all(answer is None for _, answer in responses):
                self._session.send(request)
        finally:
            self._events.register_first("before-send.dynamodb", self._before_send)
