"""The examples in docs/concepts/schedules.md are true: its commands, its request, its tables of expressions."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.api.client import Api
from tests.cli.commands import timeball
from tests.docs.readme import PAGES, ROOT, read
from timeball.api.schedules.preview import PreviewRequest
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import InvalidSchedule, parse_instant
from timeball.domain.time.preview import preview
from timeball.domain.time.schedule import Cron, Schedule

PAGE = read(ROOT / "docs/concepts/schedules.md")
_ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def _sessions(page: Path) -> list[tuple[str, str]]:
    """List the commands of a page, each with the output that the page shows."""
    blocks = re.findall(r"^```console\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)
    return [session for block in blocks for session in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]


SESSIONS = [
    pytest.param(*session, id=session[0])
    for page in PAGES
    for session in _sessions(page)
    if session[0].startswith("timeball preview ")  # the tests of their pages run the others
]


@pytest.mark.parametrize(("command", "output"), SESSIONS)
def test_a_command_prints_what_the_page_shows(command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "timeball"
    done = timeball(arguments)
    assert done.stdout + done.stderr == output
    assert done.status == (0 if done.stdout else 2)


def test_every_block_that_shows_a_command_is_run() -> None:
    shown = len(re.findall(r"^(?:\$ )?timeball ", PAGE, re.MULTILINE))
    assert shown == len(_sessions(ROOT / "docs/concepts/schedules.md")) > 8


def _json(marker: str) -> Any:
    """Return the block of JSON below a marker."""
    (block,) = re.findall(rf"^<!-- {marker} -->\n```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return json.loads(block)


# The job of the request, if any; the path; where the answer has its rules.
REQUESTS: dict[str, tuple[dict[str, Any] | None, str, str]] = {
    "preview": (None, "/v1/schedules:preview", "rules"),
    "backfill": (
        {"cronExpression": "0 6 * * MON-FRI", "timezone": "Europe/Berlin"},
        "/v1/jobs/{jobId}/backfills",
        "scheduleRules",
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_answered_as_the_page_shows(api: Api, name: str) -> None:
    job, path, rules = REQUESTS[name]
    for shown in (job or {}).items():
        assert f"`{json.dumps(shown[0])}: {json.dumps(shown[1])}`" in PAGE
    created = api.create(**job) if job else {"jobId": ""}
    answer = api.call("POST", path.format(**created), _json(f"request: {name}"))
    assert answer.status == 200
    expected = _json(f"answer: {name}")
    # A later release of the time zone database need not change the page.
    expected[rules]["tzdata"] = answer.body[rules]["tzdata"]
    assert answer.body == expected


def test_every_block_of_json_is_a_request_or_an_answer() -> None:
    assert PAGE.count("```json") == 2 * len(REQUESTS)


def test_the_page_names_every_field_of_a_preview() -> None:
    for field in PreviewRequest.model_fields.values():
        assert f"`{field.alias}`" in PAGE


def _table(heading: str) -> list[tuple[str, str]]:
    """List the rows of the table with this heading; its first column is code."""
    return _ROW.findall(PAGE.partition(heading)[2].partition("\n\n")[0])


@pytest.mark.parametrize(("expression", "cells"), _table("| expression | is due |"))
def test_the_first_fire_of_each_expression_is_as_the_page_says(expression: str, cells: str) -> None:
    (fire,) = preview(Schedule(Cron(expression)), parse_instant("2026-11-21T00:00:00Z"), 1)
    assert fire.local_time == cells.rpartition("| ")[2]


@pytest.mark.parametrize(("expression", "answer"), _table("| expression | answer |"))
def test_each_invalid_expression_is_refused_with_the_sentence_of_the_page(expression: str, answer: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        parse_cron(expression)
    assert str(refused.value) == answer
