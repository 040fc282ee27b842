"""The queue of messages that no function can read: they are kept for people to see."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from timeball.aws.request_retries import BRISKLY, Asker

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import MessageAttributeValueTypeDef

log = logging.getLogger(__name__)

KEPT_BYTES = 64 * 1024
"""How many bytes are kept of an unreadable message that is too large to be kept whole."""


class UnreadableQueue:
    """Keeps messages that name no run, for people to see; no function receives them."""

    def __init__(self, client: "SQSClient", url: str, asker: Asker = BRISKLY) -> None:
        self._client, self._url, self._asker = client, url, asker

    def keep(self, record: Mapping[str, Any]) -> bool:
        """Keep a record of a Lambda event with its origin; False: its message must stay. Never raises.

        A message of the greatest size that a queue takes leaves no room for its origin: it is refused, and then kept
        cut.
        """
        body = record["body"]
        about = {name: record[name] for name in ("eventSourceARN", "messageId") if name in record}
        begin = body.encode()[:KEPT_BYTES].decode(errors="ignore")
        cut = {**about, "cut": f"the first {len(begin.encode())} of {len(body.encode())} bytes"}
        try:
            is_kept = self._is_taken(body, about) or (begin != body and self._is_taken(begin, cut))
        except Exception:
            log.exception("an unreadable message is not kept yet")
            return False
        if is_kept:
            log.error("a message that cannot be read is kept", extra={"message_id": record.get("messageId")})
        return is_kept

    def _is_taken(self, body: str, about: Mapping[str, str]) -> bool:
        """Send a message; False: the queue refuses it, and would do so again."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

        attributes: dict[str, MessageAttributeValueTypeDef] = {
            name: {"DataType": "String", "StringValue": value} for name, value in about.items()
        }
        try:
            self._asker.ask(
                lambda: self._client.send_message(QueueUrl=self._url, MessageBody=body, MessageAttributes=attributes)
            )
        except ClientError as refusal:
            log.warning("an unreadable message is refused: %s", refusal, extra=dict(about))
            return False
        return True
