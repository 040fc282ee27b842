"""A judge of alarms: which alarms of a synthesized template go off over series of metrics, and when.

It evaluates as CloudWatch documents it: once a minute, over periods that end at that minute; with missing data it looks
two periods further back than the alarm counts (the documented example: five for three), and takes what data it finds.
Nothing about CloudWatch itself is proved by it: its delays are not known here, and the two further periods are of that
one example.
"""

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MINUTE_MS = 60_000

_DEEPEST = 2
"""Alarms made of others may be parts of others, so deep."""

_FURTHER = 2
"""How many more periods are looked at than the alarm counts."""

_COMPARES: Mapping[str, Callable[[float, float], bool]] = {
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
}

_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "SampleCount": len,
}


@dataclass
class Series:
    """The values of metrics, each with its instant (ms), in the order of time.

    A metric of a queue has the queue's name before it: `Watch.NumberOfMessagesSent`.
    """

    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    instants: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def record(self, metric: str, at: int, value: float) -> None:
        """Record a value of a metric."""
        self.values[metric].append(value)
        self.instants[metric].append(at)

    def between(self, metric: str, from_at: int, to_at: int) -> list[float]:
        """Return the values of a metric from one instant to another, that one not included."""
        instants = self.instants[metric]
        return self.values[metric][bisect_left(instants, from_at) : bisect_left(instants, to_at)]


def alarms_of(template: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the alarms of a template, by their names without the stack's."""
    found = {}
    for logical_id, resource in template["Resources"].items():
        if resource["Type"].startswith("AWS::CloudWatch::") and "AlarmDescription" in resource["Properties"]:
            name = resource["Properties"]["AlarmName"].partition("-")[2]
            found[name] = {**resource["Properties"], "Type": resource["Type"], "LogicalId": logical_id}
    return found


def is_breached(values: Sequence[float | None], alarm: Mapping[str, Any]) -> bool:
    """Return whether an alarm is in ALARM over the values of its periods, the newest last; None: no data."""
    count, most, missing = alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"], alarm["TreatMissingData"]
    compares = _COMPARES[alarm["ComparisonOperator"]]
    real = [compares(value, alarm["Threshold"]) for value in values if value is not None]
    if len(real) >= count:
        return bool(sum(real[-count:]) >= most)
    filled = {"breaching": count - len(real), "notBreaching": 0}[missing]
    return bool(sum(real) + filled >= most)


def judged(template: Mapping[str, Any], series: Series, from_at: int, to_at: int) -> dict[str, list[int]]:
    """Return the minutes (ms) at which each alarm is in ALARM; alarms that are never in ALARM are left out."""
    alarms = alarms_of(template)
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at in range(from_at + MINUTE_MS, to_at + 1, MINUTE_MS):
        on = {alarm["LogicalId"] for alarm in alarms.values() if "MetricName" in alarm and _is_on(alarm, series, at)}
        for _ in range(_DEEPEST):
            on |= {alarm["LogicalId"] for alarm in alarms.values() if "AlarmRule" in alarm and _holds(alarm, on)}
        for name, alarm in alarms.items():
            if alarm["LogicalId"] in on:
                found[name].append(at)
    return dict(found)


def _is_on(alarm: Mapping[str, Any], series: Series, at: int) -> bool:
    period_ms = alarm["Period"] * 1000
    values: list[float | None] = []
    for number in range(alarm["EvaluationPeriods"] + _FURTHER, 0, -1):
        begun_at = at - number * period_ms
        ones = series.between(_series_of(alarm), begun_at, begun_at + period_ms)
        values.append(_statistic(alarm)(ones) if ones else None)
    return is_breached(values, alarm)


def _series_of(alarm: Mapping[str, Any]) -> str:
    """Return the name of an alarm's series: its metric, after the name of the queue whose metric it is."""
    for dimension in alarm.get("Dimensions", ()):
        named = re.match(r"Queues([A-Z][a-z]+)", dimension["Value"]["Fn::GetAtt"][0])
        assert named, dimension
        return f"{named[1]}.{alarm['MetricName']}"
    return str(alarm["MetricName"])


def _statistic(alarm: Mapping[str, Any]) -> Callable[[Sequence[float]], float]:
    if "Statistic" in alarm:
        return _STATISTICS[alarm["Statistic"]]
    ranked = re.fullmatch(r"PR\(:(\d+)\)", alarm["ExtendedStatistic"])
    assert ranked, alarm["ExtendedStatistic"]
    most = int(ranked[1])
    return lambda values: 100 * sum(value <= most for value in values) / len(values)


def _holds(alarm: Mapping[str, Any], on: set[str]) -> bool:
    """Return whether the rule of a composite alarm holds.

    Alarms that are metrics' are judged first. A rule may name other composite alarms too, so the caller repeats it.
    """
    texts = alarm["AlarmRule"]["Fn::Join"][1]
    rule = "".join(part if isinstance(part, str) else part["Fn::GetAtt"][0] for part in texts)
    named = re.sub(r'ALARM\("?(\w+)"?\)', lambda found: str(found[1] in on), rule)
    words = {" AND ": " and ", " OR ": " or ", "NOT ": "not "}
    for word, python in words.items():
        named = named.replace(word, python)
    return _value(ast.parse(named, mode="eval").body)


def _value(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool(value)):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_value, values))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_value, values))
    raise ValueError(f"{ast.dump(node)} is no part of a rule")
