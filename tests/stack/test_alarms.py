"""The alarms of the synthesized stack: each has its page, and goes off for its own trouble and for no other."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from bench.bill import ALARMS, COMPOSITES, METRICS_OF_A_CANARY, whole_month
from infra.alarms import runbook
from tests.engine.play import NOW, Play, open_days_only, spec
from tests.stack.alarm_judge import MINUTE_MS, Series, alarms_of, judged
from tests.stack.conftest import ROOT, Synthesized
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.canary import JOB_ID, begin_canary, canary_spec, note_canary
from timeball.engine.metrics import MEANINGS, Metric
from timeball.engine.scanning.pulse import Pulse
from timeball.engine.scanning.scan import scan
from timeball.engine.tally import Tally
from timeball.ports.clock import Clock
from timeball.ports.due_index import Owner
from timeball.ports.telemetry import Measurement
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.envelope import facts_of

NAMES = {
    "TickSilent",
    "Behind",
    "NoHands",
    "CanaryMissed",
    "LateFast",
    "LateSlow",
    "LateForDays",
    "DeadLetters",
    "Unreadable",
    "Throttled",
    "AuthenticationsFailed",
    "Down",
}
PARTS = {"CanarySilent", "LateFastOneHour", "LateFastFiveMinutes", "LateSlowSixHours", "LateSlowHalfHour"}


def _of(stack: Synthesized, name: str) -> dict[str, Any]:
    return alarms_of(stack.template)[name]


def test_every_alarm_exists(watched_stack: Synthesized) -> None:
    assert alarms_of(watched_stack.template).keys() == NAMES | PARTS


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_alarm_names_its_runbook_and_the_page_answers_four_questions(
    name: str, watched_stack: Synthesized
) -> None:
    page = runbook(name)
    assert _of(watched_stack, name)["AlarmDescription"].endswith(f"Runbook: {page}")
    text = (ROOT / page).read_text()
    assert text.startswith(f"# {name}\n")
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["What it means", "Look", "Do", "It is over when"]


def test_there_is_no_runbook_without_an_alarm() -> None:
    assert {path.name for path in (ROOT / "docs/runbooks").glob("*.md")} == {
        runbook(name).rpartition("/")[2] for name in NAMES
    }


@pytest.mark.parametrize("name", sorted((NAMES | PARTS) - {"CanaryMissed", "LateFast", "LateSlow", "Down"}))
def test_each_alarm_on_a_metric_says_what_missing_data_means(name: str, watched_stack: Synthesized) -> None:
    expected = "breaching" if name in ("TickSilent", "CanarySilent") else "notBreaching"
    assert _of(watched_stack, name)["TreatMissingData"] == expected


@pytest.mark.parametrize("name", sorted(NAMES | PARTS))
def test_all_alarms_notify_the_topic_when_they_begin_and_when_they_are_over_but_parts_of_others_do_not(
    name: str, watched_stack: Synthesized
) -> None:
    alarm = _of(watched_stack, name)
    (topic,) = watched_stack.resources("AWS::SNS::Topic")
    expected = None if name in PARTS else [{"Ref": topic}]
    assert (alarm.get("AlarmActions"), alarm.get("OKActions")) == (expected, expected)


def test_alarms_need_no_metric_that_basic_does_not_write(watched_stack: Synthesized) -> None:
    own = {
        one["MetricName"] for one in alarms_of(watched_stack.template).values() if one.get("Namespace") == "Timeball"
    }
    assert own <= {name.value for name, meaning in MEANINGS.items() if meaning.is_basic}


def test_the_alarms_of_the_account_may_publish_to_the_topic_and_its_subscribers_are_those_of_the_setting(
    watched_stack: Synthesized,
) -> None:
    (policy,) = watched_stack.resources("AWS::SNS::TopicPolicy").values()
    allowed = [one for one in policy["Properties"]["PolicyDocument"]["Statement"] if one["Effect"] == "Allow"]
    assert [one["Principal"] for one in allowed] == [{"Service": "cloudwatch.amazonaws.com"}]
    subscriptions = watched_stack.resources("AWS::SNS::Subscription").values()
    assert [(one["Properties"]["Protocol"], one["Properties"]["Endpoint"]) for one in subscriptions] == [
        ("email", "oncall@example.com"),
        ("https", "https://hooks.example.com/timeball"),
    ]
    (slack,) = watched_stack.resources("AWS::Chatbot::SlackChannelConfiguration").values()
    assert (slack["Properties"]["SlackWorkspaceId"], slack["Properties"]["SlackChannelId"]) == ("T0123", "C4567")


def test_the_dashboard_shows_all_alarms_and_metrics_that_exist(watched_stack: Synthesized) -> None:
    (dashboard,) = watched_stack.resources("AWS::CloudWatch::Dashboard").values()
    parts = dashboard["Properties"]["DashboardBody"]["Fn::Join"][1]
    alarms = {part["Fn::GetAtt"][0] for part in parts if isinstance(part, dict) and "Fn::GetAtt" in part}
    assert {one["LogicalId"] for one in alarms_of(watched_stack.template).values()} <= alarms
    body = json.loads("".join(part if isinstance(part, str) else "x" for part in parts))
    metrics = [metric for widget in body["widgets"] for metric in widget["properties"].get("metrics", [])]
    own = {metric[1] for metric in metrics if metric[0] == "Timeball"}
    assert own <= {name.value for name in Metric}
    assert len(own) >= 15


def test_a_stack_without_alarms_has_none_of_it(stack: Synthesized) -> None:
    for kind in ("CloudWatch::Alarm", "CloudWatch::CompositeAlarm", "CloudWatch::Dashboard", "SNS::Topic"):
        assert not stack.resources(f"AWS::{kind}")


# Small drills, on the engine in memory.


@dataclass
class _Recorder:
    """Telemetry that records the values of metrics as `basic` writes them."""

    clock: Clock
    series: Series

    def note(self, events: Sequence[Measurement]) -> None:
        for event in events:
            if MEANINGS[Metric(event.name)].is_basic:
                self.series.record(event.name, self.clock.now(), event.value)


class Drill:
    """A deployment in memory with a job each twenty seconds, whose parts can be taken away."""

    def __init__(self) -> None:
        self.play, self.series = Play(), Series()
        self.play.tally = Tally(self.play.clock, _Recorder(self.play.clock, self.series))
        self.ticker, self.executors, self.watch = True, True, True
        begin_canary(self.play.context(), canary_spec("main", 300, "arn:aws:lambda:eu-central-1:1:function:canary"))
        self.canary, self._arrived = True, 0
        self._pulse, self._sweeps = Pulse(), open_days_only(0)
        self.play.store_jobs([spec(f"job-{n}", Every(20, NOW + n * SECOND_MS)) for n in range(3)])

    def run(self, minutes: int) -> None:
        """Let time pass, second by second."""
        until = self.play.clock.now() + minutes * MINUTE_MS
        while self.play.clock.now() < until:
            next_at = self.play.clock.now() + SECOND_MS
            if self.ticker:
                began_at, context = self.play.clock.now(), self.play.context()
                done = scan(context, 0, Owner("2026", "a"), self._sweeps)
                self._pulse.note(context, done, began_at)
            while self.executors and self.play.execute_next():
                pass
            if self.watch:
                self.play.watch()
            self._let_canaries_arrive()
            self.play.clock.advance(max(0, next_at - self.play.clock.now()))

    def _let_canaries_arrive(self) -> None:
        """Do what the canary's function does, for the calls that reached it."""
        calls = [call for _, call in self.play.caller.calls if call.run.job.job_id == JOB_ID]
        for call in calls[self._arrived :] if self.canary else ():
            note_canary(self.play.context(), "main", facts_of(call))
        self._arrived = len(calls)


