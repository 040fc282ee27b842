"""An unreadable message is kept with its origin, up to the largest size; if it is not kept, it stays in its queue."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tests.contract.backends import client, moto
from tests.contract.waits import Waits
from timeball.aws.unreadable_queue import KEPT_BYTES, UnreadableQueue

SOURCE = "arn:aws:sqs:us-east-1:123456789012:Timeball-QueuesNormal"


@pytest.fixture
def sqs() -> Iterator[Any]:
    with moto():
        yield client("sqs")


@pytest.fixture
def url(sqs: Any) -> str:
    return str(sqs.create_queue(QueueName="unreadable")["QueueUrl"])


def _record(body: str) -> dict[str, str]:
    return {"messageId": "m", "eventSourceARN": SOURCE, "body": body}


def _kept(sqs: Any, url: str) -> list[tuple[str, dict[str, str]]]:
    messages = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"]).get("Messages", [])
    return [
        (one["Body"], {name: value["StringValue"] for name, value in one["MessageAttributes"].items()})
        for one in messages
    ]


def test_a_message_is_kept_with_its_origin(sqs: Any, url: str) -> None:
    assert UnreadableQueue(sqs, url).keep(_record("{"))
    assert _kept(sqs, url) == [("{", {"messageId": "m", "eventSourceARN": SOURCE})]


def _take_no_more_than(sqs: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a client refuse what SQS refuses and moto accepts: the size of a message includes its attributes."""
    send = sqs.send_message

    def send_message(**request: Any) -> Any:
        attributes = request["MessageAttributes"].items()
        texts = [request["MessageBody"], *(text for name, value in attributes for text in (name, *value.values()))]
        if sum(len(text.encode()) for text in texts) > most:
            error = {"Code": "InvalidParameterValue", "Message": f"Message must be shorter than {most} bytes."}
            raise ClientError({"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}, "SendMessage")  # type: ignore[typeddict-item]
        return send(**request)

    monkeypatch.setattr(sqs, "send_message", send_message)


@pytest.mark.parametrize("character", ["x", "€", "\U0001f600"])
def test_a_message_that_leaves_no_room_for_its_origin_is_cut_and_says_so(
    sqs: Any, url: str, character: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(character.encode())
    body = character * (2**20 // size)
    _take_no_more_than(sqs, 2**20, monkeypatch)
    assert UnreadableQueue(sqs, url).keep(_record(body))
    ((kept, about),) = _kept(sqs, url)
    assert (len(kept), set(kept)) == (KEPT_BYTES // size, {character})
    assert about == {
        "messageId": "m",
        "eventSourceARN": SOURCE,
        "cut": f"the first {len(kept.encode())} of {len(body.encode())} bytes",
    }


def test_a_small_message_that_is_refused_stays_in_its_queue(sqs: Any, url: str) -> None:
    sqs.delete_queue(QueueUrl=url)
    assert not UnreadableQueue(sqs, url).keep(_record("{"))


def test_a_message_that_may_have_been_kept_is_not_cut(sqs: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def send_message(**request: Any) -> None:
        asked.append(request["MessageBody"])
        raise EndpointConnectionError(endpoint_url=url)

    monkeypatch.setattr(sqs, "send_message", send_message)
    body = "x" * 2 * KEPT_BYTES
    assert not UnreadableQueue(sqs, url, Waits().asker()).keep(_record(body))
    assert set(asked) == {body}
