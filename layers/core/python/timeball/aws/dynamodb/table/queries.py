"""Reads of the jobs table: by key, strongly; by range within an item collection; and from the indexes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.schema import Index
from timeball.aws.dynamodb.table.writes import from_values, to_values
from timeball.aws.request_retries import Asker
from timeball.domain.time.instants import LATEST
from timeball.ports.errors import UnavailableError

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.type_defs import QueryOutputTypeDef

_BATCH = 100
_SAME: Mapping[str, Any] = {}
_Row = dict[str, Any]


class KeyRange(NamedTuple):
    """The rows of a partition from one sort key to another."""

    pk: str
    first: str
    last: str


class TableReader:
    """Reads from one table. With threads, reads that take several requests make them side by side."""

    def __init__(self, client: "DynamoDBClient", table: str, asker: Asker, threads: Executor | None = None) -> None:
        self._client, self._table, self._asker, self._threads = client, table, asker, threads

    def get(self, keys: Sequence[Key], *, strong: bool = True) -> list[_Row | None]:
        """Return the row of each key. In a strong read, None means that the row does not exist."""
        distinct = list({(key["pk"], key["sk"]): key for key in keys}.values())
        batches = [distinct[start : start + _BATCH] for start in range(0, len(distinct), _BATCH)]
        read = partial(self._get_batch, until=self._asker.deadline(), strong=strong)
        answers = map(read, batches) if self._threads is None or len(batches) == 1 else self._threads.map(read, batches)
        found = {(row["pk"], row["sk"]): row for answer in answers for row in answer}
        return [found.get((key["pk"], key["sk"])) for key in keys]

    def _get_batch(self, keys: Sequence[Key], *, until: float, strong: bool) -> list[_Row]:
        """Read until nothing is left unprocessed: keys that were not read are unknown, never absent."""
        rows: list[_Row] = []
        request: dict[str, Any] = {self._table: {"Keys": [to_values(key) for key in keys], "ConsistentRead": strong}}

        def read_the_rest() -> None:
            nonlocal request
            answer = self._client.batch_get_item(RequestItems=request)
            rows.extend(map(from_values, answer["Responses"].get(self._table, [])))
            request = dict(answer.get("UnprocessedKeys") or {})
            if request:
                raise UnavailableError("the table left keys unread")

        self._asker.ask(read_the_rest, until)
        return rows

    def between(
        self, pk: str, first: str, last: str, page: int | None = None, *, strong: bool = True
    ) -> Iterator[_Row]:
        """Return the rows of an item collection from one sort key to another, in order, `page` in each request.

        DynamoDB refuses a range that ends before it begins, so this returns nothing for it.
        """
        if first > last:
            return iter(())
        paged = {} if page is None else {"Limit": page}
        return self._rows({**self._range(pk, first, last, ()), "ConsistentRead": strong, **paged})

    def backwards(self, pk: str, first: str, last: str, page: int, *, strong: bool = True) -> Iterator[_Row]:
        """Return the rows of a partition from the last sort key to the first, `page` in each request."""
        within = {**self._range(pk, first, last, ()), "ConsistentRead": strong}
        return self._rows({**within, "ScanIndexForward": False, "Limit": page})

    def page(
        self,
        keys: KeyRange,
        *,
        limit: int,
        states: Sequence[str],
        after: Key | None,
        examine: int,
        forward: bool,
        strong: bool,
    ) -> tuple[list[_Row], Mapping[str, Any] | None]:
        """Return up to `limit` rows of a range, and the key to continue after, if any are left.

        Examines at most about `examine` rows, so that a filter without matches costs no more than that.
        """
        request = {
            **self._range(*keys, states),
            "ScanIndexForward": forward,
            "ConsistentRead": strong,
        }
        # Read one row more than is wanted, so that it is known whether there is another page.
        request["Limit"] = examine if states else limit + 1
        if after:
            request["ExclusiveStartKey"] = to_values(after)
        rows: list[_Row] = []
        for answer in self._answers(request):
            rows += map(from_values, answer["Items"])
            examine -= answer["ScannedCount"]
            if len(rows) > limit:
                return rows[:limit], rows[limit - 1]
            if examine <= 0 and "LastEvaluatedKey" in answer:
                return rows, from_values(answer["LastEvaluatedKey"])
        return rows, None

    def count(self, index: Index, partition: str, through_at: int = LATEST, most: float = math.inf) -> int:
        """Count the entries in a partition of an index, up to an instant: one request for about each 8,000 keys.

        No request follows the one that reaches `most`.
        """
        request = {**self._index_range(index, partition, through_at), "Select": "COUNT"}
        counted = 0
        for answer in self._answers(request):
            counted += answer["Count"]
            if counted >= most:
                break
        return counted

    def listed(
        self,
        index: Index,
        partition: str,
        first_at: int,
        last_at: int,
        page: int,
        *,
        forward: bool,
        following: int | None = None,
    ) -> Iterator[_Row]:
        """Return the entries in a partition of an index between two instants.

        The first request reads `page`, and each following one as many, or `following`.
        """
        within = self._index_range(index, partition, last_at, first_at)
        return self._rows({**within, "ScanIndexForward": forward, "Limit": page}, {"Limit": following or page})

    def index_page(
        self,
        index: Index,
        partition: str,
        last_at: int,
        examine: int,
        after: Mapping[str, Any] | None,
        left_out: Sequence[str],
    ) -> tuple[list[_Row], _Row | None]:
        """Return the keys in a partition of an index after a key, up to an instant, from one request.

        Examines `examine` entries, or as many as a megabyte holds. Leaves out those whose `pk` begins with one of
        `left_out`: they are not sent, which is most of the price of a page. Returns the key to continue after, if any
        may be left.
        """
        request = {**self._index_range(index, partition, last_at), "Limit": examine}
        if left_out:
            prefixes = {f":out{position}": prefix for position, prefix in enumerate(left_out)}
            request["ExpressionAttributeValues"] |= to_values(prefixes)
            request["FilterExpression"] = " AND ".join(f"NOT begins_with(pk, {name})" for name in prefixes)
        if after is not None:
            request["ExclusiveStartKey"] = to_values(after)
        answer = self._query(request)
        last = answer.get("LastEvaluatedKey")
        return [*map(from_values, answer["Items"])], None if last is None else from_values(last)

    def _rows(self, request: Mapping[str, Any], following: Mapping[str, Any] = _SAME) -> Iterator[_Row]:
        return (from_values(values) for answer in self._answers(request, following) for values in answer["Items"])

    def _answers(
        self, request: Mapping[str, Any], following: Mapping[str, Any] = _SAME
    ) -> Iterator["QueryOutputTypeDef"]:
        """Yield the answer to a request, and to the requests that continue it, which differ by `following`."""
        while True:
            answer = self._query(request)
            yield answer
            if "LastEvaluatedKey" not in answer:
                return
            request = {**request, **following, "ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _query(self, request: Mapping[str, Any]) -> "QueryOutputTypeDef":
        """Ask for one page. Each page has its own patience, so a long read continues as long as pages come."""
        return self._asker.ask(lambda: self._client.query(**request))

    def _index_range(self, index: Index, partition: str, last_at: int, first_at: int | None = None) -> dict[str, Any]:
        """Return a request for a partition of an index up to an instant, and from one if that is given."""
        values, bounds = {":partition": partition, ":last": last_at}, "<= :last"
        if first_at is not None:
            values, bounds = {**values, ":first": first_at}, "BETWEEN :first AND :last"
        return {
            "TableName": self._table,
            "IndexName": index.name,
            "KeyConditionExpression": f"{index.partition.name} = :partition AND {index.sort.name} {bounds}",
            "ExpressionAttributeValues": to_values(values),
        }

    def _range(self, pk: str, first: str, last: str, states: Sequence[str]) -> dict[str, Any]:
        values = {":pk": pk, ":first": first, ":last": last}
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ConsistentRead": True,
        }
        if states:
            names = [f":state{position}" for position in range(len(states))]
            values.update(zip(names, states, strict=True))
            request["FilterExpression"] = f"#state IN ({', '.join(names)})"
            request["ExpressionAttributeNames"] = {"#state": "state"}
        request["ExpressionAttributeValues"] = to_values(values)
        return request
