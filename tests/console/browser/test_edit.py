"""New and edit: a job is made by its form or its JSON, with its next fires before; a lost update is refused."""

import re

from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer

_FIELDS = {"handler": "https://shop.example/report", "cronExpression": "0 2 * * *", "timezone": "Europe/Berlin"}


def test_a_job_is_made_with_its_next_fires_shown_in_two_zones(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console, "submitter", at="#/new", zone="Asia/Kathmandu", may_change=True)
    page.get_by_role("textbox", name="Id Optional").fill("report")
    page.get_by_label("URL, or the id of a task").fill("https://shop.example/report")
    page.get_by_label("Cron expression").fill("30 2 * * *")
    page.get_by_label("Time zone", exact=True).fill("Europe/Berlin")
    fires = page.get_by_role("region", name="Next fires")
    for text in ("every day at 02:30, Europe/Berlin", "02:30:00 +01:00", "07:15:00 GMT+5:45"):
        expect(fires).to_contain_text(text)
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("report")
    assert console.send("GET", "/v1/jobs/report")["cronExpression"] == "30 2 * * *"


def test_a_wrong_field_gets_its_sentence(pages: Pages, console: ConsoleServer) -> None:
    pages.allowed.append("400")
    page = pages.page_of(console, "submitter", at="#/new", may_change=True)
    page.get_by_label("Cron expression").fill("61 * * * *")
    expect(page.get_by_role("region", name="Next fires")).to_contain_text("minute")
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_role("alert").last).to_contain_text("handler")


def test_the_form_and_the_json_are_one(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console, "submitter", at="#/new", may_change=True)
    page.get_by_text("JSON", exact=True).first.click()
    page.get_by_label("The job, as JSON").fill('{"handler": "https://shop.example/x", "everySeconds": 90}')
    expect(page.get_by_label("Seconds between fires")).to_have_value("90")
    page.get_by_label("Name").fill("From the form")
    expect(page.get_by_label("The job, as JSON")).to_have_value(_holding("From the form"))


def test_a_change_sends_only_what_differs_and_is_refused_after_another_change(
    pages: Pages, console: ConsoleServer
) -> None:
    pages.allowed.append("412")
    secret = {"type": "http", "url": "https://shop.example/report", "headers": {"Authorization": "Bearer hidden"}}
    console.send("PUT", "/v1/jobs/report", {**_FIELDS, "handler": None, "target": secret})
    page = _edited(pages, console)
    page.get_by_label("Cron expression").fill("0 4 * * *")
    console.send("PATCH", "/v1/jobs/report", {"priority": "high"})
    page.get_by_role("button", name="Change the job").click()
    expect(page.get_by_text("The job was changed meanwhile")).to_be_visible()
    page.get_by_role("button", name="Begin again from its newest settings").click()
    page.get_by_label("Cron expression").fill("0 5 * * *")
    page.get_by_role("button", name="Change the job").click()
    expect(page.get_by_label("Summary")).to_contain_text("05:00")
    changed = console.send("GET", "/v1/jobs/report")
    assert (changed["cronExpression"], changed["priority"]) == ("0 5 * * *", "high")
    assert [one["name"] if isinstance(one, dict) else one for one in changed["target"]["headers"]] == ["Authorization"]


def test_a_target_is_tried_before_it_is_stored(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console, "operator", at="#/jobs", may_change=True)
    page.get_by_role("link", name="New job").click()
    page.get_by_label("URL, or the id of a task").fill("https://shop.example/say/hello")
    page.get_by_role("button", name="Call it").click()
    expect(page.get_by_role("region", name="Test call")).to_contain_text("Succeeded")


def test_a_field_is_removed_from_the_payload(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/report", {**_FIELDS, "payload": {"to": {"team": "web", "copy": "ops"}, "test": True}})
    page = _edited(pages, console)
    page.get_by_label("Payload, as JSON").fill('{"to": {"team": "web", "copy": null}}')
    expect(page.locator("p.note")).to_contain_text("A change cannot store null inside the payload")
    expect(page.get_by_role("button", name="Change the job")).to_be_disabled()
    page.get_by_label("Payload, as JSON").fill('{"to": {"team": "web"}}')
    page.get_by_role("button", name="Change the job").click()
    expect(page.get_by_label("Summary")).to_be_visible()
    assert console.send("GET", "/v1/jobs/report")["payload"] == {"to": {"team": "web"}}


def test_a_new_job_does_not_replace_one_of_the_same_id(pages: Pages, console: ConsoleServer) -> None:
    pages.allowed.append("412")
    console.send("PUT", "/v1/jobs/report", _FIELDS)
    page = pages.page_of(console, "submitter", at="#/new", may_change=True)
    page.get_by_role("textbox", name="Id Optional").fill("report")
    page.get_by_label("URL, or the id of a task").fill("https://shop.example/other")
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_role("alert")).to_contain_text("There is a job of this id")
    assert console.send("GET", "/v1/jobs/report")["target"]["url"] == "https://shop.example/report"


def test_a_call_without_its_hidden_headers_is_not_tried(pages: Pages, console: ConsoleServer) -> None:
    target = {"type": "http", "url": "https://shop.example/report", "headers": {"Authorization": "Bearer hidden"}}
    console.send("PUT", "/v1/jobs/report", {**_FIELDS, "handler": None, "target": target})
    page = _edited(pages, console)
    expect(page.get_by_role("button", name="Call it")).to_be_disabled()
    page.goto(f"{console.url}#/jobs/report/settings")
    expect(page.get_by_role("button", name="Copy as curl")).to_be_disabled()


def _edited(pages: Pages, console: ConsoleServer) -> Page:
    return pages.page_of(console, "operator", at="#/jobs/report/edit", may_change=True)


def _holding(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))
