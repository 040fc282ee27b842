import ast
import inspect
import json
import re
import shlex

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer
from timeball.client import Timeball


def test_a_row_says_how_a_job_fares(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs")
    row = _row(page, "send-invoices")
    expect(row).to_contain_text("Pending")
    expect(row).to_contain_text("every 30 minutes, Europe/Berlin")
    expect(row).to_contain_text("*/30 * * * *")
    expect(row.get_by_role("img")).to_have_attribute(
        "aria-label", "Last 4 outcomes, oldest first: failed, failed, failed, failed. 1 run under way."
    )


def test_filters_stand_in_the_address_and_a_bookmark_restores_them(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs")
    page.get_by_role("button", name="Paused").click()
    expect(_rows(page)).to_have_count(1)
    assert "status=paused" in page.url
    page.get_by_role("button", name="Paused").click()
    _row(page, "cleanup").get_by_role("button", name="team:web").click()
    expect(_rows(page)).to_have_count(5)
    page.reload()
    expect(_rows(page)).to_have_count(5)
    page.get_by_role("button", name="Remove the filter tag team:web").click()
    expect(page.get_by_text("All 17 shown")).to_be_visible()
    page.go_back()
    expect(_rows(page)).to_have_count(5)


def test_search_finds_by_the_beginning_of_an_id_or_a_name(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs")
    page.get_by_label("Search").fill("count the")
    expect(_rows(page)).to_have_count(1)
    page.get_by_label("Search").fill("zzz")
    expect(page.get_by_text("No job matches.")).to_be_visible()


def test_all_that_match_are_paused_with_their_count_before_and_the_progress_after(
    pages: Pages, console: ConsoleServer
) -> None:
    for number in range(60):
        tags = {"team": "web" if number % 2 else "data"}
        console.send(
            "PUT", f"/v1/jobs/job-{number:02}", {"handler": "https://a.example", "everySeconds": 60, "tags": tags}
        )
    page = pages.page_of(console, "operator", at="#/jobs?tag=team:web")
    page.get_by_role("button", name="Select all that match").click()
    group = page.get_by_role("group", name="Act on all that match")
    expect(group).to_contain_text("30 jobs")
    group.get_by_role("button", name="Pause all…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("30 jobs get no new runs.")
    expect(dialog).to_contain_text("Resume the same selection.")
    dialog.get_by_role("button", name="Allow changes and pause all").click()
    expect(page.get_by_role("region", name="Operation")).to_contain_text("30 jobs of 30 done")
    console.advance(5)
    expect(page.get_by_role("region", name="Operation")).to_contain_text("Succeeded")
    expect(_row(page, "job-59")).to_contain_text("Paused")


@pytest.mark.parametrize("query", ["tag=team:web&tag=team:data", "tag=team", "taskId=a&taskId=b", "q=import"])
def test_an_operation_is_barred_where_it_would_take_other_jobs_than_the_list_shows(
    pages: Pages, shop: ConsoleServer, query: str
) -> None:
    pages.allowed.append("400")
    page = pages.page_of(shop, "operator", at="#/")
    page.goto(f"{shop.url}#/jobs?{query}")
    select = page.get_by_role("button", name="Select all that match")
    expect(select).to_have_accessible_description(re.compile("^An operation matches"))


_SENT = {"all": True, "none": None, "deep": [{"text": 'it\'s "a" \\ \u202e \U0001f600\n%s', "size": 1.5}, False]}
_REQUEST = {"method": "PUT", "path": "/v1/calendars/it's", "body": _SENT, "ifMatch": '"3"'}


def test_a_request_is_copied_as_python_that_sends_the_same(pages: Pages, shop: ConsoleServer) -> None:
    imports, call = ast.parse(_copied(pages.page_of(shop), "asPython")).body
    assert isinstance(imports, ast.ImportFrom)
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert ast.unparse(call.value.func) == "Timeball().request"
    given = [ast.literal_eval(one) for one in call.value.args]
    named = {str(one.arg): ast.literal_eval(one.value) for one in call.value.keywords}
    assert given == ["PUT", "/v1/calendars/it's", _SENT]
    assert named == {"headers": {"If-Match": '"3"'}}
    inspect.signature(Timeball.request).bind(None, *given, **named)


def test_a_request_is_copied_as_commands_that_send_the_same(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    told, one, body, pipe, *command = shlex.split(_copied(page, "asCli"))
    assert (told, one, json.loads(body), pipe) == ("printf", "%s", _SENT, "|")
    assert command == ["timeball", "api", "PUT", "/v1/calendars/it's", "-", "--header", 'If-Match: "3"']
    curl = shlex.split(_copied(page, "asCurl"))
    assert curl[:4] == ["curl", "-X", "PUT", f"{shop.base}v1/calendars/it's"]
    assert json.loads(curl[-1]) == _SENT
    assert 'If-Match: "3"' in curl


def _copied(page: Page, form: str) -> str:
    module = page.evaluate("new URL('lib/api.js', document.querySelector('script').src).href")
    copy = "async ([url, form, request]) => (await import(url))[form](request)"
    return str(page.evaluate(copy, [module, form, _REQUEST]))


def test_buttons_that_a_role_may_not_use_are_there_and_say_why(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "viewer", at="#/jobs")
    button = page.get_by_role("button", name="Run cleanup now")
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description("This needs a submitter's key; you use a viewer's.")
    button.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_job_is_paused_and_resumed_in_its_row(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/web", {"handler": "https://a.example", "everySeconds": 60})
    page = pages.page_of(console, "operator", at="#/jobs", may_change=True)
    for verb, status in (("Pause", "Paused"), ("Resume", "Pending")):
        page.get_by_role("button", name=f"{verb} web").click()
        page.get_by_role("dialog").get_by_role("button", name=verb, exact=True).click()
        expect(_row(page, "web")).to_contain_text(status)


def test_a_list_recovers_after_its_first_answer_failed(pages: Pages, shop: ConsoleServer) -> None:
    pages.allowed.append("503")
    page = pages.page_of(shop)
    page.route("**/v1/jobs?*", lambda route: route.fulfill(status=503))
    page.goto(f"{shop.url}#/jobs")
    expect(page.get_by_text("Timeball cannot answer at present.").first).to_be_visible()
    page.unroute("**/v1/jobs?*")
    expect(page.get_by_text("All 17 shown")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def _rows(page: Page) -> Locator:
    return page.locator("tbody tr")


def _row(page: Page, job_id: str) -> Locator:
    return _rows(page).filter(has=page.get_by_text(job_id, exact=True))
