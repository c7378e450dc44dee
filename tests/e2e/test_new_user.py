"""From an empty installation to a tested endpoint: how long it takes, and how many clicks."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e import tiny_model, wizard
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product

MOST_CLICKS = 4  # beyond dropping the file
MOST_S = 120.0
COUNT = """
addEventListener("click", (event) => {
  // A key that presses a button makes a click as well, but none of the mouse's.
  if (event.isTrusted && event.detail > 0)
    sessionStorage.setItem("clicks", String(Number(sessionStorage.getItem("clicks") ?? 0) + 1));
}, true);
"""


PASSWORD = "correct horse battery"


def set_up(page: Page, product: Product) -> None:
    """By the printed link; the page of first steps says how the installation does."""
    page.goto(product.first_visit)
    page.get_by_label("User name").fill("grace")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("button", name="Deploy sample model")).to_be_enabled()
    expect(page.get_by_text(re.compile("^([0-9A-F]{2}:){31}[0-9A-F]{2}$"))).to_be_visible()
    assert "#" not in page.url


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """An installation that nobody has used yet."""
    running = Product(Path(tmp_path_factory.mktemp("new-user-home")))
    try:
        running.start()
        yield running
    finally:
        running.stop()


def test_four_clicks_and_two_minutes_are_enough(
    empty: Product, browser: Browser, tmp_path: Path
) -> None:
    watched = WatchedPage(browser, empty.url, expected=("/logs?",))
    page = watched.page
    page.add_init_script(COUNT)
    try:
        began = time.monotonic()
        set_up(page, empty)
        wizard.drop(page, tiny_model.write(tmp_path / "first.onnx"))
        deploy = page.get_by_role("button", name="Deploy with defaults")
        deploy.click(timeout=wizard.INSPECT_MS)
        wizard.must_be_live(page, "first")
        outputs = wizard.sample(page)
        took = time.monotonic() - began
        clicks = int(page.evaluate("() => sessionStorage.getItem('clicks') ?? 0"))
    finally:
        watched.close()
    assert tiny_model.OUTPUT in outputs
    assert 0 < clicks <= MOST_CLICKS
    assert took < MOST_S
    assert watched.troubles == []
    the_link_is_dead(empty, browser)


def the_link_is_dead(product: Product, browser: Browser) -> None:
    later = WatchedPage(browser, product.url)
    try:
        later.page.goto(product.first_visit)
        expect(later.page.get_by_role("heading", name="Shoal is set up already")).to_be_visible()
        later.page.get_by_role("link", name="Sign in").click()
        expect(later.page.get_by_role("heading", name="Sign in to Shoal")).to_be_visible()
    finally:
        later.close()
    assert later.troubles == []
