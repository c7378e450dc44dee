"""From an empty installation to a tested endpoint: how long it takes, and how many clicks."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

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
        wizard.sign_in(page, empty)
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
