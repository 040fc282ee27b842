"""`/healthz` tells the truth about the ticker and the store, to anyone, for little."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.http.broken import broken_api
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.objective.health import FRESH_MS, SILENT_MS, Ailment, LastTick, ailment
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import BEAT_MS, Owner
from timeball.ports.errors import UnavailableError
from timeball.testing.memory_kept import MemoryPartitions

TICKS_MISSING = (503, "urn:timeball:problem:unhealthy", "ticks_missing")


def health(api: Api) -> Answer:
    return api.call("GET", "/healthz", tenant=None)


def verdict(api: Api) -> tuple[int, Any, Any]:
    answer = health(api)
    return answer.status, answer.body.get("type"), answer.body.get("reason")


@pytest.mark.parametrize(
    ("tick", "found"),
    [
        (LastTick(NOW, NOW), None),
        (LastTick(NOW, NOW - SILENT_MS), None),
        (LastTick(NOW, NOW - SILENT_MS - 1), Ailment.TICKS_MISSING),
        (LastTick(NOW, NOW + SECOND_MS), None),  # another clock is ahead
        (LastTick(NOW, None), Ailment.TICKS_MISSING),  # it has never ticked
        (LastTick(NOW, None, is_known=False), Ailment.STORE_UNAVAILABLE),
    ],
)
def test_a_tick_is_missing_after_fifteen_seconds(tick: LastTick, found: Ailment | None) -> None:
    assert ailment(tick, NOW) is found


def test_health_is_ok_while_the_ticker_ticks_and_a_503_after_fifteen_seconds_of_silence(api: Api) -> None:
    assert verdict(api) == TICKS_MISSING
    api.clock.advance(FRESH_MS)
    api.tick()
    assert (health(api).status, health(api).body) == (200, {"status": "ok"})
    api.clock.advance(SILENT_MS)
    assert health(api).status == 200
    api.clock.advance(1)
    assert verdict(api) == TICKS_MISSING
    assert health(api).headers["Retry-After"] == "5"


def test_health_is_a_503_while_the_store_does_not_answer() -> None:
    answer = health(broken_api(UnavailableError("table main-jobs in account 123456789012 is throttled")))
    assert (answer.status, answer.body["reason"]) == (503, "store_unavailable")
    assert "main-jobs" not in answer.text
    assert "123456789012" not in answer.text


def test_an_idle_ticker_is_healthy(api: Api) -> None:
    """A scan of an idle table leaves out queries, and never its tick."""
    sweeps, owner = Sweeps(), Owner("2026-11-21T09:30:00Z", "loop")
    for _ in range(3 * MINUTE_MS // SECOND_MS):
        scan(api.context, 0, owner, sweeps)
        assert health(api).status == 200
        api.clock.advance(SECOND_MS)


def test_a_flood_of_requests_reads_one_row_every_two_seconds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    def last_tick(_: object, partition: int) -> int:
        reads.append(partition)
        return NOW

    monkeypatch.setattr(MemoryPartitions, "last_tick", last_tick)
    for _ in range(100):
        assert health(api).status == 200
    assert reads == [0]
    api.clock.advance(FRESH_MS)
    health(api)
    assert reads == [0, 0]


def test_a_live_ticker_cannot_look_dead() -> None:
    """The note is renewed every BEAT_MS by scans that ask at most every two seconds; an answer is used for FRESH_MS."""
    assert BEAT_MS + 2 * SECOND_MS + SECOND_MS + FRESH_MS < SILENT_MS
