"""Pollers over an hour of virtual time: raised minutes before a spike, lowered after it, and no more often."""

from collections.abc import Callable, Mapping

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.sharing.executors import PollerBounds, Ready
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.scanning import pollers as verb
from timeball.engine.scanning.pollers import PollerOutlook, look_ahead
from timeball.testing.recorders import KeptPollers

BOUNDS = {"high": PollerBounds(11, 45), "normal": PollerBounds(7, 26), "low": PollerBounds(2, 2)}
LEAST = {priority: bounds.least for priority, bounds in BOUNDS.items()}
SPIKE = 1_500


def _spike(play: Play, at: int) -> None:
    play.store_jobs(spec(f"at-{at}-{number}", At(at)) for number in range(SPIKE))


def _changes(play: Play, minutes: int, forgets_at: frozenset[int] = frozenset()) -> list[tuple[int, Mapping[str, int]]]:
    """Scan and look ahead every ten seconds. Return the seconds at which the pollers were changed, and to what."""
    pollers, outlook, changes = KeptPollers(dict(LEAST)), PollerOutlook(), list[tuple[int, Mapping[str, int]]]()
    for second in range(0, minutes * 60, 10):
        play.clock.advance(NOW + second * SECOND_MS - play.clock.now())
        outlook = PollerOutlook() if second in forgets_at else outlook
        before = dict(pollers.pollers)
        look_ahead(play.context(), outlook, pollers, BOUNDS)
        play.scan_all()
        if pollers.pollers != before:
            changes.append((second, dict(pollers.pollers)))
    return changes


def _complaints(minutes: int, *spikes: int) -> list[str]:
    """Return the faults of an hour with spikes at some minutes, which must be at least ten minutes apart."""
    play = Play()
    for minute in spikes:
        _spike(play, NOW + minute * MINUTE_MS)
    changes = _changes(play, minutes)
    complaints = ["they flap: " + str(changes)] if len(changes) != 2 * len(spikes) else []
    for minute, (raised, after), (lowered, back) in zip(spikes, changes[::2], changes[1::2], strict=False):
        if after != {"high": 20, "normal": 20, "low": 2} or back != LEAST:
            complaints.append("so many are not wanted: " + str(after))
        if not 4 * 60 <= minute * 60 - raised <= 5 * 60:
            complaints.append(f"they are raised {minute * 60 - raised} s before")
        if not 9 * 60 <= lowered - minute * 60 <= 11 * 60:
            complaints.append(f"they are lowered {lowered - minute * 60} s after")
    return complaints


def test_pollers_are_raised_five_minutes_before_a_spike_and_lowered_ten_minutes_after_it() -> None:
    assert _complaints(60, 10, 40) == []


def test_pollers_stay_raised_between_spikes_that_follow_each_other() -> None:
    play = Play()
    for minute in (10, 17, 25):
        _spike(play, NOW + minute * MINUTE_MS)
    assert [second // 60 for second, _ in _changes(play, 45)] == [5, 35]


def _at_once(_: Ready, wants: int, bounds: PollerBounds, now: int) -> Ready:
    return Ready(min(max(wants, bounds.least), bounds.most), now)


@pytest.mark.parametrize(
    ("name", "broken", "found"),
    [
        ("decide", _at_once, "they are lowered"),
        ("decide", lambda ready, *_: ready, "they flap"),
        ("wanted", lambda instants, shards: len(instants) * shards, "so many are not wanted"),
    ],
    ids=["lowered at once", "never raised", "as if each run wanted a poller"],
)
def test_a_broken_rule_is_found(
    name: str, broken: Callable[..., object], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, name, broken)
    assert any(complaint.startswith(found) for complaint in _complaints(30, 10))


def test_a_look_ahead_no_longer_than_a_scans_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "AHEAD_MS", 65 * SECOND_MS)
    assert any(complaint.startswith("they are raised") for complaint in _complaints(30, 10))


def test_a_spike_after_midnight_is_seen_before_midnight() -> None:
    play = Play()
    midnight = NOW - NOW % DAY_MS + DAY_MS
    play.clock.advance(midnight - 3 * MINUTE_MS - NOW)
    _spike(play, midnight)
    pollers = KeptPollers(dict(LEAST))
    look_ahead(play.context(), PollerOutlook(), pollers, BOUNDS)
    assert pollers.pollers["normal"] == 20


def test_a_new_process_does_not_lower_pollers_that_another_has_just_raised() -> None:
    play = Play()
    _spike(play, NOW + 10 * MINUTE_MS)
    changes = _changes(play, 40, forgets_at=frozenset({12 * 60}))
    assert [second // 60 for second, _ in changes] == [5, 22]


def test_a_process_does_not_look_ahead_again_within_a_minute() -> None:
    play, outlook, pollers = Play(), PollerOutlook(), KeptPollers(dict(LEAST))
    look_ahead(play.context(), outlook, pollers, BOUNDS)
    _spike(play, NOW + 2 * MINUTE_MS)
    play.clock.advance(59 * SECOND_MS)
    look_ahead(play.context(), outlook, pollers, BOUNDS)
    assert pollers.changes == []
    play.clock.advance(SECOND_MS)
    look_ahead(play.context(), outlook, pollers, BOUNDS)
    assert pollers.changes == [("high", 20), ("normal", 20)]


class _Refuses(KeptPollers):
    def make_ready(self, priority: str, pollers: int) -> None:
        if priority == "high":
            raise RuntimeError("the mapping is being changed")
        super().make_ready(priority, pollers)


def test_a_refused_change_of_pollers_stops_no_other_and_is_tried_again() -> None:
    play, outlook, pollers = Play(), PollerOutlook(), _Refuses(dict(LEAST))
    _spike(play, NOW + 4 * MINUTE_MS)
    look_ahead(play.context(), outlook, pollers, BOUNDS)
    assert pollers.changes == [("normal", 20)]
    play.clock.advance(MINUTE_MS)
    accepting = KeptPollers(pollers.pollers)
    look_ahead(play.context(), outlook, accepting, BOUNDS)
    assert accepting.changes == [("high", 20)]


def test_pollers_whose_number_is_unknown_are_not_changed() -> None:
    class Mute(KeptPollers):
        def ready(self) -> Mapping[str, int]:
            raise RuntimeError("no answer")

    play, pollers = Play(), Mute(dict(LEAST))
    _spike(play, NOW + MINUTE_MS)
    look_ahead(play.context(), PollerOutlook(), pollers, BOUNDS)
    assert pollers.changes == []
