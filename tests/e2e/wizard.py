"""The wizard as a person uses it, in words."""

import base64
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, Response, expect

from tests.e2e.product import Product

INSPECT_MS = 90_000
DEPLOY_MS = 180_000
DROP = """
({ name, content }) => {
  const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const fire = (kind) => document.body.dispatchEvent(
    new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  fire("dragover");
  fire("drop");
}
"""


def sign_in(page: Page, product: Product) -> None:
    page.goto("/")
    page.get_by_label("User name").fill(product.client["username"])
    page.get_by_label("Password", exact=True).fill(product.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Deploy", exact=True)).to_be_visible()


def drop(page: Page, path: Path) -> None:
    """Let go of a file somewhere on the page."""
    content = base64.b64encode(path.read_bytes()).decode()
    page.evaluate(DROP, {"name": path.name, "content": content})


def upload(page: Page, *paths: Path) -> None:
    page.goto("/deploy/new")
    page.get_by_label("Model file").set_input_files(list(paths))


def to_configuration(page: Page) -> None:
    proceed = page.get_by_role("button", name="Continue to configuration")
    expect(proceed).to_be_enabled(timeout=INSPECT_MS)
    proceed.click()


def to_placement(page: Page) -> None:
    """It is loaded once meanwhile."""
    proceed = page.get_by_role("button", name="Continue to placement")
    expect(proceed).to_be_enabled(timeout=INSPECT_MS)
    proceed.click()
    at_placement(page)


def at_placement(page: Page) -> None:
    there = page.get_by_role("heading", name="Step 4 of 5: Placement")
    refused = alerts(page)
    expect(there.or_(refused).first).to_be_attached(timeout=DEPLOY_MS)
    assert there.count() == 1, refused.first.inner_text()


def to_deployment(page: Page) -> None:
    proceed = page.get_by_role("button", name="Continue to deployment")
    expect(proceed).to_be_enabled()
    proceed.click()


def discard(page: Page) -> None:
    """Returns when the server has answered: a page that is closed before has no answer to check."""
    with page.expect_response(_discards) as answered:
        page.get_by_role("button", name="Discard draft").click()
    assert answered.value.ok
    expect(page.get_by_text("Drop a model here")).to_be_visible()


def _discards(response: Response) -> bool:
    return response.request.method == "DELETE" and "/api/v1/drafts/" in response.url


def alerts(page: Page) -> Locator:
    """What the page itself says, not the messages in its corner."""
    return page.locator("main").get_by_role("alert")


def deploy(page: Page) -> None:
    """Press the button and wait until it has worked or not."""
    page.get_by_role("button", name=re.compile(r"^Deploy \S+ (at \d+ %|and roll it out)$")).click()
    live = page.get_by_role("heading", name=re.compile("is live$"))
    failed = alerts(page)
    expect(live.or_(failed).first).to_be_visible(timeout=DEPLOY_MS)


def must_be_live(page: Page, endpoint: str) -> None:
    live = page.get_by_role("heading", name=f"{endpoint} is live")
    failed = alerts(page)
    expect(live.or_(failed).first).to_be_visible(timeout=DEPLOY_MS)
    assert live.is_visible(), failed.first.inner_text()


def sample(page: Page) -> str:
    """Send the sample request; returns what is shown of the outputs."""
    page.get_by_role("button", name="Send a sample request").click()
    outputs = page.get_by_role("list", name="Outputs")
    expect(outputs.or_(alerts(page)).first).to_be_visible(timeout=DEPLOY_MS)
    assert outputs.is_visible(), alerts(page).first.inner_text()
    return outputs.inner_text()
