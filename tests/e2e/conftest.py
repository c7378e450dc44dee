"""One running product and one browser for the whole session."""

import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import WatchedPage, chromium
from tests.e2e.product import ROOT, Product

# Minutes, of one test and with no product of ours: begun last, all would wait for it.
LONGEST = "test_examples.py"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first; `make e2e` hands files out in this order."""
    items.sort(key=lambda item: item.path.name != LONGEST)


@pytest.fixture(scope="session")
def product(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    if not (ROOT / "frontend" / "dist" / "index.html").exists():
        pytest.fail("The studio is not built: run `make studio` first.")
    running = Product(
        Path(tmp_path_factory.mktemp("shoal-home")),
        # where the files lie that are imported, and who is told of alerts
        {"SHOAL_IMPORT_NETWORKS": "127.0.0.1", "SHOAL_ALERT_NETWORKS": "127.0.0.1"},
    )
    try:
        running.start()
        yield running
    finally:
        if request.session.testsfailed:
            sys.stderr.write(running.last_words())
        running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed shows what was on its page, as a screen reader would have read it."""
    report = yield
    if report.failed and call.when == "call":
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, WatchedPage):
                seen = value.page.locator("body").aria_snapshot()
                report.sections.append((f"page of {name}", seen))
    return report
