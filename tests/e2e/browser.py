"""A page that remembers everything that went wrong on it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WINDOW = {"width": 1440, "height": 900}
ACTION_MS = 20_000
REPAINT_MS = 2_500


def executable() -> str:
    for name in ("chromium", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise RuntimeError("The browser test needs chromium or google-chrome on the PATH.")


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class WatchedPage:
    """``troubles`` holds console errors, uncaught exceptions and failed requests.

    ``expected`` are parts of addresses whose failure belongs to the story.
    """

    def __init__(self, browser: Browser, base_url: str, *, expected: tuple[str, ...] = ()) -> None:
        self.troubles: list[str] = []
        self.expected = expected
        self.context = browser.new_context(
            base_url=base_url, viewport=WINDOW, color_scheme="light", reduced_motion="reduce"
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(ACTION_MS)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.troubles.append(f"exception: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._answered)

    def close(self) -> None:
        self.context.close()

    @property
    def takes_pictures(self) -> bool:
        return bool(os.environ.get("SHOAL_SCREENSHOTS"))

    def shoot(self, name: str) -> None:
        """Light and dark pictures into $SHOAL_SCREENSHOTS; nothing when that is not set."""
        folder = os.environ.get("SHOAL_SCREENSHOTS")
        if not folder:
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.page.evaluate("document.fonts.ready")
        for scheme in ("dark", "light"):
            self.page.emulate_media(color_scheme=scheme)
            # Charts are drawn anew in the other colours with the next frame of live data.
            self.page.wait_for_timeout(REPAINT_MS)
            self.page.screenshot(path=Path(folder) / f"{name}-{scheme}.png")

    def _console(self, message: ConsoleMessage) -> None:
        where = message.location.get("url", "")
        if message.type == "error" and not self._is_expected(where):
            self.troubles.append(f"console: {message.text} ({where})")

    def _failed(self, request: Request) -> None:
        # A page that is left gives up what it was still asking: that is no failure.
        if request.failure != "net::ERR_ABORTED" and not self._is_expected(request.url):
            self.troubles.append(f"request: {request.method} {request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and not self._is_expected(response.url):
            self.troubles.append(f"answer: {response.status} for {response.url}")

    def _is_expected(self, url: str) -> bool:
        return any(part in url for part in self.expected)
