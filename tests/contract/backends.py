"""The stores and queues under contract: memory, moto, and an endpoint that speaks DynamoDB and SQS."""

import copy
import itertools
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import boto3
from botocore.config import Config
from moto import mock_aws
from moto.core.exceptions import HTTPException
from moto.core.request import Request
from moto.core.serialize import JSONSerializer
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.responses import DynamoHandler
from moto.secretsmanager.responses import SecretsManagerResponse
from moto.sqs.responses import SQSResponse

from timeball.aws.clients import Posting, WireClient, credentials_of_environment
from timeball.aws.connections import Connections, Response
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.schema import JOBS, Attribute, TableSchema
from timeball.aws.dynamodb.table.writes import from_values
from timeball.aws.signing import Credentials
from timeball.ports.store import Store

REGION = "us-east-1"
DUMMY = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
_SERVICES = {"dynamodb": DynamoHandler, "secretsmanager": SecretsManagerResponse, "sqs": SQSResponse}
_PLAIN_TYPES = {"S", "N", "BOOL", "NULL"}
_SERIALIZE = JSONSerializer._serialize_type_structure
_numbers = itertools.count(1)


def client(service: str, endpoint: str | None = None) -> Any:
    """Return a client that sends each request once, as the functions' clients do: our own code repeats requests.

    Its credentials are dummies, unless an endpoint is given and the environment has credentials for it.
    """
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=32,
        ignore_configured_endpoint_urls=True,  # type: ignore[call-arg]  # the stubs do not know it
    )
    credentials = {} if endpoint and "AWS_ACCESS_KEY_ID" in os.environ else DUMMY
    return boto3.client(service, endpoint_url=endpoint, config=config, region_name=REGION, **credentials)  # type: ignore[call-overload]


@dataclass
class MotoPosts:
    """A transport of the thin client straight to moto's service, because mocked HTTP takes longer than the answer."""

    service: str

    @property
    def host(self) -> str:
        return f"{self.service}.{REGION}.amazonaws.com"

    def post(self, headers: Mapping[str, str], body: bytes, *, once: bool = False) -> Response:  # noqa: ARG002 - as the real
        url = f"https://{self.host}/"
        request = Request.from_primitives("POST", url, headers, body)
        try:
            status, answered, text = _SERVICES[self.service].dispatch(request, url, request.headers)
        except HTTPException as refused:
            status, answered, text = refused.code, refused.get_headers(), refused.get_body()
        return Response(status, answered, text if isinstance(text, bytes) else text.encode())

    def close(self) -> None:
        """Do nothing: no connection is kept."""


def posts_to(service: str, endpoint: str | None = None) -> MotoPosts | Connections:
    """Return the transport of the thin client's requests: to moto, or to an endpoint."""
    return MotoPosts(service) if endpoint is None else Connections(endpoint, 2, 60, kept=32)


def thin_client(service: str, posts: Posting) -> Any:
    """Return the thin client of a service, with the same credentials as `client`."""
    is_told = not isinstance(posts, MotoPosts) and "AWS_ACCESS_KEY_ID" in os.environ
    dummy = Credentials(*DUMMY.values())
    return WireClient(service, REGION, posts, credentials_of_environment if is_told else lambda: dummy)


def create_table(dynamodb: Any, table: TableSchema, name: str) -> None:
    """Create a table as the schema defines it."""
    indexes = [
        {
            "IndexName": index.name,
            "KeySchema": _keys(index.partition, index.sort),
            "Projection": {"ProjectionType": index.projection},
        }
        for index in table.indexes
    ]
    attributes = {attribute.name: attribute.type for attribute in (table.partition, table.sort)}
    for index in table.indexes:
        attributes |= {index.partition.name: index.partition.type, index.sort.name: index.sort.type}
    dynamodb.create_table(
        TableName=name,
        KeySchema=_keys(table.partition, table.sort),
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in attributes.items()],
        BillingMode="PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    )


def new_table(dynamodb: Any, table: TableSchema = JOBS) -> str:
    """Create a table under a fresh name (by default a jobs table), and wait until it can be written."""
    name = f"contract-{uuid.uuid4().hex[:8]}-{next(_numbers)}"
    create_table(dynamodb, table, name)
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    return name


@contextmanager
def moto() -> Iterator[None]:
    """Mock AWS in this process, one request at a time, because moto's conditions are not atomic under threads."""
    one_at_a_time = threading.RLock()
    handle = DynamoHandler.call_action

    def locked(handler: DynamoHandler) -> Any:
        with one_at_a_time:
            return handle(handler)

    with (
        mock_aws(),
        mock.patch.object(DynamoHandler, "call_action", locked),
        mock.patch.object(JSONSerializer, "_serialize_type_structure", _serialize_plainly),
    ):
        yield


def _serialize_plainly(serializer: JSONSerializer, into: Any, value: Any, shape: Any, key: str) -> None:
    """Pass on the value of an attribute that is JSON already; moto would search for each of ten types."""
    if shape.name == "AttributeValue" and isinstance(value, dict) and value.keys() <= _PLAIN_TYPES:
        into[key] = value
    else:
        _SERIALIZE(serializer, into, value, shape, key)


class MotoTable:
    """A DynamoDB table mocked by moto; creating one through its client is slow, emptying it is fast."""

    def __init__(self, schema: TableSchema = JOBS) -> None:
        self.client = client("dynamodb")
        self.name = new_table(self.client, schema)
        (self._table,) = (
            backend.tables[self.name] for regions in dynamodb_backends.values() for backend in [regions[REGION]]
        )

    def items(self) -> Any:
        """Copy all items."""
        return copy.deepcopy({key: items for key, items in self._table.items.items() if items})

    def rows(self) -> list[dict[str, Any]]:
        """Copy all items, as plain rows."""
        stored = [item for items in self._table.items.values() for item in items.values()]
        return [from_values(item.to_json()["Attributes"]) for item in stored]

    def replace(self, items: Any) -> None:
        """Replace all items by these."""
        self._table.items.clear()
        self._table.items.update(copy.deepcopy(items))


@contextmanager
def moto_stores() -> Iterator[Callable[[], Store]]:
    """Yield a function that makes a store on an empty table."""
    with moto():
        dynamodb = client("dynamodb")
        yield lambda: dynamo_store(dynamodb, new_table(dynamodb), threads=2)


def _keys(partition: Attribute, sort: Attribute) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition.name, "KeyType": "HASH"},
        {"AttributeName": sort.name, "KeyType": "RANGE"},
    ]
