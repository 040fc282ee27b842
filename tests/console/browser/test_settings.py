"""Settings: an API key is shown once, a freeze says what it would hold, and each change has its author."""

from playwright.sync_api import expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer


def test_an_api_key_is_shown_once(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console, "admin", at="#/settings", may_change=True)
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("button", name="New key").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Deployments")
    page.get_by_role("dialog").get_by_role("button", name="Make it").click()
    shown = page.get_by_label("The key", exact=True)
    expect(shown).to_contain_text("tb_")
    key = shown.inner_text()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("row").filter(has_text="Deployments")).to_contain_text("submitter")
    assert key not in page.content()


def test_an_operator_sees_why_there_are_no_keys(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "operator", at="#/settings/keys")
    expect(page.get_by_text("This needs an admin's key.")).to_be_visible()


def test_a_freeze_says_what_it_would_hold_and_is_made_and_lifted(pages: Pages, console: ConsoleServer) -> None:
    fields = {"handler": "https://shop.example/web", "everySeconds": 600, "tags": {"team": "web"}}
    console.send("PUT", "/v1/jobs/web", fields)
    page = pages.page_of(console, "operator", at="#/settings/freezes", may_change=True)
    page.get_by_role("button", name="New freeze").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Jobs with the tag").fill("team:web")
    dialog.get_by_label("Why").fill("A release")
    dialog.get_by_role("button", name="New freeze").click()
    row = page.get_by_role("row").filter(has_text="A release")
    expect(row).to_contain_text("Jobs with team:web")
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Lift").click()
    expect(page.get_by_text("No freezes.")).to_be_visible()


def test_each_change_has_its_author(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/settings/changes")
    expect(page.get_by_role("row").filter(has_text="nightly-report").first).to_contain_text("admin")
