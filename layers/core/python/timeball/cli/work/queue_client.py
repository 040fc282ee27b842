"""The few requests of SQS that a worker needs, signed by hand: receive, hide, delete."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from timeball.aws.signing import Credentials, Scope, signed
from timeball.cli.status import CommandError, Status
from timeball.client.connection import load_httpx

if TYPE_CHECKING:
    import httpx

HIDDEN_SECONDS: Final = 60
"""How long a message is hidden from other workers, unless it is hidden anew."""
_POLL_SECONDS: Final = 20
_REGION = re.compile(r"(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com(\.cn)?")
_NOT_ALLOWED = ("AccessDenied", "InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "UnrecognizedClient")


@dataclass(frozen=True)
class QueueMessage:
    """A message that was received, and that no other worker receives for a while."""

    receipt: str
    body: str
    attributes: Mapping[str, str]


def region_of(queue_url: str, environment: Mapping[str, str]) -> str:
    """Return the region of a queue, by its URL or by the environment. Raises CommandError."""
    parts = urlsplit(queue_url)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.path.count("/") < 2:
        raise CommandError(
            "--queue: Give the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/work."
        )
    found = _REGION.fullmatch(parts.hostname)
    named = found and (found[1] or found[2])
    region = named or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if not region:
        raise CommandError("--queue: The URL names no region: set AWS_REGION.")
    return region


@dataclass(frozen=True)
class QueueClient:
    """A client of one queue; `now` returns seconds since 1970. A refusal that may pass is an OSError."""

    url: str
    region: str
    http: "httpx.Client"
    credentials: Callable[[], Credentials]
    now: Callable[[], float]

    def receive(self) -> QueueMessage | None:
        """Wait for a message, up to 20 seconds. Raises CommandError and OSError, as all of these."""
        answer = self._ask(
            "ReceiveMessage",
            MaxNumberOfMessages=1,
            WaitTimeSeconds=_POLL_SECONDS,
            VisibilityTimeout=HIDDEN_SECONDS,
            MessageAttributeNames=["All"],
        )
        for one in answer.get("Messages") or ():
            attributes = one.get("MessageAttributes") or {}
            facts = {name: found.get("StringValue", "") for name, found in attributes.items()}
            return QueueMessage(one["ReceiptHandle"], one["Body"], facts)
        return None

    def hide(self, message: QueueMessage, seconds: int = HIDDEN_SECONDS) -> None:
        """Hide a message for so long from now on; 0 gives it back."""
        self._ask("ChangeMessageVisibility", ReceiptHandle=message.receipt, VisibilityTimeout=seconds)

    def delete(self, message: QueueMessage) -> None:
        """Delete a message, whose work is done."""
        self._ask("DeleteMessage", ReceiptHandle=message.receipt)

    def _ask(self, operation: str, **request: object) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        parts = urlsplit(self.url)
        body = json.dumps({"QueueUrl": self.url, **request}).encode()
        headers = {
            "content-type": "application/x-amz-json-1.0",
            "host": parts.netloc,
            "x-amz-target": f"AmazonSQS.{operation}",
        }
        sent = signed(headers, body, self.credentials(), Scope(self.region, "sqs"), self.now())
        try:
            answer = self.http.post(
                f"{parts.scheme}://{parts.netloc}/", content=body, headers=sent, timeout=_POLL_SECONDS + 15
            )
        except load_httpx().TransportError as lost:
            raise OSError(f"SQS did not answer {operation} ({type(lost).__name__}).") from None
        if answer.is_success:
            return answer.json() if answer.content else {}
        raise _refused(operation, answer.status_code, answer.text)


def _refused(operation: str, status: int, text: str) -> Exception:
    """Return the error for a refusal; one that may pass is an OSError."""
    try:
        problem = json.loads(text)
    except ValueError:
        problem = {}
    kind = str(problem.get("__type", "")).rpartition("#")[2]
    detail = problem.get("message") or problem.get("Message") or f"status {status}"
    if status >= 500 or "Throttl" in kind:
        return OSError(f"SQS did not do {operation}: {detail}")
    exit_status = Status.USAGE
    if kind.startswith(_NOT_ALLOWED) or status == 403:
        exit_status = Status.NOT_ALLOWED
    elif "NonExistentQueue" in kind or "QueueDoesNotExist" in kind:
        exit_status = Status.NOT_FOUND
    return CommandError(f"SQS refused {operation}: {f'{kind}: {detail}' if kind else detail}", exit_status)
