"""The queries of docs/reference/observability.md find what they say, in lines that runs of a story left."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.docs.insights import Row, UnknownQueryError, evaluate
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At

PAGE = (Path(__file__).parents[2] / "docs/reference/observability.md").read_text()
SECTION = PAGE[PAGE.index("### A line for each attempt") :].partition("\n## ")[0]
QUERIES = re.findall(r"\*\*(.+?)\*\*\n\n```text\n(.*?)```", SECTION, re.DOTALL)
CONTEXT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
RUN = "nightly-report.1795253400250.s"


@pytest.fixture(scope="module")
def lines() -> Sequence[Row]:
    """Lines of two jobs: of one whose call fails twice and takes long, and of one that succeeds late."""
    play = Play()
    other = replace(spec("other", At(NOW + 60 * SECOND_MS)), traceparent=CONTEXT)
    play.store_jobs([spec("nightly-report", At(NOW)), other])
    play.caller.statuses, play.caller.takes_ms = [503, 503], 6 * SECOND_MS
    for _ in range(4):
        play.scan_all()
        play.drain()
        play.clock.advance(60 * SECOND_MS)
    assert len(play.attempts.lines) == 4
    (run,) = play.runs(JobKey("acme", "nightly-report"))
    assert str(run.id) == RUN
    return play.attempts.lines


def found(about: str, lines: Sequence[Row]) -> list[Row]:
    (query,) = [text for name, text in QUERIES if name == about]
    return evaluate(query, lines)


def test_the_page_has_queries() -> None:
    assert len(QUERIES) >= 5


@pytest.mark.parametrize("about", [name for name, _ in QUERIES])
def test_a_query_finds_something_and_names_only_fields_that_lines_have(about: str, lines: Sequence[Row]) -> None:
    assert found(about, lines)


def test_a_run_is_found_by_its_id_with_all_its_attempts(lines: Sequence[Row]) -> None:
    rows = found("All attempts of a run", lines)
    assert [(row["attempt"], row["status"]) for row in rows] == [(1, 503), (2, 503), (3, 200)]


def test_failures_are_counted_by_resource(lines: Sequence[Row]) -> None:
    (row,) = found("Which resources fail, and how", lines)
    assert row == {"resource": "https://target.example", "status": 503, "outcome": "failed", "failures": 2}


def test_lateness_is_shown_by_priority(lines: Sequence[Row]) -> None:
    (row,) = found("How late runs start", lines)
    assert (row["priority"], row["runs"]) == ("normal", 2)


def test_the_page_explains_each_field_of_a_line(lines: Sequence[Row]) -> None:
    table = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", SECTION, re.MULTILINE)
    explained = {name for row in table for name in re.findall(r"`(\w+)`", row)}
    assert explained == {name for line in lines for name in line}


@pytest.mark.parametrize(
    "query",
    ["filter nothing = 1", "parse @message", "filter attempt like /x/", "stats sum(attempt) as n", "sort attempt up"],
)
def test_a_query_that_cannot_be_evaluated_is_refused(query: str, lines: Any) -> None:
    with pytest.raises(UnknownQueryError):
        evaluate(query, lines)
