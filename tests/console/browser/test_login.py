from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages, violations
from tests.console.server import ConsoleServer


def test_the_printed_link_logs_in_by_itself_and_its_code_leaves_the_address(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, None)
    page.goto(shop.link("operator"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive")
    assert "s=" not in page.url
    assert "tbc_" not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")


def test_a_used_link_says_so_and_offers_the_api_key(pages: Pages, shop: ConsoleServer) -> None:
    pages.allowed.append("status of 401")
    link = shop.link("viewer")
    first = pages.page_of(shop, None)
    first.goto(link)
    expect(first.get_by_role("heading", level=1)).to_contain_text("Alive")
    other = pages.page_of(shop, None)
    other.goto(link)
    expect(other.get_by_label("API key")).to_be_visible()
    expect(other.get_by_role("alert")).to_be_visible()


def test_an_api_key_is_exchanged_and_not_kept(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, None)
    assert not violations(page)
    _log_in(page, shop.keys["operator"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive")
    assert shop.keys["operator"] not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")


def test_a_wrong_key_is_refused_in_a_sentence(pages: Pages, shop: ConsoleServer) -> None:
    pages.allowed.append("status of 40[13]")
    page = pages.page_of(shop, None)
    _log_in(page, "tb_nobody")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("API key")).to_have_value("tb_nobody")


def test_logging_out_ends_the_session(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "operator")
    page.locator("details.menu summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    expect(page.get_by_text("You logged out.")).to_be_visible()


def test_a_session_reads_only_until_changes_are_allowed(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "operator")
    menu = page.locator("details.menu")
    menu.locator("summary").click()
    expect(menu.get_by_text("The session may only read.")).to_be_visible()
    page.get_by_role("button", name="Allow changes for 30 minutes").click()
    expect(menu.get_by_text("Changes are allowed; this ends in 29 min.")).to_be_visible()
    page.get_by_role("button", name="Only read again").click()
    expect(menu.get_by_text("The session may only read.")).to_be_visible()


def test_a_link_beside_a_session_asks_first_and_leaves_nothing_of_the_other(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "viewer", at="#/jobs")
    expect(page.get_by_text("All 17 shown")).to_be_visible()
    page.evaluate("hash => (location.hash = hash)", shop.link("admin").partition("#")[2])
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in by the link?")
    page.get_by_role("button", name="Use the link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive")
    with page.expect_request("**/v1/jobs?*") as asked:
        page.get_by_role("link", name="Jobs", exact=True).click()
    assert "if-none-match" not in asked.value.headers
    page.locator("details.menu summary").click()
    expect(page.locator("details.menu")).to_contain_text("Admin's key")


def test_a_link_that_is_none_says_so(pages: Pages, shop: ConsoleServer) -> None:
    pages.allowed.append("status of 40[0-9]")
    page = pages.page_of(shop, None)
    page.goto(f"{shop.url}?#s=%")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("API key")).to_be_visible()


def _log_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Log in").click()
