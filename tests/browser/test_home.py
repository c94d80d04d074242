"""The page as a person uses it: a real browser on a real server."""

import re

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.api.conftest import started
from tests.programs import CHROMIUM

WITHIN_MS = 20_000


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


@pytest.fixture(scope="module")
def browser():
    expect.set_options(timeout=WITHIN_MS)
    with sync_playwright() as playwright:
        # Its sandbox needs rights that a container does not give; the only pages it opens are ours.
        browser = playwright.chromium.launch(executable_path=CHROMIUM.find(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, address):
    """Opens a page; whatever the browser complains about fails the test."""
    complaints = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"{request.url}: {request.failure}"))

    def open_(path):
        page.goto(f"{address}{path}")
        return page

    yield open_
    found = list(complaints)  # closing ends the requests under way
    page.close()
    assert not found


def schedule(page, id, kind, when):
    page.locator("[name=kind]").select_option(kind)
    page.locator("[name=when]").fill(when)
    page.locator("[name=id]").fill(id)
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.locator("#said")).to_contain_text(f"{id}: SCHEDULED")


def row(page, table, id):
    return page.locator(f"#{table} tr", has=page.get_by_role("button", name=id, exact=True))


def test_an_event_is_seen_pending_and_seen_to_fire(opened, tmp_path):
    page = opened("/")
    schedule(page, "tea", "in", "2s")
    expect(row(page, "events", "tea")).to_have_count(1)
    expect(row(page, "recent", "tea")).to_have_count(1)
    expect(row(page, "recent", "tea")).to_contain_text("SUCCESS")
    expect(row(page, "events", "tea")).to_have_count(0)
    expect(page.locator("#delivered")).to_have_text("1")
    expect(page.locator("#state")).not_to_have_text("connecting")
    row(page, "recent", "tea").get_by_role("button").click()
    expect(page.locator("#detail")).to_contain_text("SUCCESS")
    page.screenshot(path=tmp_path / "detail.png")
    page.locator("#detail-close").click()


def test_what_is_due_within_the_hour_is_in_the_forecast(opened):
    page = opened("/")
    expect(page.locator("#forecast-text")).to_have_text("nothing is due in the next 60 minutes")
    schedule(page, "in-an-hour", "in", "59m50s")
    expect(page.locator("#forecast-text")).to_contain_text("1 due")
    page.get_by_role("button", name="cancel in-an-hour").click()
    expect(page.locator("#forecast-text")).to_have_text("nothing is due in the next 60 minutes")


def test_an_event_is_paused_resumed_and_cancelled_by_clicking(opened, tmp_path):
    page = opened("/")
    schedule(page, "report", "cron", "0 9 * * mon-fri")
    expect(page.locator("#preview")).to_contain_text("at 09:00 on weekdays")
    for number in range(3):
        schedule(page, f"reminder-{number}", "every", f"{number + 5}m")
    page.get_by_role("button", name="pause report").click()
    expect(row(page, "events", "report")).to_have_count(0)
    page.get_by_role("button", name="paused", exact=True).click()
    expect(row(page, "events", "report")).to_contain_text("PAUSED")
    page.get_by_role("button", name="resume report").click()
    expect(page.locator("#said")).to_have_text("report: RESUMED")
    page.get_by_role("button", name="next due").click()
    expect(row(page, "events", "report")).to_contain_text("at 09:00 on weekdays")
    page.screenshot(path=tmp_path / "home.png")
    page.get_by_role("button", name="cancel report").click()
    expect(page.locator("#said")).to_have_text("report: CANCELLED")
    expect(row(page, "events", "report")).to_have_count(0)
    page.get_by_role("button", name="all", exact=True).click()
    expect(row(page, "events", "report")).to_contain_text("CANCELLED")


def test_the_api_is_shown_on_a_page_of_its_own(opened):
    page = opened("/docs")
    expect(page.get_by_text(re.compile("Schedule an event, or many")).first).to_be_visible()
