"""DynamoDB may leave keys of a read unprocessed: they are asked for again, not for long, and never taken for absent."""

from typing import Any

import pytest

from timeball.aws.keys import Key
from timeball.aws.queries import Reader
from timeball.ports import UnavailableError

TABLE = "jobs"
KEYS: list[Key] = [{"pk": f"acme#{name}", "sk": "JOB"} for name in "abc"]


class Throttled:
    """A client that leaves keys unread: of its first answers all but so many."""

    def __init__(self, *read: int) -> None:
        self._read = iter(read)
        self.requests = 0

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's own name
        self.requests += 1
        asked = RequestItems[TABLE]["Keys"]
        count = next(self._read, len(asked))
        left = {TABLE: {"Keys": asked[count:], "ConsistentRead": True}} if asked[count:] else {}
        return {"Responses": {TABLE: asked[:count]}, "UnprocessedKeys": left}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr("timeball.aws.queries.time.sleep", waits.append)
    return waits


@pytest.mark.parametrize("read", [(3,), (0, 3), (1, 1, 1), (0, 0, 0, 0, 3)])
def test_what_is_left_unread_is_asked_for_again(waits: list[float], read: tuple[int, ...]) -> None:
    client = Throttled(*read)
    rows = Reader(client, TABLE).get([*KEYS, KEYS[0]])  # type: ignore[arg-type]
    assert rows == [*KEYS, KEYS[0]]
    assert (client.requests, len(waits)) == (len(read), len(read))


def test_what_stays_unread_is_unknown_after_less_than_a_second_and_after_no_wait_in_vain(waits: list[float]) -> None:
    client = Throttled(*[1] * 2, *[0] * 100)
    with pytest.raises(UnavailableError, match="left keys unread"):
        Reader(client, TABLE).get(KEYS)  # type: ignore[arg-type]
    assert client.requests == len(waits) == 5
    assert waits[0] == 0
    assert sum(waits) < 1
