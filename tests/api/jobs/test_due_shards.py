"""Attacks on the due index: a tenant chooses names with colliding hashes, to put all of its rows into one shard."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import pytest

from tests.api.client import Api
from timeball.api.app import build_api
from timeball.api.http.ids import NewId
from timeball.domain.model.ids import JobKey, LimiterKey, OperationKey, shard_of

URL = "https://example.com/hook"
SHARDS = 4
JOBS = 60


def names_of_one_shard(key: type[JobKey | LimiterKey]) -> Iterator[str]:
    """Yield names whose hash without a secret is of shard 0; the public code shows how to compute that hash."""
    names = (f"n{number}" for number in count())
    return (name for name in names if shard_of(key("acme", name), SHARDS) == 0)


def operations_of_one_shard() -> Iterator[str]:
    """Yield Idempotency-Keys of operations whose ids have such a hash."""
    keys = (f"k{number}" for number in count())
    return (key for key in keys if shard_of(OperationKey("acme", NewId.OPERATION.of("acme", key, bytes)), SHARDS) == 0)


def attacked(api: Api, status: int = 201) -> dict[str, Counter[int]]:
    """Create everything whose name a tenant can choose, and return how many rows each shard has."""
    names = zip(names_of_one_shard(JobKey), names_of_one_shard(LimiterKey), operations_of_one_shard(), strict=False)
    for job, limit, idempotency_key in islice(names, JOBS):
        body = {"handler": URL, "everySeconds": 60, "concurrencyLimit": {"name": limit, "limit": 1}}
        assert api.call("PUT", f"/v1/jobs/{job}", body).status == status
        asked = {"action": "pause", "match": {"all": True}}
        headers = {"Idempotency-Key": idempotency_key}
        assert api.call("POST", "/v1/operations", asked, headers=headers).status == 201
    store = api.store
    kinds: dict[str, Any] = {"jobs": store.jobs, "limiters": store.limiters, "operations": store.operations}
    return {kind: Counter(row.shard for row in rows.values()) for kind, rows in kinds.items()}


def with_secret(api: Api, secret: bytes) -> Api:
    api.edge = replace(api.edge, context=replace(api.edge.context, shard_secret=secret))
    api.handle = build_api(api.edge)
    return api


@pytest.mark.parametrize("secret", [bytes(range(16)), b"another secret"])
def test_chosen_names_do_not_choose_the_shard_of_a_row(api: Api, secret: bytes) -> None:
    for kind, shards in attacked(with_secret(api, secret)).items():
        assert sum(shards.values()) == JOBS, kind
        assert max(shards.values()) < JOBS / 2, kind


def test_a_row_keeps_its_shard_whichever_process_changes_it(api: Api) -> None:
    attacked(with_secret(api, b"of the process that made the rows"))
    made = rows_of(api)
    attacked(with_secret(api, b"of the process after it"), status=200)
    for job in list(api.store.jobs):
        patched = api.call("PATCH", f"/v1/jobs/{job.job_id}", {"everySeconds": 90})
        assert patched.status == 200
    for key in list(api.store.limiters):
        assert api.call("PUT", f"/v1/limits/{key.name}", {"limit": 2}).status == 200
    assert rows_of(api) == made


def rows_of(api: Api) -> dict[object, int]:
    """Return the shard of each row whose name a tenant can choose."""
    tables: tuple[Any, ...] = (api.store.jobs, api.store.limiters, api.store.operations)
    return {key: row.shard for rows in tables for key, row in rows.items()}
