"""The judge of alarms decides as CloudWatch documents it."""

from typing import Any

import pytest

from tests.drills.judge import MINUTE_MS, Series, is_breached, judged
from timeball.testing.virtual_clock import VirtualClock

START = VirtualClock(1_800_000_000_000).now()

# Columns: the last five periods (X breaches, 0 does not, - is missing), M of N, then whether it is in ALARM if missing
# data is breaching, and if it is not. The first nine are CloudWatch's own examples.
CASES = [
    ("0 - X - X", 3, 3, False, False),
    ("0 - - - -", 3, 3, False, False),
    ("- - - - -", 3, 3, True, False),
    ("0 X X - X", 3, 3, True, True),
    ("- - X - -", 3, 3, True, False),
    ("0 - X - X", 2, 3, True, True),
    ("0 0 X 0 X", 2, 3, True, True),
    ("0 - X - -", 2, 3, True, False),
    ("- - - - X", 2, 3, True, False),
    ("X X X X 0", 3, 3, False, False),  # it is over
    ("X X X - 0", 2, 3, True, True),  # older data are taken in the place of missing ones
]


def _alarm(most: int, of: int, missing: str) -> dict[str, Any]:
    return {
        "EvaluationPeriods": of,
        "DatapointsToAlarm": most,
        "TreatMissingData": missing,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Threshold": 1,
    }


@pytest.mark.parametrize(("periods", "most", "of", "if_breaching", "if_not"), CASES)
def test_missing_data_count_as_the_alarm_says_and_only_where_real_data_are_too_few(
    periods: str, most: int, of: int, *, if_breaching: bool, if_not: bool
) -> None:
    values = [{"X": 1.0, "0": 0.0, "-": None}[letter] for letter in periods.split()]
    assert is_breached(values, _alarm(most, of, "breaching")) is if_breaching
    assert is_breached(values, _alarm(most, of, "notBreaching")) is if_not


def _template(**alarm: object) -> dict[str, Any]:
    metric = {**_alarm(1, 1, "notBreaching"), "MetricName": "Late", "Period": 60, "Statistic": "Sum", **alarm}
    parts = ["ALARM(", {"Fn::GetAtt": ["One", "Arn"]}, ") AND ALARM(", {"Fn::GetAtt": ["Two", "Arn"]}, ")"]

    def resource(kind: str, name: str, properties: dict[str, Any]) -> dict[str, Any]:
        named = {**properties, "AlarmName": f"Timeball-{name}", "AlarmDescription": ""}
        return {"Type": f"AWS::CloudWatch::{kind}", "Properties": named}

    return {
        "Resources": {
            "One": resource("Alarm", "One", metric),
            "Two": resource("Alarm", "Two", {**metric, "MetricName": "Other"}),
            "Both": resource("CompositeAlarm", "Both", {"AlarmRule": {"Fn::Join": ["", parts]}}),
        }
    }


def test_a_composite_alarm_needs_its_parts_at_the_same_minute() -> None:
    series = Series()
    series.record("Late", START, 1)
    series.record("Late", START + 2 * MINUTE_MS, 1)
    series.record("Other", START + 2 * MINUTE_MS, 1)
    # With nothing newer the last value stands for two more periods.
    found = judged(_template(), series, START, START + MINUTE_MS)
    assert found == {"One": [START + MINUTE_MS]}
    found = judged(_template(), series, START, START + 3 * MINUTE_MS)
    assert (found["Two"], found["Both"]) == ([START + 3 * MINUTE_MS], [START + 3 * MINUTE_MS])


@pytest.mark.parametrize(("late", "is_on"), [(14, False), (15, True)])
def test_the_rank_of_a_value_is_the_share_of_values_up_to_it(late: int, *, is_on: bool) -> None:
    series = Series()
    for number in range(100):
        series.record("Late", START, 1_001 if number < late else 1_000)
    ranked = {"ExtendedStatistic": "PR(:1000)", "ComparisonOperator": "LessThanThreshold", "Threshold": 85.6}
    template = _template(**ranked)
    del template["Resources"]["One"]["Properties"]["Statistic"]
    assert ("One" in judged(template, series, START, START + MINUTE_MS)) is is_on
