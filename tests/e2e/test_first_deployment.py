"""The main job in the browser: a model file becomes a live endpoint that one can watch and test."""

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy
import tritonclient.http as triton
from playwright.sync_api import Browser, Page, expect

from tests.e2e import tiny_model, wizard
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product

ENDPOINT = "tiny-net"
DEPLOY_MS = 120_000
INSPECT_MS = 60_000
LIVE_S = 30.0
MAX_CALLS = 3000
PICTURE_LOAD_MS = 45_000


def test_a_file_becomes_a_live_endpoint(product: Product, browser: Browser, tmp_path: Path) -> None:
    watched = WatchedPage(browser, product.url, expected=("/logs?",))
    page = watched.page
    try:
        sign_in(page, product)
        upload_and_inspect(page, tiny_model.write(tmp_path / "tiny.onnx"), watched)
        configure(page, watched)
        key = deploy(page, watched)
        ask_in_the_console(page, watched)
        watch_it_live(page, product, key, watched)
    finally:
        watched.close()
    assert watched.troubles == []


def sign_in(page: Page, product: Product) -> None:
    page.goto("/")
    page.get_by_label("User name").fill(product.client["username"])
    page.get_by_label("Password", exact=True).fill(product.password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Deploy", exact=True).click()


def upload_and_inspect(page: Page, model: Path, watched: WatchedPage) -> None:
    expect(page.get_by_text("Drop a model here")).to_be_visible()
    watched.shoot("wizard-upload")
    page.get_by_label("Model file").set_input_files(model)
    proceed = page.get_by_role("button", name="Continue to configuration")
    expect(proceed).to_be_enabled(timeout=INSPECT_MS)
    expect(page.get_by_role("cell", name=tiny_model.INPUT)).to_be_visible()
    expect(page.get_by_role("cell", name=tiny_model.OUTPUT)).to_be_visible()
    watched.shoot("wizard-inspect")
    proceed.click()


def configure(page: Page, watched: WatchedPage) -> None:
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("max_batch_size")
    # The form patches the text, and what the text says is what the form shows.
    page.get_by_role("textbox", name="Max batch size").fill("8")
    expect(editor).to_contain_text("max_batch_size: 8")
    proceed = page.get_by_role("button", name="Continue to placement")
    expect(proceed).to_be_enabled()
    expect(page.get_by_text("Draft saved just now")).to_be_visible()
    watched.shoot("wizard-configure")
    page.reload()
    expect(page.get_by_role("textbox", name="Max batch size")).to_have_value("8")
    expect(proceed).to_be_enabled()
    proceed.click()
    wizard.at_placement(page)
    expect(page.get_by_text("1 replica fits")).to_be_visible()
    watched.shoot("wizard-placement")
    page.get_by_role("button", name="Continue to deployment").click()


def deploy(page: Page, watched: WatchedPage) -> str:
    """Deploys under the endpoint's name; returns the primary key that the page reveals."""
    page.get_by_label("Endpoint name").fill(ENDPOINT)
    start = page.get_by_role("button", name="Deploy blue at 100 %")
    expect(start).to_be_enabled()
    watched.shoot("wizard-deploy")
    start.click()
    live = page.get_by_role("heading", name=f"{ENDPOINT} is live")
    failed = page.locator("main").get_by_role("alert")
    expect(live.or_(failed)).to_be_visible(timeout=DEPLOY_MS)
    assert live.is_visible(), failed.inner_text()
    expect(page.get_by_role("region", name="curl call")).to_contain_text("curl")
    watched.shoot("wizard-live")
    page.get_by_role("button", name="Show the primary key").click()
    shown = page.locator("dd", has=page.get_by_role("button", name="Copy primary key"))
    return shown.inner_text().strip()


def ask_in_the_console(page: Page, watched: WatchedPage) -> None:
    page.get_by_role("link", name="Your own data").click()
    values = [1.0, 2.0, 3.0, 0.5]
    for column, value in enumerate(values):
        page.get_by_label(f"{tiny_model.INPUT}, value {column}").fill(str(value))
    for protocol in ("HTTP", "gRPC"):
        page.get_by_role("radiogroup", name="Protocol").get_by_text(protocol).click()
        page.keyboard.press("Control+Enter")
        result = page.get_by_role("region", name=f"Output {tiny_model.OUTPUT}")
        expect(page.get_by_role("button", name=re.compile(protocol))).to_be_visible()
        expect(result).to_be_visible()
    best = int(numpy.argmax(tiny_model.expected(numpy.array([values], dtype=numpy.float32))))
    expect(page.get_by_role("list", name="Classes").get_by_role("listitem").first).to_contain_text(
        str(best)
    )
    expect(page.get_by_text("the browser's and the studio's own")).to_be_visible()
    watched.shoot("console")


def watch_it_live(page: Page, product: Product, key: str, watched: WatchedPage) -> None:
    page.goto(f"/endpoints/{ENDPOINT}/overview?range=1m")
    tile = page.get_by_title("Increase of nv_inference_count per second")
    deadline = time.monotonic() + LIVE_S
    with steady_calls(product, key):
        while not shows_more_than_zero(tile.inner_text()):
            assert time.monotonic() < deadline, f"the panel shows {tile.inner_text()!r}"
            page.wait_for_timeout(200)
        if watched.takes_pictures:
            page.wait_for_timeout(PICTURE_LOAD_MS)
        watched.shoot("endpoint")


@contextmanager
def steady_calls(product: Product, key: str) -> Iterator[None]:
    """About twenty calls a second meanwhile; the first wrong answer fails the test at the end."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(call_until, stop, product, key)
        try:
            yield
        finally:
            stop.set()
        assert calls.result() > 0


def call_until(stop: threading.Event, product: Product, key: str) -> int:
    made = 0
    while made < MAX_CALLS and not stop.wait(0.05):
        call_with_stock_client(product, key)
        made += 1
    return made


def shows_more_than_zero(text: str) -> bool:
    found = re.search(r"\d[\d,.]*", text)
    return found is not None and float(found.group().replace(",", "")) > 0


def call_with_stock_client(product: Product, key: str) -> None:
    values = numpy.array([[1, 2, 3, 0.5], [0, -1, 4, 2]], dtype=numpy.float32)
    address = product.client["gateway_plain_url"].removeprefix("http://")
    with triton.InferenceServerClient(f"{address}/endpoints/{ENDPOINT}") as client:
        tensor = triton.InferInput(tiny_model.INPUT, list(values.shape), "FP32")
        tensor.set_data_from_numpy(values)
        answer = client.infer("tiny", [tensor], headers={"Authorization": f"Bearer {key}"})
    numpy.testing.assert_allclose(
        answer.as_numpy(tiny_model.OUTPUT), tiny_model.expected(values), rtol=1e-4
    )
