"""The whole wizard without a mouse, and what its last step asks for beside the address."""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.e2e import keyboard, tiny_model, wizard
from tests.e2e.accessibility import violations
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product

NAME = "keys-only"


def at_step(page: Page, number: int, title: str) -> None:
    heading = page.get_by_role("heading", name=f"Step {number} of 5: {title}")
    expect(heading).to_be_focused(timeout=wizard.INSPECT_MS)


def go_on(page: Page, words: str) -> None:
    expect(page.get_by_role("button", name=words)).to_be_enabled(timeout=wizard.INSPECT_MS)
    page.keyboard.press("Control+Enter")


def answer_choosers(page: Page, path: Path) -> None:
    """From now on: if told with the key only, the browser may have opened its own by then."""
    page.on("filechooser", lambda chooser: chooser.set_files(path))


def fold_out_and_in(page: Page) -> None:
    """A list closes on Escape, and takes nothing else with it."""
    keyboard.tab_to(page, page.get_by_role("combobox", name="Instance type"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)


def set_limits_and_variables(page: Page) -> None:
    forward = page.get_by_role("button", name="Deploy blue at 100 %")
    keyboard.press(page, page.locator("summary", has_text="Requests"))
    timeout = page.get_by_label("Time-out")
    keyboard.write(page, timeout, "0")
    expect(page.get_by_text("0 is out of range: expected 1 to 3600000.")).to_be_visible()
    expect(forward).to_be_disabled()
    keyboard.write(page, timeout, "5000")
    expect(timeout).to_have_value("5,000")
    keyboard.press(page, page.locator("summary", has_text="Environment variables"))
    keyboard.press(page, page.get_by_role("button", name="Add a variable"))
    keyboard.write(page, page.get_by_label("Variable 1, name"), "TOKEN")
    keyboard.tab_to(page, page.get_by_role("checkbox", name="Secret"))
    page.keyboard.press("Space")
    keyboard.write(page, page.get_by_label("Variable 1, value", exact=True), "t0ken")
    expect(forward).to_be_enabled()
    assert violations(page) == []


def test_from_the_file_to_the_answer_without_a_mouse(
    product: Product, browser: Browser, tmp_path: Path
) -> None:
    watched = WatchedPage(browser, product.url, expected=("/logs?",))
    page = watched.page
    answer_choosers(page, tiny_model.write(tmp_path / f"{NAME}.onnx"))
    try:
        wizard.sign_in(page, product)
        keyboard.press(page, page.get_by_role("link", name="Deploy", exact=True))
        keyboard.press(page, page.get_by_role("button", name="Choose files"))
        at_step(page, 2, "Inspect")
        go_on(page, "Continue to configuration")
        at_step(page, 3, "Configure")
        go_on(page, "Continue to placement")
        at_step(page, 4, "Placement")
        fold_out_and_in(page)
        go_on(page, "Continue to deployment")
        at_step(page, 5, "Deploy")
        set_limits_and_variables(page)
        page.keyboard.press("Control+Enter")
        live = page.get_by_role("heading", name=f"{NAME} is live")
        expect(live).to_be_focused(timeout=wizard.DEPLOY_MS)
        keyboard.press(page, page.get_by_role("button", name="Send a sample request"))
        outputs = page.get_by_role("list", name="Outputs")
        expect(outputs).to_contain_text(tiny_model.OUTPUT, timeout=wizard.DEPLOY_MS)
        address = f"/api/v1/endpoints/{NAME}/deployments/blue"
        made = page.request.get(address).json()
    finally:
        watched.close()
    assert made["request_timeout_ms"] == 5000
    assert (made["environment"], made["secret_environment"]) == ({}, ["TOKEN"])
    assert watched.troubles == []
