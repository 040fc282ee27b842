"""An endpoint on the loopback interface that answers like DynamoDB, SQS and a webhook's target, and at once.

It runs in its own process, so that its processor time does not count as Timeball's. It counts requests and units, and
hands out sent messages: the measuring process plays Lambda's poller and the ticker.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any

from bench.table import MemoryTable, RefusedError, Units

Json = dict[str, Any]
_CONTROL = "Bench"


class Answers:
    """The endpoint's state, and its answers."""

    def __init__(self) -> None:
        self.table = MemoryTable()
        self.queues: dict[str, deque[Json]] = defaultdict(deque)
        self.requests: Counter[str] = Counter()

    def answer(self, target: str, body: bytes) -> tuple[HTTPStatus, Json]:
        """Return the answer to a request; a request without an operation is a call of a webhook."""
        service, _, operation = target.partition(".")
        if service == _CONTROL:
            answer: Json = getattr(self, operation)(**json.loads(body))
            return HTTPStatus.OK, answer
        self.requests[operation or "POST"] += 1
        if not operation:
            return HTTPStatus.OK, {}
        if service == "AmazonSQS":
            return HTTPStatus.OK, self._ask_queue(operation, json.loads(body))
        try:
            return HTTPStatus.OK, self.table.ask(operation, json.loads(body))
        except RefusedError as refused:
            kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
            row = {} if refused.row is None else {"Item": refused.row}
            return HTTPStatus.BAD_REQUEST, {"__type": kind, "message": str(refused), **row}

    def _ask_queue(self, operation: str, request: Mapping[str, Any]) -> Json:
        if operation == "ReceiveMessage":
            return {}
        entries = request["Entries"]
        if operation != "SendMessageBatch":
            return {"Successful": [{"Id": entry["Id"]} for entry in entries], "Failed": []}
        queue, sent = self.queues[request["QueueUrl"].rpartition("/")[2]], []
        for entry in entries:
            digest = hashlib.md5(entry["MessageBody"].encode(), usedforsecurity=False).hexdigest()
            queue.append({"messageId": digest, "receiptHandle": f"receipt-{digest}", "body": entry["MessageBody"]})
            sent.append({"Id": entry["Id"], "MessageId": digest, "MD5OfMessageBody": digest})
        return {"Successful": sent, "Failed": []}

    def counts(self) -> Json:
        """Return the counts since the last call of this."""
        counted = {
            "requests": dict(self.requests),
            "read_units": self.table.units.read,
            "write_units": self.table.units.written,
        }
        self.requests, self.table.units = Counter(), Units()
        return counted

    def messages(self, queue: str, most: int) -> Json:
        """Take messages from a queue, including delayed ones."""
        waiting = self.queues[queue]
        return {"Records": [waiting.popleft() for _ in range(min(most, len(waiting)))]}

    def store(self, rows: Sequence[Json]) -> Json:
        """Put rows, as typed values."""
        for row in rows:
            self.table.put(row)
        return {}


class _Exchange(asyncio.Protocol):
    """A connection with one request after the other, each with a length."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._came = answers, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        while b"\r\n\r\n" in self._came:
            head, _, rest = self._came.partition(b"\r\n\r\n")
            headers = {
                name.strip().lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head.decode().split("\r\n")[1:])
            }
            length = int(headers.get("content-length", 0))
            if len(rest) < length:
                if headers.get("expect"):
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            self._came = rest[length:]
            status, answer = self._answers.answer(headers.get("x-amz-target", ""), rest[:length])
            text = json.dumps(answer).encode()
            self._transport.write(
                f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: application/x-amz-json-1.0\r\n"
                f"x-amzn-RequestId: 1\r\nContent-Length: {len(text)}\r\n\r\n".encode()
                + text
            )


class Endpoint:
    """The endpoint, from outside of its process."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def counts(self) -> Json:
        """Return the counts since the last call of this."""
        return self._ask("counts")

    def messages(self, queue: str, most: int) -> list[Json]:
        """Take messages from a queue."""
        records: list[Json] = self._ask("messages", queue=queue, most=most)["Records"]
        return records

    def store(self, rows: Sequence[Json]) -> None:
        """Put rows."""
        self._ask("store", rows=rows)

    def _ask(self, operation: str, **asked: object) -> Json:
        self._connection.request("POST", "/", json.dumps(asked), {"X-Amz-Target": f"{_CONTROL}.{operation}"})
        answer: Json = json.loads(self._connection.getresponse().read())
        return answer


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Start an endpoint, and end it."""
    command = [sys.executable, "-m", "bench.endpoint"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the endpoint does not print its port")
            yield Endpoint(int(process.stdout.readline()))
        finally:
            process.terminate()


async def _serve() -> None:
    answers = Answers()
    server = await asyncio.get_running_loop().create_server(lambda: _Exchange(answers), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
