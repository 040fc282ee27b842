"""Settings: an API key is shown once, a freeze says what it would hold, and each change has its author."""

from playwright.sync_api import expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer

_END_CHANGES = """
const { name } = performance.getEntriesByType("resource").find(({ name }) => name.endsWith("lib/session.js"));
import(name).then(({ forbidChanges }) => forbidChanges());
"""


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


def test_two_clicks_make_one_key_which_stays_until_it_is_copied(pages: Pages, console: ConsoleServer) -> None:
    pages.allowed.append("403")
    page = pages.page_of(console, "admin", at="#/settings", may_change=True)
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("button", name="New key").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Twice")
    page.get_by_role("button", name="Make it").evaluate("button => (button.click(), button.click())")
    expect(page.get_by_label("The key", exact=True)).to_contain_text("tb_")
    made = [one for one in console.send("GET", "/v1/admin/keys")["items"] if one["name"] == "Twice"]
    assert len(made) == 1
    page.evaluate(_END_CHANGES)
    expect(page.locator("details.menu .role")).to_have_text("viewer")
    expect(page.get_by_label("The key", exact=True)).to_contain_text("tb_")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Allow changes for 30 minutes").last).to_be_visible()


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


def test_a_freeze_of_all_jobs_is_meant_and_a_preview_is_of_what_stands_there(
    pages: Pages, console: ConsoleServer
) -> None:
    pages.allowed.append("503")
    console.send("PUT", "/v1/jobs/web", {"handler": "https://shop.example/web", "everySeconds": 600})
    page = pages.page_of(console, "operator", at="#/settings/freezes", may_change=True)
    page.get_by_role("button", name="New freeze").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="New freeze")
    expect(confirm).to_be_disabled()
    dialog.get_by_label("All jobs are frozen").check()
    expect(confirm).to_be_enabled()
    dialog.get_by_role("button", name="What would it hold?").click()
    expect(dialog.get_by_role("status")).to_contain_text("fires")
    dialog.get_by_label("Jobs with the tag").fill("team")
    expect(dialog.get_by_role("status")).to_have_text("A tag has a colon, such as team:web.")
    expect(confirm).to_be_disabled()
    page.route("**/v1/freezes:preview", lambda route: route.fulfill(status=503))
    dialog.get_by_label("Jobs with the tag").fill("team:web")
    expect(dialog.get_by_role("status")).to_have_count(0)
    dialog.get_by_role("button", name="What would it hold?").click()
    expect(dialog.get_by_role("alert")).to_contain_text("cannot answer")


def test_each_change_has_its_author(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/settings/changes")
    expect(page.get_by_role("row").filter(has_text="nightly-report").first).to_contain_text("admin")


def test_a_calendar_is_made_and_changed_and_no_change_of_another_person_is_undone(
    pages: Pages, console: ConsoleServer
) -> None:
    pages.allowed.append("412")
    page = pages.page_of(console, "operator", at="#/settings/calendars", may_change=True)
    page.get_by_role("button", name="New calendar").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("holidays")
    dialog.get_by_label("Dates").fill("2026-12-25\n2026-12-28/2026-12-31")
    dialog.get_by_role("button", name="New calendar").click()
    page.get_by_role("button", name="Change holidays").click()
    expect(dialog.get_by_label("Dates")).to_have_value("2026-12-25\n2026-12-28/2026-12-31")
    theirs = {"timezone": "Europe/Berlin", "dates": ["2027-01-01"]}
    console.send("PUT", "/v1/calendars/holidays", theirs)
    dialog.get_by_label("Dates").fill("2026-12-24")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert console.send("GET", "/v1/calendars/holidays")["dates"] == ["2027-01-01"]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Change holidays").click()
    expect(dialog.get_by_label("Dates")).to_have_value("2027-01-01")
    dialog.get_by_label("Dates").fill("2026-12-24")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(dialog).to_have_count(0)
    assert console.send("GET", "/v1/calendars/holidays")["dates"] == ["2026-12-24"]


def test_a_task_keeps_what_its_form_does_not_change_and_no_hidden_header_is_lost(
    pages: Pages, console: ConsoleServer
) -> None:
    retries = {"baseSeconds": 7, "retryOn": ["503"]}
    task = {"handler": "https://shop.example/mail", "retryPolicy": retries, "tags": {"team": "web"}}
    console.send("PUT", "/v1/tasks/mail", task)
    secret = {"type": "http", "url": "https://shop.example/sms", "headers": {"Authorization": "Bearer hidden"}}
    console.send("PUT", "/v1/tasks/sms", {"target": secret})
    page = pages.page_of(console, "operator", at="#/settings/tasks", may_change=True)
    before = console.send("GET", "/v1/tasks/mail")
    page.get_by_role("button", name="Change mail").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Retries").fill("9")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(dialog).to_have_count(0)
    after = console.send("GET", "/v1/tasks/mail")
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"maxRetries", "updatedAt", "version"}
    assert after["maxRetries"] == 9
    page.get_by_role("button", name="Change sms").click()
    expect(dialog.get_by_role("status")).to_contain_text("Values of headers are not shown")
    expect(dialog.get_by_role("button", name="Change", exact=True)).to_be_disabled()


def test_a_tenant_is_made_changed_and_disabled(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console, "admin", at="#/settings/tenants", may_change=True)
    page.get_by_role("button", name="New tenant").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("initech")
    dialog.get_by_role("button", name="New tenant").click()
    page.get_by_role("button", name="Change initech").click()
    dialog.get_by_label("Quotas").fill('{"activeJobs": ')
    expect(dialog.get_by_role("status")).to_have_text("This is no JSON yet.")
    dialog.get_by_label("Quotas").fill('{"activeJobs": 50}')
    dialog.get_by_label("Weight").fill("3")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(dialog).to_have_count(0)
    stored = console.send("GET", "/v1/admin/tenants/initech")
    assert (stored["weight"], stored["quotas"]["activeJobs"]["limit"]) == (3, 50)
    page.get_by_role("button", name="Disable initech").click()
    dialog.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("button", name="Enable initech")).to_be_visible()
    expect(page.get_by_role("button", name="Disable acme")).to_have_accessible_description("It is your own tenant.")
