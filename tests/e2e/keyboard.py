"""Someone without a mouse."""

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 120


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until it has the focus."""
    expect(wanted).to_be_enabled()
    for _ in range(MOST_TABS):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} is not reached by {MOST_TABS} tabs")


def press(page: Page, button: Locator) -> None:
    tab_to(page, button)
    page.keyboard.press("Enter")


def write(page: Page, box: Locator, text: str) -> None:
    tab_to(page, box)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
