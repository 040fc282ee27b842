"""Counts and timings that people watch: lines of the log in CloudWatch's embedded metric format, made by hand."""

import json
import subprocess
import sys
from typing import Any

import pytest

from timeball.aws.embedded_metrics import EmbeddedMetrics
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import parse_instant
from timeball.engine.metrics import Metric
from timeball.testing.virtual_clock import VirtualClock

NOW = parse_instant("2026-11-21T09:30:00Z")


@pytest.fixture
def metrics() -> EmbeddedMetrics:
    return EmbeddedMetrics(VirtualClock(NOW))


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_count_is_one_line_that_cloudwatch_reads_as_a_metric_with_its_reason(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics.count(Metric.FIRES_SKIPPED, 7, Reason.OVERLAP.value)
    directive = {
        "Namespace": "Timeball",
        "Dimensions": [["reason"]],
        "Metrics": [{"Name": "FiresSkipped", "Unit": "Count"}],
    }
    stamp = {"Timestamp": NOW, "CloudWatchMetrics": [directive]}
    assert lines(capsys) == [{"_aws": stamp, "reason": "overlap", "FiresSkipped": [7]}]


def test_the_timings_of_one_go_are_one_line_without_a_dimension(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics.time(Metric.LATENESS, [3, 250])
    directive = {"Namespace": "Timeball", "Dimensions": [[]], "Metrics": [{"Name": "Lateness", "Unit": "Milliseconds"}]}
    assert lines(capsys) == [{"_aws": {"Timestamp": NOW, "CloudWatchMetrics": [directive]}, "Lateness": [3, 250]}]


def test_a_line_holds_no_more_values_than_cloudwatch_reads(
    metrics: EmbeddedMetrics, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics.time(Metric.LATENESS, range(250))
    assert [line["Lateness"] for line in lines(capsys)] == [[*range(100)], [*range(100, 200)], [*range(200, 250)]]
    metrics.time(Metric.LATENESS, [])
    assert lines(capsys) == []


def test_an_executor_loads_no_library_to_tell_of_its_metrics() -> None:
    told = "import functions.execute, sys; print('aws_lambda_powertools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
