"""One running product and one browser for the whole session."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import chromium
from tests.e2e.product import ROOT, Product


@pytest.fixture(scope="session")
def product(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    if not (ROOT / "frontend" / "dist" / "index.html").exists():
        pytest.fail("The studio is not built: run `make studio` first.")
    running = Product(Path(tmp_path_factory.mktemp("shoal-home")))
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
