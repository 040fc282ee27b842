"""The numbers in docs/concepts/runs.md match the code: how failures are retried, and when a host is left alone."""

import json
import re
from dataclasses import replace

import pytest

from tests.contract.rows import NOW, run
from tests.docs.readme import ROOT, read
from timeball.api.jobs.policies import RetryPolicyField
from timeball.domain.attempts.circuit_breaker import MOST_SEGMENTS, Circuit, CircuitKey, CircuitRules, check
from timeball.domain.attempts.retry import patience_ms
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import RetryPolicy as Policy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.context import Rules

PAGE = read(ROOT / "docs/concepts/runs.md")
_WRITTEN = {"none": None, "`full`": "full"}


def _section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _defaults() -> dict[str, object]:
    """Return the default of each field of a retry policy, in the form of the page's table."""
    table = _section("Retries").partition("| entry |")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", table, re.MULTILINE)
    return {name: _WRITTEN[text] if text in _WRITTEN else json.loads(text.strip("`")) for name, text in rows}


def test_the_defaults_of_a_retry_policy_are_those_of_the_page() -> None:
    fields = RetryPolicyField.model_fields.values()
    assert _defaults() == {field.alias: field.default for field in fields}
    assert Policy(retry_on=tuple(RetryPolicyField.model_validate({}).retry_on)) == Policy()


@pytest.mark.parametrize("cause", re.findall(r'`"?(\w+)"?`(?=[^|]* \|)', _section("Retries").partition("| entry |")[2]))
def test_every_cause_on_the_page_is_one_that_a_policy_may_name(cause: str) -> None:
    assert RetryPolicyField.model_validate({"retryOn": [cause]}).retry_on == [cause]


def test_a_host_that_is_down_is_left_alone_as_the_page_says() -> None:
    rules, page = CircuitRules(), _section("When a host is down")
    assert Rules().circuits == rules
    for shown in (
        f"fails {rules.failures} times in a row",
        f"for {rules.open_ms // SECOND_MS} s",
        f"{rules.open_segments} segments of an origin are open at once",
        f"more than {MOST_SEGMENTS} segments",
        f"not beyond {rules.trial_ms // SECOND_MS} s",
        f"up to {rules.longest_open_ms // MINUTE_MS} minutes",
        f"{rules.burst} at once if there were none for a while, then {rules.retries_per_second} a second",
    ):
        assert shown in page.replace("\n  ", " ").replace("\n", " ")
    assert rules.burst == 2 * rules.retries_per_second
    assert "at least ten minutes" in page
    assert patience_ms(Policy(max_retries=0)) == 10 * MINUTE_MS


def test_as_many_retries_leave_in_the_first_second_as_the_page_says() -> None:
    host, retry = (
        Circuit(CircuitKey("acme", "https://target.example"), failures=1),
        replace(run(), state=RunState.RETRYING, attempt=1),
    )
    starts: list[int] = []
    for _ in range(100):
        host, admission = check(host, retry, NOW, CircuitRules())
        starts.append(NOW if admission.until is None else admission.until)
    count = len([start_at for start_at in starts if start_at < NOW + SECOND_MS])
    assert f"so {count} in the first second" in _section("When a host is down").replace("\n", " ")
