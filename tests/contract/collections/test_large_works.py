"""A payload of the largest size fits into a row of DynamoDB (400 KB), whatever it contains: quotes are escaped once."""

import pytest

from tests.contract.rows import NOW
from timeball.domain.model.ids import JobKey
from timeball.domain.model.tenants.tenant import MOST_PAYLOAD_BYTES
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.store import Store

_HEADERS = {f"X-{number}": '"\\' * 100 for number in range(20)}

PAYLOADS = {
    "quotes": '"' + r"\"" * (MOST_PAYLOAD_BYTES // 2 - 1) + '"',
    "backslashes": '"' + r"\\" * (MOST_PAYLOAD_BYTES // 2 - 1) + '"',
    "control characters": '"' + r"\n" * (MOST_PAYLOAD_BYTES // 2 - 1) + '"',
    "empty strings": "[" + ",".join(['""'] * (MOST_PAYLOAD_BYTES // 3 - 1)) + "]",
    "umlauts": '"' + "ä" * (MOST_PAYLOAD_BYTES // 2 - 1) + '"',
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_the_largest_payload_fits_into_a_row(store: Store, payload: str) -> None:
    key = JobKey("acme", "job")
    work = Work(HttpTarget("https://example.com/hook", headers=_HEADERS), payload)
    (digest,) = store.works.save([(key, work)], NOW)
    assert store.works.read([(key, digest)]) == [work]


@pytest.mark.parametrize("payload", [None, "null", '"a\\nb"', "{}"])
def test_a_work_is_read_as_it_was_written(store: Store, payload: str | None) -> None:
    key = JobKey("acme", "job")
    work = Work(HttpTarget("https://example.com/hook", "PUT", {"X-A": "a\nb"}), payload)
    (digest,) = store.works.save([(key, work)], NOW)
    assert store.works.read([(key, digest)]) == [work]
