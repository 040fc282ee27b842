"""Counts of five minutes stand in the row of their hour under short names, and mean the same as the hour's."""

import pytest

from tests.engine.play import NOW, Play
from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.usage.hours import MISSED, SHORT_MS, HourKey, hour_of
from timeball.engine.metrics import Metric
from timeball.engine.objective.short_counts import short_name, since
from timeball.engine.stats import read_windows
from timeball.ports.telemetry import Measurement

HOUR = hour_of(NOW)
KEY = HourKey("acme", HOUR, "normal")


def count(name: str, reason: str = "") -> Measurement:
    return Measurement(name, "acme", "normal", 1, reason)


def late(late_ms: int) -> Measurement:
    return Measurement(Metric.LATENESS, "acme", "normal", late_ms, is_timing=True)


@pytest.mark.parametrize(
    ("event", "minutes", "name"),
    [
        (count(Metric.RUNS_STARTED), 0, "00b"),
        (count(Metric.RUNS_STARTED), 4, "00b"),
        (count(Metric.RUNS_SUCCEEDED), 5, "05s"),
        (count(Metric.RUNS_RETRIED, "failed"), 37, "35r"),
        (count(Metric.DEAD_LETTERS, "host_down"), 59, "55d"),
        (count(Metric.FIRES_SKIPPED, "misfired"), 59, "55k"),
        (count(MISSED), 59, "55m"),
        (late(0), 10, "10l1"),
        (late(1_000), 10, "10l1"),
        (late(1_001), 10, "10l5"),
        (late(30_000), 10, "10l30"),
        (late(30_001), 10, "10lx"),
        (count(Metric.AUTHENTICATIONS_FAILED, "expired"), 10, None),  # no part of the objective
        (count("WriteUnits"), 10, None),
    ],
)
def test_an_event_counts_in_its_five_minutes(event: Measurement, minutes: int, name: str | None) -> None:
    assert short_name(event, HOUR + minutes * MINUTE_MS) == name


def test_counts_from_a_time_on_have_the_names_of_the_hour() -> None:
    counts = {"00b": 5, "30b": 2, "55b": 1, "30l1": 1, "55lx": 1, "55d": 1, "RunsStarted": 8, "Lateness.40": 2}
    assert since(KEY, counts, HOUR + 30 * MINUTE_MS) == {
        "RunsStarted": 3,
        "Lateness.1000": 1,
        "Lateness.4000000": 1,
        "DeadLetters.any": 1,
    }
    assert since(KEY, counts, HOUR + HOUR_MS) == {}
    assert since(KEY, counts, HOUR - HOUR_MS)["RunsStarted"] == 8


def test_short_windows_see_the_last_minutes_alone_also_across_the_hour() -> None:
    play = Play()
    play.clock.advance(HOUR + HOUR_MS + 2 * MINUTE_MS - play.clock.now())  # two minutes past an hour
    for ago, events in (
        (50, [count(Metric.RUNS_STARTED), late(40 * SECOND_MS), count(Metric.DEAD_LETTERS, "host_down")]),
        (20, [count(Metric.RUNS_STARTED), late(20), count(Metric.RUNS_SUCCEEDED)]),
        (4, [count(Metric.RUNS_STARTED), late(3 * SECOND_MS), count(Metric.RUNS_SUCCEEDED)]),
    ):
        at = play.clock.now() - ago * MINUTE_MS
        names = {name: 1 for event in events if (name := short_name(event, at))}
        play.store.usage.add([(HourKey("acme", hour_of(at), "normal"), names)], play.clock.now())
    five, half = read_windows(play.context(), "acme", play.clock.now(), ("fiveMinutes", "halfHour"))
    assert five.from_at == play.clock.now() - 2 * MINUTE_MS - SHORT_MS
    assert (five.total.started, five.total.on_time()) == (1, {1: 0.0, 5: 1.0, 30: 1.0})
    assert (half.total.started, half.total.succeeded, half.total.failure_rate) == (2, 2, 0.0)
    assert half.by_priority[Priority.NORMAL].on_time() == {1: 0.5, 5: 1.0, 30: 1.0}
    assert half.total.percentile_ms(0.5) is None  # the counts are too coarse


def test_a_run_counts_in_both() -> None:
    play = Play()
    play.tally.note([count(Metric.RUNS_STARTED), late(20), count(Metric.RUNS_SUCCEEDED)])
    play.tally.flush(play.store.usage)
    windows = read_windows(play.context(), "acme", play.clock.now())
    assert [window.total.started for window in windows] == [1] * len(windows)
    assert [window.total.on_time()[1] for window in windows] == [1.0] * len(windows)
