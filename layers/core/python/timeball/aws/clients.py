"""A thin client of AWS: clients for its frequent operations, with the same methods and errors as boto3's clients.

boto3 builds, validates and parses each request by a model of the service, which costs more than all that Timeball does
with the answer ([ADR 40](docs/adr/0040-thin-aws-client-on-the-hot-path.md)). Here a request is JSON, and signed by
`signing`.

`request_retries` repeats requests. An update without a condition adds to a number, and would add twice, so it is never
sent again. Rare operations are not methods of these clients; boto3's clients do them.
"""

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from timeball.aws.connections import Connections, Response, UnansweredError
from timeball.aws.request_retries import CONNECTIONS, Patience
from timeball.aws.signing import Credentials, Scope, signed
from timeball.setting import SettingsError, unsupported

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

OPERATIONS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "dynamodb": (
        "DynamoDB_20120810",
        "application/x-amz-json-1.0",
        ("BatchExecuteStatement", "BatchGetItem", "PutItem", "Query", "UpdateItem"),
    ),
    "secretsmanager": ("secretsmanager", "application/x-amz-json-1.1", ("GetSecretValue",)),
    "sqs": (
        "AmazonSQS",
        "application/x-amz-json-1.0",
        (
            "ChangeMessageVisibilityBatch",
            "DeleteMessageBatch",
            "GetQueueAttributes",
            "ReceiveMessage",
            "SendMessage",
            "SendMessageBatch",
        ),
    ),
}
"""For each service: its name on the wire, the content type of its requests, and the operations in use."""


_VARIABLES = {"dynamodb": "DYNAMODB", "secretsmanager": "SECRETS_MANAGER", "sqs": "SQS"}
"""The names of the services in AWS's environment variables."""


class Posting(Protocol):
    """Carries a request to an endpoint and brings the answer, once; `Connections`, except in tests."""

    @property
    def host(self) -> str:
        """Return the host as a request names it."""

    def post(self, headers: Mapping[str, str], body: bytes, *, once: bool = False) -> Response:
        """Post a request and return the answer. Raises UnansweredError."""


@dataclass(frozen=True)
class _Exceptions:
    """Errors that a caller distinguishes, as classes; they are made on demand, because botocore is slow to load."""

    @property
    def ConditionalCheckFailedException(self) -> "type[ClientError]":  # noqa: N802 - as boto3 calls it
        return _error_class("ConditionalCheckFailedException")


class WireClient:
    """A client of one service. Its methods are those of boto3's client for the operations in use."""

    exceptions = _Exceptions()

    def __init__(
        self,
        service: str,
        region: str,
        connections: Posting,
        credentials: Callable[[], Credentials],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._target, self._content_type, operations = OPERATIONS[service]
        self._scope, self._connections = Scope(region, service), connections
        self._credentials, self._now = credentials, now
        for name in operations:
            setattr(self, _method(name), partial(self._ask, name))

    def _ask(self, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3's methods
        body = json.dumps(request, separators=(",", ":")).encode()
        headers = {
            "content-type": self._content_type,
            "host": self._connections.host,
            "x-amz-target": f"{self._target}.{operation}",
        }
        headers = signed(headers, body, self._credentials(), self._scope, self._now())
        is_sum = operation == "UpdateItem" and "ConditionExpression" not in request
        try:
            answer = self._connections.post(headers, body, once=is_sum)
            if answer.status == HTTPStatus.OK:
                return json.loads(answer.body)
        except (UnansweredError, ValueError) as error:
            from botocore.exceptions import HTTPClientError  # noqa: PLC0415 - slow, and seldom needed

            raise HTTPClientError(error=error) from error
        raise _refused(operation, answer)


def wire_client(service: str, patience: Patience) -> WireClient:
    """Return a client with the region, the endpoint and the credentials of the environment."""
    region = os.environ.get("AWS_REGION") or os.environ["AWS_DEFAULT_REGION"]
    connections = Connections(
        endpoint_of(service, region), patience.connect_seconds, patience.read_seconds, CONNECTIONS
    )
    return WireClient(service, region, connections, credentials_of_environment)


def endpoint_of(service: str, region: str) -> str:
    """Return a service's endpoint: as the environment says, or in its region.

    Raises SettingsError for a region of a partition whose host names are not known here.
    """
    given = os.environ.get(f"AWS_ENDPOINT_URL_{_VARIABLES[service]}") or os.environ.get("AWS_ENDPOINT_URL")
    if given and os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() != "true":
        return given
    if sentence := unsupported(region):
        raise SettingsError(sentence)
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    is_fips = os.environ.get("AWS_USE_FIPS_ENDPOINT", "").lower() == "true"
    has_both = not (region.startswith("us-gov-") and service == "sqs")  # there, one endpoint serves both
    return f"https://{service}{'-fips' if is_fips and has_both else ''}.{region}.{suffix}"


def credentials_of_environment() -> Credentials:
    """Return the current credentials: Lambda's are variables; botocore finds, and refreshes, others."""
    key_id, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if key_id and secret:
        return Credentials(key_id, secret, os.environ.get("AWS_SESSION_TOKEN") or None)
    found = _found_credentials().get_frozen_credentials()
    return Credentials(found.access_key, found.secret_key, found.token)


@cache
def _found_credentials() -> Any:  # noqa: ANN401 - botocore's
    from botocore.exceptions import NoCredentialsError  # noqa: PLC0415 - slow, and no function of Lambda's needs it
    from botocore.session import get_session  # noqa: PLC0415

    found = get_session().get_credentials()
    if found is None:
        raise NoCredentialsError
    return found


def _refused(operation: str, answer: Response) -> Exception:
    """Return the error that boto3 would raise, with all that the service says of it."""
    facts = _object_in(answer.body)
    code = str(facts.get("__type", "")).rpartition("#")[2] or str(answer.status)
    code = {name.lower(): value for name, value in answer.headers.items()}.get("x-amzn-query-error", code).partition(
        ";"
    )[0]
    message = str(facts.get("message") or facts.get("Message") or "")
    said = {name: value for name, value in facts.items() if name not in ("__type", "message", "Message")}
    parsed: Any = {
        **said,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": answer.status},
    }
    return _error_class(code)(parsed, operation)


def _object_in(body: bytes) -> dict[str, Any]:
    """Return the content of a refusal, or nothing if it is no JSON: a proxy on the way may have sent it."""
    try:
        facts = json.loads(body)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _error_class_of(code: str) -> "type[ClientError]":
    from botocore.exceptions import ClientError  # noqa: PLC0415 - slow, and seldom needed

    return type(code, (ClientError,), {}) if code.isidentifier() else ClientError


_error_class: "Callable[[str], type[ClientError]]" = cache(_error_class_of)
"""Typed here, because the type that `cache` gives it would return anything."""


def _method(operation: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
