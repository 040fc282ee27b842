"""Shares: a bucket with more than a page is read on, and each tenant gets all its due entries, or its share.

Buckets that a seed fills show that this suffices. Each rule is also broken on purpose, and the tests find it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.engine.latency import Slow
from tests.engine.play import NOW, Play, open_days_only, spec
from timeball.domain.model.ids import JobKey, Shards
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.sharing.fairness import in_turns, share_of
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.scanning import buckets, shares
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import DueCursor, DuePage, DueQuery, Owned, Owner
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_store import MemoryStore

SHORT = 10
"""A page, in the stories of a seed."""


def _store(play: Play, tenant: str, due: Sequence[int], first: int = 0) -> None:
    specs = [replace(spec("job", At(due_at)), key=JobKey(tenant, f"job-{n:06}")) for n, due_at in enumerate(due, first)]
    play.store.jobs.insert([new_job(one, NOW - DAY_MS, Shards(1)) for one in specs], NOW)


def _sent(play: Play) -> Counter[str]:
    return Counter(run.id.job.tenant for run in play.queue.sent)


class CountingIndex(MemoryDueIndex):
    """A due index that counts its queries, and the entries that it returns."""

    asked, told = 0, 0

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        self.asked += len(queries)
        pages = super().query(queries)
        self.told += sum(len(page.candidates) for page in pages)
        return pages


def test_a_tenants_one_job_among_thousands_of_the_same_second_is_sent_within_a_second() -> None:
    play = Play(store := MemoryStore(due=CountingIndex))
    index = store.due
    assert isinstance(index, CountingIndex)
    _store(play, "crowd", [NOW + 2 * SECOND_MS] * 20_000)
    _store(play, "middle", [NOW + 2 * SECOND_MS])
    slow = Slow(play)
    begun_at = play.clock.now()
    assert scan(slow.context(), 0, Owner("2026", "a"), open_days_only(0)).backlog
    ((run, sent_at),) = [(run, at) for run, at in slow.sent_at.items() if run.job.tenant == "middle"]
    assert sent_at - begun_at < SECOND_MS
    assert run.fire_at > sent_at
    assert index.asked <= 5
    assert index.told <= 300  # entries of tenants that are left out are not returned


def test_a_bucket_that_fits_into_a_page_takes_one_query() -> None:
    play = Play(store := MemoryStore(due=CountingIndex))
    index = store.due
    assert isinstance(index, CountingIndex)
    _store(play, "acme", [NOW] * (buckets.PAGE - 1))
    assert not play.scan().backlog
    assert index.asked == 1


# Columns: the tenants' weights, and how many of a thousand dispatches each should get.
WEIGHTS = {
    "one tenant has all": ({"a": 1}, {"a": 1_000}),
    "two of the same weight share alike": ({"a": 1, "b": 1}, {"a": 500, "b": 500}),
    "weight 2 has twice as many": ({"a": 2, "b": 1}, {"a": 667, "b": 333}),
    "whoever stands first has no more for it": ({"a": 1, "b": 2}, {"a": 333, "b": 667}),
    "three": ({"a": 1, "b": 2, "c": 5}, {"a": 125, "b": 250, "c": 625}),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_contending_tenants_get_dispatches_in_proportion_to_their_weights(case: str) -> None:
    weights, expected = WEIGHTS[case]
    play = Play()
    for tenant in weights:
        _store(play, tenant, [NOW - 30_000] * 1_500)
    context = replace(play.context(), weights_of=lambda _: weights)
    while len(play.queue.sent) < 1_000:
        scan(context, 0, Owner("2026", "a"), open_days_only(0))
    for tenant, dispatches in expected.items():
        assert _sent(play)[tenant] == pytest.approx(dispatches, rel=0.03)


def test_weights_are_requested_only_where_tenants_contend() -> None:
    asked: list[Sequence[str]] = []

    def weights_of(tenants: Sequence[str]) -> Mapping[str, int]:
        asked.append(tenants)
        return {}

    play = Play()
    _store(play, "acme", [NOW] * 9)
    scan(replace(play.context(), weights_of=weights_of), 0, Owner("2026", "a"), open_days_only(0))
    assert asked == []
    _store(play, "crowd", [NOW] * 1_000)
    scan(replace(play.context(), weights_of=weights_of), 0, Owner("2026", "a"), open_days_only(0))
    assert [list(tenants) for tenants in asked] == [["crowd"]]


def test_a_scan_without_time_to_read_on_continues_next_time_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "_READING_MS", 40)
    monkeypatch.setattr(shares, "_FURTHER", 1)
    monkeypatch.setattr(buckets, "PAGE", SHORT)
    play = Play()
    _store(play, "crowd", [NOW - SECOND_MS] * 100)
    _store(play, "late", [NOW])
    sweeps, scans = open_days_only(0), 0
    while not _sent(play)["late"]:
        scan(Slow(play).context(), 0, Owner("2026", "a"), sweeps)
        scans += 1
    assert 2 < scans < 8
    assert sweeps.cursors == {}


def test_the_entry_at_which_a_scan_stopped_may_be_gone_by_the_next() -> None:
    play = Play()
    sweeps = open_days_only(0)
    bucket = 0, buckets.day_of(NOW)
    sweeps.cursors[bucket] = DueCursor(NOW - 5, JobKey("gone", "job"))
    _store(play, "crowd", [NOW - 9] * 1_000)
    _store(play, "late", [NOW])
    scan(play.context(), 0, Owner("2026", "a"), sweeps)
    assert _sent(play)["late"] == 1
    assert sweeps.cursors == {}


def test_tenants_beyond_those_that_a_query_can_exclude_are_served_too() -> None:
    play = Play()
    for number in range(150):
        _store(play, f"tenant-{number:03}", [NOW - 200 + number] * 20)
    _store(play, "late", [NOW])
    for _ in range(2):
        play.scan()
    sent = _sent(play)
    assert sent["late"] == 1
    assert max(sent.values()) - min(count for tenant, count in sent.items() if tenant != "late") <= 2


def test_with_more_tenants_than_fit_into_a_page_none_waits_until_the_others_are_done() -> None:
    play, sweeps = Play(), open_days_only(0)
    for number in range(2 * buckets.PAGE):
        _store(play, f"crowd-{number:03}", [NOW - SECOND_MS] * 9)
    _store(play, "zero", [NOW])
    for _ in range(3):
        scan(play.context(), 0, Owner("2026", "a"), sweeps)
    sent = _sent(play)
    assert sent["zero"] == 1
    assert len(sent) == 2 * buckets.PAGE + 1
    assert max(sent.values()) <= 2


class Bucket:
    """A bucket that a seed fills, partly with entries that cannot be processed, and the scans that process it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a story must be replayable
        self.play = Play()
        self.due: dict[str, int] = {}
        self.weights: dict[str, int] = {}
        for number in range(self.random.randrange(1, 8)):
            self._fill(f"tenant-{number}")

    def wrong(self) -> list[str]:
        """Scan once, and return the tenants that got neither all that they have due, nor their share."""
        weights = self.weights
        context = replace(self.play.context(), weights_of=lambda _: weights)
        scan(context, 0, Owner("2026", "a"), open_days_only(0))
        sent = _sent(self.play)
        by_weight = (SHORT - len(self.due)) / sum(self.weights.values())  # after each tenant's first
        shares = {tenant: max(1, int(by_weight * weight)) for tenant, weight in self.weights.items()}
        return [tenant for tenant, due in self.due.items() if sent[tenant] < min(due, shares[tenant])]

    def _fill(self, tenant: str) -> None:
        number = self.random.choice((1, 1, 2, SHORT, 5 * SHORT, 30 * SHORT))
        at = NOW - self.random.choice((0, 0, 1, 60)) * SECOND_MS
        spread_ms = self.random.choice((1, SECOND_MS, 60 * SECOND_MS))
        _store(self.play, tenant, [at - self.random.randrange(spread_ms) for _ in range(number)])
        self.due[tenant] = number
        self.weights[tenant] = self.random.choice((1, 1, 1, 2, 5))


