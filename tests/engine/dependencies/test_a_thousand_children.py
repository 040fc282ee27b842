"""A thousand jobs that wait for one are sent so many requests after its end, one after the other, and no more."""

import pytest

from tests.engine.dependencies.graphs import BEGIN, key, node
from tests.engine.dependencies.test_cycles import recurring
from tests.engine.latency import REQUEST_MS, Slow
from tests.engine.play import Play, open_days_only
from timeball.domain.model.job import JobSpec
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.dependencies.graph import examine
from timeball.engine.scanning.scan import scan
from timeball.engine.scheduling.submit import submit
from timeball.ports.partitions import Owner

MOST_REQUESTS = 160
"""In a row, each for a hundred rows: two seconds if a request takes 13 ms."""


@pytest.mark.parametrize("parent", [node("a"), recurring("a")], ids=["that runs once", "that is recurring"])
def test_a_thousand_children_are_sent_as_fast_as_requests_are_answered(parent: JobSpec) -> None:
    """One scan follows the other, as the ticker lets it."""
    play = Play(at=BEGIN)
    submit(play.context(), [parent], BEGIN)
    for number in range(0, 1_000, 100):
        asked = [node(f"child-{number + one:04}", "a") for one in range(100)]
        submit(play.context(), [one.spec for one in examine(play.context(), asked)], BEGIN)
    play.scan_all()
    while not play.execute_next():
        play.clock.advance(SECOND_MS)
    ended_at = play.runs(key("a"))[0].finished_at or 0
    slow = Slow(play)
    while len(slow.sent_at) < 1_000 and slow.requests.total() < 10 * MOST_REQUESTS:
        scan(slow.context(), 0, Owner("2026", "a"), open_days_only(0))
    assert len(slow.sent_at) == 1_000
    assert slow.requests.total() <= MOST_REQUESTS
    begun_ms = play.clock.now() - ended_at - slow.requests.total() * REQUEST_MS
    assert max(slow.sent_at.values()) <= ended_at + begun_ms + MOST_REQUESTS * REQUEST_MS
