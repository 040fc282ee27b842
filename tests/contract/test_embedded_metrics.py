"""Metrics and timings are log lines in CloudWatch's embedded metric format, written by our own code."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from timeball.aws.embedded_metrics import EmbeddedMetrics
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import parse_instant
from timeball.engine.metrics import Detail, Metric, shown_metrics
from timeball.ports.telemetry import Measurement
from timeball.testing.virtual_clock import VirtualClock

NOW = parse_instant("2026-11-21T09:30:00Z")


@pytest.fixture
def metrics() -> EmbeddedMetrics:
    return EmbeddedMetrics(VirtualClock(NOW), shown_metrics(Detail.FULL))


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def late(ms: int, priority: str = "") -> Measurement:
    return Measurement(Metric.LATENESS, "acme", priority, ms, is_timing=True)


def test_counts_of_one_reason_are_one_line_that_cloudwatch_reads_as_a_metric_and_as_its_part_of_that_reason(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    skipped = Measurement(Metric.FIRES_SKIPPED, "acme", "normal", 7, Reason.OVERLAP.value)
    metrics.note([skipped, replace(skipped, tenant="other", value=2)])
    directive = {
        "Namespace": "Timeball",
        "Dimensions": [[], ["reason"]],
        "Metrics": [{"Name": "FiresSkipped", "Unit": "Count"}],
    }
    decided_at_version = {"Timestamp": NOW, "CloudWatchMetrics": [directive]}
    assert lines(capsys) == [{"_aws": decided_at_version, "reason": "overlap", "FiresSkipped": [9]}]


def test_a_metric_by_priority_has_a_line_for_each_priority(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics.note([late(3, "high"), late(5, "low"), late(4, "high")])
    told = lines(capsys)
    assert [(line["priority"], line["Lateness"]) for line in told] == [("high", [3, 4]), ("low", [5])]
    assert {str(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"]) for line in told} == {"[[], ['priority']]"}


def test_basic_metrics_are_one_series_each_and_the_others_are_not_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    basic = EmbeddedMetrics(VirtualClock(NOW), shown_metrics(Detail.BASIC))
    died = Measurement(Metric.DEAD_LETTERS, "acme", "normal", 1, Reason.TOO_OLD.value)
    basic.note([late(3, "high"), died, late(5, "low"), Measurement(Metric.RUNS_STARTED, "acme", "normal")])
    (line,) = lines(capsys)
    assert (line["Lateness"], line["DeadLetters"], "RunsStarted" in line) == ([3, 5], [1], False)
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[]]


def test_without_detail_no_metric_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    EmbeddedMetrics(VirtualClock(NOW), shown_metrics(Detail.OFF)).note([late(3)])
    assert lines(capsys) == []


def test_metrics_without_a_reason_share_one_line_without_a_dimension_and_keep_each_timing_and_level(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    started = Measurement(Metric.RUNS_STARTED, "acme", "normal")
    level = Measurement(Metric.SLOTS_IN_USE, "", "", 7, is_level=True)
    metrics.note([late(3), started, late(250), started, level, replace(level, value=9)])
    units = [
        {"Name": "Lateness", "Unit": "Milliseconds"},
        {"Name": "RunsStarted", "Unit": "Count"},
        {"Name": "SlotsInUse", "Unit": "Count"},
    ]
    directive = {"Namespace": "Timeball", "Dimensions": [[]], "Metrics": units}
    assert lines(capsys) == [
        {
            "_aws": {"Timestamp": NOW, "CloudWatchMetrics": [directive]},
            "Lateness": [3, 250],
            "RunsStarted": [2],
            "SlotsInUse": [7, 9],
        }
    ]


def test_a_line_has_no_more_values_than_cloudwatch_reads(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics.note([Measurement(Metric.RUNS_STARTED, "acme", "normal", 250), *map(late, range(250))])
    told = lines(capsys)
    assert [line["Lateness"] for line in told] == [[*range(100)], [*range(100, 200)], [*range(200, 250)]]
    assert [line.get("RunsStarted") for line in told] == [[250], None, None]
    metrics.note([])
    assert lines(capsys) == []


def test_an_executor_loads_no_library_to_write_its_metrics() -> None:
    told = "import functions.execute, sys; print('aws_lambda_powertools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
