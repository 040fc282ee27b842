"""The archive in a bucket of S3: an object for each key, compressed."""

import gzip
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

from timeball.aws.request_retries import Asker, side_by_side
from timeball.domain.archive import ArchiveObject


class S3Archive:
    """The objects of one bucket."""

    def __init__(self, client: Any, bucket: str, threads: Executor, asker: Asker) -> None:  # noqa: ANN401 - as boto3 makes it
        self._client, self._bucket, self._threads, self._asker = client, bucket, threads, asker

    def put(self, objects: Sequence[ArchiveObject]) -> None:
        """Put each object. A put is repeated by the same bytes: their compression has no time in it."""
        side_by_side(self._threads, self._put, objects)

    def _put(self, one: ArchiveObject) -> None:
        body = gzip.compress(one.text.encode(), mtime=0)
        self._asker.ask(
            lambda: self._client.put_object(Bucket=self._bucket, Key=one.key, Body=body, ContentType="application/gzip")
        )
