"""How a function that a stream feeds treats a record that it cannot process: it keeps the keys, for people."""

import json
from typing import Any

from timeball.aws.dynamodb.stream import Record
from timeball.ports.errors import UnavailableError
from timeball.runtime.wiring import unreadable_queue


def keep(record: Record) -> None:
    """Keep the keys of a record. Its row stands in the table until it expires. Raises UnavailableError."""
    about: dict[str, Any] = {
        "keys": record["dynamodb"]["Keys"],
        "sequenceNumber": record["dynamodb"]["SequenceNumber"],
    }
    kept = {"body": json.dumps(about), "eventSourceARN": record["eventSourceARN"], "messageId": record["eventID"]}
    if not unreadable_queue().keep(kept):
        raise UnavailableError("a record that cannot be processed is not kept yet")
