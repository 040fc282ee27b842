"""A function's timeout covers its longest invocation, no request to AWS outlasts it, and it ends in time."""

import json
from importlib import import_module

import pytest

from tests.stack.conftest import ROOT, Synthesized
from timeball.aws.request_retries import BRISK, PATIENT, ROOM_SECONDS
from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.changes.change import LONGEST_REQUEST_SECONDS
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.execution.invocation import (
    LONGEST_CALL_SECONDS,
    call_seconds,
    last_call_at,
    last_write_at,
    longest_seconds,
)
from timeball.runtime.settings import Environment

PATIENCE = {
    "api": PATIENT,
    "admin": PATIENT,
    "deployment": PATIENT,
    "first-key-maker": PATIENT,
    "authorize": BRISK,
    "watch": PATIENT,
    "execute-high": BRISK,
    "execute-low": BRISK,
    "execute-normal": BRISK,
    "scan": PATIENT,
    "events": PATIENT,
}
"""The patience with which each function asks AWS; tests/contract/test_request_retries.py checks the wiring."""


def test_no_request_to_aws_outlasts_its_function(stack: Synthesized, local_stack: Synthesized) -> None:
    for synthesized in (stack, local_stack):
        timeouts = {name: function["Timeout"] for name, function in synthesized.functions().items()}
        assert timeouts.keys() == {*PATIENCE, *ASK_NOTHING}
        longest = {name: patience.longest_seconds + ROOM_SECONDS for name, patience in PATIENCE.items()}
        assert {name for name in PATIENCE if longest[name] >= timeouts[name]} == set()


ASK_NOTHING = {"console"}
"""The functions that send no request to AWS."""


class TimeAskedError(Exception):
    pass


class Context:
    def get_remaining_time_in_millis(self) -> int:
        raise TimeAskedError


def test_every_function_first_checks_its_remaining_time(stack: Synthesized) -> None:
    for short, function in stack.functions().items():
        if short in ASK_NOTHING:
            continue
        module, _, name = function["Handler"].rpartition(".")
        with pytest.raises(TimeAskedError):
            getattr(import_module(module), name)({}, Context())


def test_an_executors_timeout_covers_a_wait_a_hold_the_longest_call_and_the_writes_around_them(
    stack: Synthesized, local_stack: Synthesized
) -> None:
    for synthesized in (stack, local_stack):
        for name in ("execute-high", "execute-normal", "execute-low"):
            function = synthesized.functions()[name]
            told = {key: str(value) for key, value in function["Environment"]["Variables"].items()}
            rules = Environment.read(told).settings.rules
            assert 2 * rules.early_ms + LONGEST_CALL_SECONDS * SECOND_MS < longest_seconds(rules) * SECOND_MS
            assert longest_seconds(rules) <= function["Timeout"]


def test_no_request_outlives_the_fence_of_a_cancel(stack: Synthesized, local_stack: Synthesized) -> None:
    for synthesized in (stack, local_stack):
        assert synthesized.functions()["api"]["Timeout"] <= LONGEST_REQUEST_SECONDS


def test_the_api_accepts_no_timeout_that_an_executor_cannot_keep() -> None:
    schemas = json.loads((ROOT / "docs/openapi.json").read_text())["components"]["schemas"]
    longest = [
        choice["maximum"]
        for schema in schemas.values()
        for choice in schema.get("properties", {}).get("timeoutSeconds", {}).get("anyOf", [])
        if "maximum" in choice
    ]
    assert longest
    assert set(longest) == {LONGEST_SECONDS}
    assert {call_seconds(seconds) for seconds in longest} == {LONGEST_CALL_SECONDS}


def test_the_last_call_leaves_time_to_write_and_the_last_write_to_remove_a_message() -> None:
    deadline_at = 900 * SECOND_MS
    assert last_call_at(deadline_at) < last_write_at(deadline_at) < deadline_at
    assert last_write_at(deadline_at) + (BRISK.longest_seconds + ROOM_SECONDS) * SECOND_MS <= deadline_at
