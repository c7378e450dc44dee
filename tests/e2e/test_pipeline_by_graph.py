"""An ensemble is changed by its drawing: the text says the same, is kept, and answers so."""

import re
from pathlib import Path

import numpy
import tritonclient.http as triton
from playwright.sync_api import Browser, Page, expect

from shoal.client.packing import packaged
from tests.e2e import wizard, wizard_models
from tests.e2e.accessibility import violations
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.e2e.served import client_of

NAME = "by-graph"
WORDS = "scored by the third step"
SAVED_MS = 30_000


def choose(page: Page, label: str, option: str) -> None:
    """By the keyboard alone, as the list may be long."""
    box = page.get_by_role("combobox", name=label, exact=True)
    box.focus()
    box.press("ArrowDown")
    page.get_by_role("option", name=re.compile(option)).click()


def change(page: Page) -> None:
    """Another step makes the output, the one that made it goes, and a tensor has a new name."""
    called = page.get_by_role("listitem", name="Step 1. prepare").get_by_label("y is called")
    called.fill("RAW")
    called.press("Enter")
    expect(page.get_by_text("Another tensor is called RAW")).to_be_visible()
    called.fill("washed")
    called.press("Enter")
    goes = page.get_by_text(re.compile("^washed, .*goes from prepare to score$"))
    expect(goes).to_have_count(1)

    choose(page, "Add a step", "^score$")
    # whoever clicks twice wants one step
    page.get_by_role("button", name="Add", exact=True).dblclick()
    expect(page.get_by_role("listitem", name=re.compile("^Step "))).to_have_count(3)
    added = page.get_by_role("listitem", name="Step 3. score")
    expect(added).to_contain_text("input_map is missing")
    expect(page.get_by_role("button", name=re.compile("^Save as"))).to_be_disabled()
    added.get_by_role("combobox", name="x takes").click()
    page.get_by_role("option", name=re.compile("^washed")).click()
    expect(goes).to_have_count(2)
    page.get_by_role("button", name="Remove step 2. score").click()
    expect(page.get_by_text("No step makes SCORES")).to_be_visible()
    choose(page, "Output SCORES comes from", "^y of score")
    expect(page.get_by_text("No problems. The configuration fits the model.")).to_be_visible()


def test_a_graph_is_edited_and_kept_as_a_revision(
    product: Product, browser: Browser, tmp_path: Path
) -> None:
    with client_of(product) as client:
        package = packaged(wizard_models.ensemble(tmp_path), serve_as="pipeline")
        client.register_model(NAME, client.upload_package(package)["id"])
        watched = WatchedPage(browser, product.url)
        page = watched.page
        try:
            wizard.sign_in(page, product)
            page.goto(f"/models/{NAME}/versions/1/overview")
            expect(page.get_by_role("region", name="Ensemble graph")).to_be_visible()
            assert violations(page) == []
            page.get_by_role("link", name="Edit the steps").click()
            change(page)
            written = page.locator(".cm-content")
            expect(written).to_contain_text('key: "y" value: "washed"')
            expect(written).to_contain_text('key: "x" value: "washed"')
            assert violations(page) == []
            watched.shoot("pipeline-changed")

            page.go_back()
            leave = page.get_by_role("dialog", name="Changes that are not saved")
            leave.get_by_role("button", name="Cancel").click()
            expect(written).to_contain_text('key: "x" value: "washed"')
            page.get_by_label("What changes, in a few words").fill(WORDS)
            page.get_by_role("button", name="Save as revision 1").dblclick()
            revisions = page.get_by_role("table", name="Revisions")
            kept = revisions.get_by_role("row", name=re.compile(WORDS))
            expect(kept).to_contain_text("shown", timeout=SAVED_MS)
            page.reload()
            expect(written).to_contain_text('key: "x" value: "washed"')
            expect(page.get_by_role("button", name="Save as revision 2")).to_be_disabled()
            page.get_by_role("link", name="Overview", exact=True).last.click()
            tensor = page.get_by_text(re.compile("^washed, .*goes from prepare to score$"))
            expect(tensor).to_be_attached()
        finally:
            watched.close()
        (revision,) = client.get_model_version(NAME, 1)["config_revisions"]
        assert list(revision["configs"]) == ["pipeline"]
        client.create_endpoint(NAME)
        asked = {"name": "blue", "model": NAME, "version": "1", "traffic": 100}
        client.wait_operation(client.create_deployment(NAME, {**asked, "config_revision": 1}))
        key = client.get_keys(NAME)["primaryKey"]
    assert watched.troubles == []
    values = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
    address = product.client["gateway_plain_url"].removeprefix("http://")
    with triton.InferenceServerClient(f"{address}/endpoints/{NAME}") as stock:
        tensor = triton.InferInput("RAW", [2, 4], "FP32")
        tensor.set_data_from_numpy(values)
        answer = stock.infer("pipeline", [tensor], headers={"Authorization": f"Bearer {key}"})
    numpy.testing.assert_array_equal(answer.as_numpy("SCORES"), values)
