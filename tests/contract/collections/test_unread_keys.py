"""DynamoDB may leave keys of a read unprocessed: they are read again for a bounded time, and never taken for absent."""

from typing import Any

import pytest

from tests.contract.waits import Waits
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.ports.errors import UnavailableError

TABLE = "jobs"
KEYS: list[Key] = [{"pk": f"acme#{name}", "sk": "JOB"} for name in "abc"]


class Throttled:
    """A client whose next answers leave all but this many keys unread."""

    def __init__(self, *read: int) -> None:
        self._read = iter(read)
        self.requests = 0

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's own name
        self.requests += 1
        asked = RequestItems[TABLE]["Keys"]
        count = next(self._read, len(asked))
        left = {TABLE: {"Keys": asked[count:], "ConsistentRead": True}} if asked[count:] else {}
        return {"Responses": {TABLE: asked[:count]}, "UnprocessedKeys": left}


@pytest.mark.parametrize("read", [(3,), (0, 3), (1, 1, 1), (0, 0, 0, 0, 0, 3)])
def test_unread_keys_are_read_again(read: tuple[int, ...]) -> None:
    client, waits = Throttled(*read), Waits()
    rows = TableReader(client, TABLE, waits.asker()).get([*KEYS, KEYS[0]])  # type: ignore[arg-type]
    assert rows == [*KEYS, KEYS[0]]
    assert (client.requests, len(waits.seconds)) == (len(read), len(read) - 1)


def test_keys_that_stay_unread_are_unknown_after_less_than_two_seconds_without_a_last_pause() -> None:
    client, waits = Throttled(*[1] * 2, *[0] * 100), Waits()
    with pytest.raises(UnavailableError, match="left keys unread"):
        TableReader(client, TABLE, waits.asker()).get(KEYS)  # type: ignore[arg-type]
    assert client.requests == len(waits.seconds) + 1 == 6
    assert sum(waits.seconds) < 2
