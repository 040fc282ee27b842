"""Deployments with another number of shards: jobs in the former shards are found, and reported as backlog."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Rules
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner

OWNER = Owner("2026", "a")


def _deployed_with(play: Play, shards: int) -> Sweeps:
    """Deploy other settings, and return the memory of a new process: it is empty."""
    play.rules = replace(play.rules, shards=shards)
    return Sweeps()


def _due(play: Play, many: int) -> None:
    play.store_jobs([spec(f"job-{number}", At(NOW + SECOND_MS)) for number in range(many)])


def test_fewer_shards_lose_no_due_job() -> None:
    play = Play(rules=Rules(shards=64))
    scan(play.context(), 0, OWNER, Sweeps())
    _due(play, 200)
    sweeps = _deployed_with(play, 4)
    sent = scan(play.context(), 0, OWNER, sweeps)
    assert (sent.sent, sent.backlog) == (200, False)


def test_jobs_left_in_the_former_shards_are_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeball.engine.scanning.scan._MAX_NOMINATED", 1_000)
    play = Play(rules=Rules(shards=64))
    scan(play.context(), 0, OWNER, Sweeps())
    _due(play, 2_500)
    sweeps = _deployed_with(play, 4)
    scans = [scan(play.context(), 0, OWNER, sweeps)]
    while scans[-1].backlog:
        scans.append(scan(play.context(), 0, OWNER, sweeps))
    assert len(scans) > 1
    assert sum(one.sent for one in scans) == 2_500


@pytest.mark.parametrize("partitions", [1, 3])
def test_each_partition_has_its_share_of_all_shards_that_were_ever_used(partitions: int) -> None:
    play = Play(rules=Rules(shards=7))
    scan(play.context(), 0, OWNER, Sweeps())
    _due(play, 100)
    sweeps = _deployed_with(play, 2)
    sent = [scan(play.context(), partition, OWNER, sweeps, partitions).sent for partition in range(partitions)]
    assert sum(sent) == 100
    assert all(sent)


def test_a_process_with_the_old_settings_scans_new_shards_within_a_minute() -> None:
    play, sweeps = Play(rules=Rules(shards=1)), Sweeps()
    scan(play.context(), 0, OWNER, sweeps)
    play.store.due.most_shards(8)  # the deployment does this first
    play.rules = replace(play.rules, shards=8)
    play.store_jobs([spec(f"job-{number}", At(NOW + MINUTE_MS)) for number in range(50)])
    play.rules = replace(play.rules, shards=1)
    play.clock.advance(MINUTE_MS)
    assert scan(play.context(), 0, OWNER, sweeps).sent == 50
