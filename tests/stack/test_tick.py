"""The ticker's expressions, evaluated by JSONata itself at chosen instants and in chosen states."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from infra.ticker import DEFINITION
from tests.stack.conftest import ROOT

EVALUATE = """
const jsonata = require("jsonata");
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answer = ({expression, now, variables}) => {
    const parsed = jsonata(expression);
    parsed.registerFunction("millis", () => now);
    return parsed.evaluate({}, variables);
};
Promise.all(asked.map(answer)).then((answers) => console.log(JSON.stringify(answers)));
"""
SECOND = 1_795_253_400_000  # a whole second, in ms
PARTITIONS = json.loads(DEFINITION.read_text())["States"]["Partitions"]
STATES = PARTITIONS["ItemProcessor"]["States"]
NEXT = {
    "at the loop's beginning": STATES["Own"]["Assign"]["next"],
    "after a scan": STATES["Scan"]["Assign"]["next"],
    "after a scan that failed": STATES["Scan"]["Catch"][0]["Assign"]["next"],
}
# `next` before: just passed; minutes ago, after one long scan; a minute ahead, as after sixty fast scans that had
# backlog if they were counted.
BEFORE = (0, -300, 60)


def _evaluated(template: str, asked: Sequence[tuple[int, dict[str, Any]]]) -> list[Any]:
    """Evaluate an expression at each instant (ms) with its variables."""
    expression = template.removeprefix("{%").removesuffix("%}")
    questions = [{"expression": expression, "now": now, "variables": variables} for now, variables in asked]
    node = Path(sys.executable).with_name("node")
    done = subprocess.run(
        [str(node), "-e", EVALUATE], input=json.dumps(questions), cwd=ROOT, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("moment", NEXT)
def test_the_next_tick_is_the_next_whole_second_however_many_scans_came_before(moment: str) -> None:
    asked = [
        (SECOND + passed, {"next": SECOND // 1000 + before})
        for passed in (0, 1, 56, 500, 999, 1_000, 2_300)
        for before in BEFORE
    ]
    assert _evaluated(NEXT[moment], asked) == [now // 1000 + 1 for now, _ in asked]


def test_a_tick_waits_for_its_second_as_an_instant_and_so_never_drifts() -> None:
    at = SECOND // 1000 + 1
    waits = _evaluated(STATES["WaitForSecond"]["Timestamp"], [(SECOND, {"next": at}), (SECOND + 999, {"next": at})])
    assert waits == ["2026-11-21T09:30:01.000Z"] * 2


def test_the_execution_that_ticks_gives_a_scan_its_partition_and_their_number() -> None:
    """No function has its own number of partitions: for minutes it would differ from that of the loops."""
    started = {"input": {"partitions": 3, "seconds": 285}}
    selects, owns, payload = (
        PARTITIONS["ItemSelector"],
        STATES["Own"]["Assign"],
        STATES["Scan"]["Arguments"]["Payload"],
    )
    assert _evaluated(PARTITIONS["Items"], [(SECOND, {"states": started})]) == [[0, 1, 2]]
    item = {**started, "context": {"Map": {"Item": {"Value": 2}}}}
    names = ("partition", "partitions")
    selected = {name: _evaluated(selects[name], [(SECOND, {"states": item})])[0] for name in names}
    owned = {name: _evaluated(owns[name], [(SECOND, {"states": {"input": selected}})])[0] for name in names}
    assert {name: _evaluated(payload[name], [(SECOND, owned)])[0] for name in names} == {
        "partition": 2,
        "partitions": 3,
    }
    assert {*payload} == {*names, "owner"}


@pytest.mark.parametrize(("answer", "seconds"), [({"idle": True}, 3), ({"idle": False}, 1), ({}, 1)])
def test_an_idle_loop_ticks_each_third_second(answer: dict[str, bool], seconds: int) -> None:
    states = {"result": {"Payload": {"superseded": False, "backlog": False, **answer}}}
    asked = [(SECOND + passed, {"states": states}) for passed in (0, 56, 999)]
    assert _evaluated(STATES["Scan"]["Assign"]["next"], asked) == [SECOND // 1000 + seconds] * 3


def test_a_superseded_loop_asks_again_every_five_seconds_until_its_standby_is_over() -> None:
    now = SECOND // 1000
    states = {"result": {"Payload": {"superseded": True, "backlog": False}}}
    assert _evaluated(STATES["Scan"]["Assign"]["next"], [(SECOND + 300, {"states": states})]) == [now + 5]
    done = STATES["More"]["Choices"][0]["Condition"]
    asked = [(SECOND, {"superseded": True, "standby": standby}) for standby in (now - 1, now, now + 1)]
    assert _evaluated(done, asked) == [True, True, False]


@pytest.mark.parametrize(("name", "seconds"), [("until", 285), ("standby", 120)])
def test_loops_that_start_anew_end_when_their_execution_should_have_ended(name: str, seconds: int) -> None:
    started = {
        "input": {"seconds": 285, "standby": 120},
        "context": {"Execution": {"StartTime": "2026-11-21T09:30:00.250Z"}},
    }
    ends = _evaluated(PARTITIONS["ItemSelector"][name], [(SECOND + at, {"states": started}) for at in (0, 90_000)])
    assert ends == [SECOND // 1000 + seconds] * 2


def test_an_error_that_ends_a_loop_starts_the_loops_anew() -> None:
    """Otherwise an error that no state catches, such as one in an expression, would end all loops for a minute."""
    (retry,) = PARTITIONS["Retry"]
    assert (retry["ErrorEquals"], retry["IntervalSeconds"], retry["BackoffRate"]) == (["States.ALL"], 1, 1)
    assert retry["MaxAttempts"] >= 60


def test_a_scan_with_backlog_is_followed_at_once_until_the_loops_time_is_up() -> None:
    choices = STATES["More"]["Choices"]
    assert [choice["Next"] for choice in choices] == ["Done", "Done", "Scan"]
    assert STATES["More"]["Default"] == "WaitForSecond"
    until = SECOND // 1000 + 10
    asked = [
        (now, {"superseded": superseded, "backlog": backlog, "until": until, "standby": 0})
        for now, superseded, backlog in (
            (SECOND, False, True),
            (SECOND, False, False),
            (SECOND, True, True),
            (SECOND + 10_000, False, True),
        )
    ]
    holds = list(zip(*(_evaluated(choice["Condition"], asked) for choice in choices), strict=True))
    assert holds == [(False, False, True), (False, False, False), (True, False, True), (False, True, True)]
