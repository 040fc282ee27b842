"""A thousand jobs that wait for one parent are sent within two seconds of its end, in few round trips."""

import pytest

from tests.engine.dependencies.graphs import BEGIN, key, node
from tests.engine.dependencies.test_cycles import recurring
from tests.engine.latency import REQUEST_MS, Slow
from tests.engine.play import Play, open_days_only
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Rules
from timeball.engine.dependencies.examine import examine
from timeball.engine.scanning.scan import scan
from timeball.engine.scheduling.submit import submit
from timeball.ports.due_index import Owner

MOST_ROUND_TRIPS = 50
"""Sequential round trips; each consists of up to sixteen parallel requests."""
WITHIN_MS = 2_000


@pytest.mark.parametrize("parent", [node("a"), recurring("a")], ids=["that runs once", "that is recurring"])
def test_a_thousand_children_are_sent_within_two_seconds_of_their_parents_end(parent: JobSpec) -> None:
    """A scan begins on the next whole second, with the tick; or at once, if the last scan left a backlog."""
    play = Play(at=BEGIN, rules=Rules())
    submit(play.context(), [parent], BEGIN)
    for number in range(0, 1_000, 100):
        asked = [node(f"child-{number + one:04}", "a") for one in range(100)]
        submit(play.context(), [one.spec for one in examine(play.context(), asked)], BEGIN)
    play.scan_all()
    while not play.execute_next():
        play.clock.advance(SECOND_MS)
    ended_at = play.runs(key("a"))[0].finished_at or 0
    sweeps, slow = open_days_only(*range(play.rules.shards)), Slow(play)
    while len(slow.sent_at) < 1_000 and play.clock.now() < ended_at + 10 * WITHIN_MS:
        if not scan(slow.context(), 0, Owner("2026", "a"), sweeps).backlog:
            play.clock.advance(SECOND_MS - play.clock.now() % SECOND_MS)
    assert len(slow.sent_at) == 1_000
    assert max(slow.sent_at.values()) <= ended_at + WITHIN_MS
    assert slow.requests.total() <= MOST_ROUND_TRIPS
    assert SECOND_MS + MOST_ROUND_TRIPS * REQUEST_MS <= WITHIN_MS, "at whatever point of a second the parent ends"
