"""Requests a minute: what each screen asks for while nothing runs, as the document says it, with its cost."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.console.browser.harness import Pages, shown
from tests.console.browser.polling import asked, opened, settle
from tests.console.server import ConsoleServer

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "reference" / "console.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| ([A-Z][^|]+) \| (\d+) \| \$([\d.]+) \|$", re.MULTILINE)
_HOURS_A_MONTH = 22 * 8
_USD_A_REQUEST = 0.25 / 130_000
"""As the document's table of costs says it of a tab that is looked at all day."""


def test_each_screen_asks_as_often_as_the_document_says(pages: Pages, console: ConsoleServer) -> None:
    places = _places(console)
    page = opened(pages, console, "#/")
    counted: dict[str, int] = {}
    for name, place in places.items():
        page.goto(console.url + place)
        page.reload()  # or the poll would find that nothing changes, and ask less
        shown(page)
        settle(page)
        asked(console, page, 6)  # what is asked for once comes later than the first answer
        counted[name] = 3 * len(asked(console, page, 20))
    assert counted == {name: int(requests) for name, requests, _ in _ROW.findall(_DOCUMENT)}


def test_the_costs_of_the_document_are_those_of_its_requests() -> None:
    rows = _ROW.findall(_DOCUMENT)
    assert len(rows) > 10
    for name, requests, usd in rows:
        assert float(usd) == pytest.approx(int(requests) * 60 * _HOURS_A_MONTH * _USD_A_REQUEST, abs=0.01), name


def _places(server: ConsoleServer) -> dict[str, str]:
    """Make one of each; return a place of each screen, by the name that the document gives it."""
    server.send("PUT", "/v1/jobs/first", {"handler": "https://a.example/fail/422", "everySeconds": 3600})
    server.send("PUT", "/v1/jobs/second", {"handler": "https://a.example", "dependsOn": ["first"]})
    server.send("PUT", "/v1/limits/shared", {"limit": 2})
    server.advance(60)
    run = server.send("GET", "/v1/jobs/first")["latestRun"]
    return {
        "Now": "#/",
        "Jobs": "#/jobs",
        "Job, its ledger": "#/jobs/first",
        "Job, what comes": "#/jobs/first/upcoming",
        "Job, its settings": "#/jobs/first/settings",
        "Job, its changes": "#/jobs/first/changes",
        "Job, its cost": "#/jobs/first/cost",
        "Run": f"#/runs/{run['runId']}",
        "Pipeline": f"#/cycles/first/{quote(run['cycleId'], safe='')}",
        "Failures": "#/failures",
        "Failures, a group opened": f"#/failures?fingerprint={_group(server)}",
        "New": "#/new",
        "Edit": "#/jobs/first/edit",
        "Settings, each part": "#/settings/changes",
        "Settings, a limit": "#/settings/limits?name=shared",
    }


def _group(server: ConsoleServer) -> str:
    return str(server.send("GET", "/v1/dead-letters:groups")["items"][0]["fingerprint"])
