"""Counts that people watch: each is one line of the log in CloudWatch's embedded metric format."""

import json

import pytest

from timeball.aws.meter import CloudWatchMeter
from timeball.domain.reason import Reason
from timeball.engine.notice import SKIPPED


def test_a_count_is_one_line_that_cloudwatch_reads_as_a_metric_with_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    CloudWatchMeter().count(SKIPPED, 7, Reason.OVERLAP.value)
    (line,) = capsys.readouterr().out.splitlines()
    metric = json.loads(line)
    (directive,) = metric["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Timeball"
    assert directive["Metrics"] == [{"Name": "FiresSkipped", "Unit": "Count"}]
    assert "reason" in directive["Dimensions"][0]
    assert (metric["FiresSkipped"], metric["reason"]) == ([7.0], "overlap")