@pytest.fixture(autouse=True)
def _pages_are_short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if {"seed", "fault"} & {*request.fixturenames}:
        monkeypatch.setattr(buckets, "PAGE", SHORT)


@pytest.mark.parametrize("seed", range(60))
def test_each_tenant_gets_all_that_it_has_due_or_its_share(seed: int) -> None:
    assert Bucket(seed).wrong() == []


def _as_they_come(items: Any, *_: Any) -> list[Any]:
    return list(items)


def _without_weights(items: Any, tenant_of: Any, _: Any = None) -> list[Any]:
    return in_turns(items, tenant_of)


def _to_the_first_found(whole: int, weights: Mapping[str, int]) -> dict[str, int]:
    return {tenant: whole if place == 0 else 0 for place, tenant in enumerate(share_of(whole, weights))}


def _twice(_: Sweeps, __: Any, taken: Sequence[Owned], ___: Any) -> list[Owned]:
    return list(taken)[: buckets.PAGE]


# Columns: the module and the name that are patched, and the replacement.
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "no bucket is read on": (shares, "_READING_MS", 0),
    "who is met later has no share": (shares, "share_of", _to_the_first_found),
    "what was read is cut off as it was found": (shares, "_cut", _twice),
    "the tenants have no turns": (shares, "in_turns", _as_they_come),
    "weights count for nothing": (shares, "in_turns", _without_weights),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_rule_leaves_a_tenant_without_its_share(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert any(Bucket(seed).wrong() for seed in range(60))