def _ticker_gone(drill: Drill) -> None:
    drill.ticker = False


def _executors_gone(drill: Drill) -> None:
    drill.executors = False


def _canary_gone(drill: Drill) -> None:
    drill.canary = False


def _targets_fail(drill: Drill) -> None:
    drill.play.caller.statuses = [400] * 1000


def _nothing(drill: Drill) -> None:
    pass


# Columns: what happens, the alarms that go off within a quarter of an hour, and within how many minutes each.
DRILLS: list[tuple[Callable[[Drill], None], dict[str, int]]] = [
    (_nothing, {}),
    (_ticker_gone, {"TickSilent": 4, "Down": 4, "CanarySilent": 13}),
    (_executors_gone, {"NoHands": 4, "Down": 4, "CanarySilent": 13}),
    (_canary_gone, {"CanarySilent": 13, "CanaryMissed": 13, "Down": 13}),
    (_targets_fail, {"DeadLetters": 3}),
]


@pytest.mark.parametrize(("trouble", "expected"), DRILLS, ids=lambda one: getattr(one, "__name__", ""))
def test_trouble_sets_off_its_alarm_within_its_time_and_no_other(
    trouble: Callable[[Drill], None], expected: dict[str, int], watched_stack: Synthesized
) -> None:
    drill = Drill()
    drill.run(10)
    began_at = drill.play.clock.now()
    trouble(drill)
    drill.run(15)
    found = judged(watched_stack.template, drill.series, began_at - 2 * MINUTE_MS, drill.play.clock.now())
    told = {name: -(-(minutes[0] - began_at) // MINUTE_MS) for name, minutes in found.items()}
    assert told.keys() == expected.keys(), told
    assert all(0 < told[name] <= within for name, within in expected.items()), told


def test_an_alarm_is_over_soon_after_its_trouble(watched_stack: Synthesized) -> None:
    drill = Drill()
    drill.run(5)
    drill.ticker = False
    drill.run(10)
    drill.ticker = True
    back_at = drill.play.clock.now()
    drill.run(15)
    found = judged(watched_stack.template, drill.series, NOW + 5 * MINUTE_MS, drill.play.clock.now())
    assert max(found["TickSilent"]) <= back_at + 3 * MINUTE_MS


def test_all_of_it_costs_less_than_sixteen_dollars_a_month(watched_stack: Synthesized) -> None:
    kinds = {name: len(watched_stack.resources(f"AWS::CloudWatch::{name}")) for name in ("Alarm", "CompositeAlarm")}
    assert (kinds["Alarm"], kinds["CompositeAlarm"]) == (ALARMS, COMPOSITES)
    assert all(MEANINGS[Metric(name)].is_basic for name in METRICS_OF_A_CANARY)
    items = {item.what: item.dollars for item in whole_month(0.925, 0.6)}
    standby = items.pop("an execution that stands by (`takeover_seconds` of 15)")
    assert sum(items.values()) < 16 - 2.5, items
    assert sum(items.values()) + standby < 16.50


def _policies(stack: Synthesized, function: str) -> list[dict[str, Any]]:
    role = stack.functions()[function]["Role"]["Fn::GetAtt"][0]
    return [
        statement
        for policy in stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_the_canarys_function_may_write_its_log_only_and_executors_may_call_it(watched_stack: Synthesized) -> None:
    actions = [statement["Action"] for statement in _policies(watched_stack, "canary")]
    assert actions == [["logs:CreateLogStream", "logs:PutLogEvents"]]
    (canary,) = (
        name
        for name, body in watched_stack.resources("AWS::Lambda::Function").items()
        if body["Properties"]["FunctionName"] == "Timeball-canary"
    )
    for priority in ("high", "normal", "low"):
        statements = _policies(watched_stack, f"execute-{priority}")
        (called,) = (one["Resource"] for one in statements if one["Action"] == "lambda:InvokeFunction")
        assert {"Fn::GetAtt": [canary, "Arn"]} in called


def test_the_canary_is_a_target_for_the_operating_tenant_only(watched_stack: Synthesized) -> None:
    targets = watched_stack.functions()["execute-normal"]["Environment"]["Variables"]["TIMEBALL_TARGETS"]
    facts = {"AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "111122223333"}
    text = "".join(part if isinstance(part, str) else facts[part["Ref"]] for part in targets["Fn::Join"][1])
    allowed = parse_arns(text, "Timeball")
    arn = "arn:aws:lambda:eu-central-1:111122223333:function:Timeball-{}"
    assert allowed.covers(arn.format("canary"), "main")
    assert not allowed.covers(arn.format("canary"), "acme")
    every = parse_arns("arn:aws:lambda:*:*:function:*", "Timeball")
    assert [name for name in watched_stack.functions() if every.covers(arn.format(name), "main")] == ["canary"]
