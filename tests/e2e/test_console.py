"""The test console on every datatype: what is typed is what comes back."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from shoal.client import Client
from tests.e2e import console_zoo
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.e2e.served import client_of

ENDPOINT = "zoo"
TYPED = {
    "UINT8": ("0", "255"),
    "UINT16": ("0", "65535"),
    "UINT32": ("0", "4294967295"),
    "UINT64": ("0", "18446744073709551615"),
    "INT8": ("-128", "127"),
    "INT16": ("-32768", "32767"),
    "INT32": ("-2147483648", "2147483647"),
    "INT64": ("-9223372036854775808", "9007199254740993"),
    "FP16": ("0.5", "-65504"),
    "BF16": ("1.5", "-3.140625"),
    "FP32": ("0.25", "-Infinity"),
    "FP64": ("0.1", "NaN"),
    "BYTES": ("grüße", 'a "quoted" word'),
}
TOO_MUCH = {"UINT8": "256", "INT8": "-129", "INT64": "9223372036854775808", "FP16": "70000"}


@pytest.fixture(scope="module")
def zoo(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The endpoint "zoo" with all models of the repository."""
    with client_of(product) as client:
        client.deploy(console_zoo.write(tmp_path_factory.mktemp("zoo") / "zoo.zip"), ENDPOINT)
        yield client
        client.wait_operation(client.delete_endpoint(ENDPOINT))


@pytest.fixture
def watched(zoo: Client, product: Product, browser: Browser) -> Iterator[WatchedPage]:
    watched = WatchedPage(browser, product.url)
    page = watched.page
    page.goto(f"/test?endpoint={ENDPOINT}")
    page.get_by_label("User name").fill(product.client["username"])
    page.get_by_label("Password", exact=True).fill(product.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Request")).to_be_visible()
    try:
        yield watched
    finally:
        watched.close()
    assert watched.troubles == []


def choose(page: Page, label: str, value: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=value, exact=True).click()


def open_model(page: Page, name: str) -> None:
    choose(page, "Model", name)
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_value(name)


def pick(page: Page, group: str, choice: str) -> None:
    page.get_by_role("radiogroup", name=group).get_by_text(choice, exact=True).click()


def send(page: Page) -> None:
    before = page.get_by_role("button", name=re.compile("answered")).count()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("answered"))).to_have_count(before + 1)


def output(page: Page, name: str = "OUTPUT0") -> Locator:
    return page.get_by_role("region", name=f"Output {name}")


def answer(page: Page, name: str = "OUTPUT0") -> dict[str, Any]:
    """The output as JSON, as the page shows it."""
    pick(page, f"View of {name}", "JSON")
    shown: dict[str, Any] = json.loads(
        page.get_by_role("region", name=f"{name} as JSON").inner_text()
    )
    return shown


@pytest.mark.parametrize("protocol", ["HTTP", "gRPC"])
def test_every_datatype_comes_back_to_the_digit(watched: WatchedPage, protocol: str) -> None:
    page = watched.page
    for datatype, typed in TYPED.items():
        open_model(page, f"echo_{datatype.lower()}")
        pick(page, "Protocol", protocol)
        for column, text in enumerate(typed):
            page.get_by_label(f"INPUT0, value {column}", exact=True).fill(text)
        send(page)
        found = answer(page)
        assert (found["datatype"], found["shape"]) == (datatype, [2])
        exact = [str(value) for value in found["data"]]
        assert exact == list(typed), datatype
    open_model(page, "echo_bool")
    page.get_by_role("checkbox", name="INPUT0, value 1").check()
    send(page)
    assert answer(page)["data"] == [False, True]


def test_what_does_not_fit_is_said_before_it_is_sent(watched: WatchedPage) -> None:
    page = watched.page
    for datatype, text in TOO_MUCH.items():
        open_model(page, f"echo_{datatype.lower()}")
        page.get_by_label("INPUT0, value 0", exact=True).fill(text)
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        expect(page.get_by_role("region", name="Input INPUT0")).to_contain_text(text)
    watched.shoot("console-refused")


def test_a_table_takes_what_a_sheet_program_copies(watched: WatchedPage) -> None:
    page = watched.page
    open_model(page, console_zoo.MATRIX)
    grid = page.get_by_role("grid", name="Table of INPUT0")
    expect(grid).to_have_attribute("aria-rowcount", "7")
    grid.focus()
    page.keyboard.press("Control+ArrowRight")
    page.keyboard.press("ArrowLeft")
    paste(grid, "1.5\t2.5\n3.5\tNaN\n")
    page.keyboard.press("Control+Home")
    page.keyboard.type("42")
    page.keyboard.press("Enter")
    send(page)
    found = numpy.array(answer(page)["data"], dtype=float).reshape(6, 40)
    assert found[0, 0] == 42
    numpy.testing.assert_array_equal(found[:2, 38:], [[1.5, 2.5], [3.5, numpy.nan]])
    pick(page, "View of OUTPUT0", "Heat-map")
    heat = page.get_by_role("img", name="Heat-map of OUTPUT0")
    heat.hover(position={"x": 2, "y": 2})
    expect(output(page)).to_contain_text("row 0, column 0: 42")
    watched.shoot("console-heat-map")
    pick(page, "View of OUTPUT0", "Table")
    expect(output(page)).to_contain_text("NaN 1")


def paste(target: Locator, text: str) -> None:
    target.evaluate(
        """(node, text) => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            node.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        text,
    )


def test_npy_goes_in_and_out(watched: WatchedPage, tmp_path: Path) -> None:
    page = watched.page
    open_model(page, console_zoo.FREE)
    values = numpy.arange(120_000, dtype=numpy.float32).reshape(300, 400)
    file = tmp_path / "values.npy"
    numpy.save(file, values)
    pick(page, "How to fill INPUT0", "File")
    page.get_by_label("File for INPUT0").set_input_files(file)
    expect(page.get_by_role("region", name="Input INPUT0")).to_contain_text("300 × 400, FP32")
    send(page)
    pick(page, "View of OUTPUT0", "Table")
    expect(output(page)).to_contain_text("values 120,000")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download OUTPUT0.npy").click()
    numpy.testing.assert_array_equal(numpy.load(io.BytesIO(saved(download.value))), values)


def saved(download: Any) -> bytes:
    return Path(download.path()).read_bytes()


def test_pictures_arrive_as_the_model_wants_them(watched: WatchedPage, tmp_path: Path) -> None:
    page = watched.page
    open_model(page, console_zoo.PICTURE)
    page.get_by_label("Picture for INPUT0").set_input_files(orange(page, tmp_path / "orange.png"))
    region = page.get_by_role("region", name="Input INPUT0")
    expect(region).to_contain_text("32 × 32 × 3, UINT8")
    choose(page, "Resize", "Stretch")
    choose(page, "Channels", "BGR")
    send(page)
    pixels = numpy.array(answer(page)["data"]).reshape(32, 32, 3)
    assert (pixels == [0, 128, 255]).all()
    pick(page, "View of OUTPUT0", "Picture")
    expect(page.get_by_role("img", name="Picture of OUTPUT0")).to_be_visible()
    choose(page, "Mask", "OUTPUT0")
    expect(page.get_by_role("img", name="INPUT0 with OUTPUT0")).to_be_visible()
    watched.shoot("console-picture")


def orange(page: Page, path: Path) -> Path:
    """A picture of 64 × 20 orange pixels, drawn by the browser."""
    url = page.evaluate(
        """() => {
            const canvas = document.createElement("canvas");
            canvas.width = 64;
            canvas.height = 20;
            const context = canvas.getContext("2d");
            context.fillStyle = "rgb(255 128 0)";
            context.fillRect(0, 0, 64, 20);
            return Array.from(atob(canvas.toDataURL("image/png").split(",")[1]), (c) =>
                c.charCodeAt(0));
        }"""
    )
    path.write_bytes(bytes(url))
    return path


def test_a_stream_shows_its_responses_as_they_come(watched: WatchedPage) -> None:
    page = watched.page
    open_model(page, console_zoo.REPEAT)
    expect(page.get_by_text("gRPC stream")).to_be_visible()
    fill_stream(page, count=300, delay_ms=100)
    page.get_by_role("button", name="Send", exact=True).click()
    responses = page.get_by_role("list", name="Responses").get_by_role("button")
    expect(responses.first).to_be_visible()
    # The first are shown while later ones are still to come.
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    watched.shoot("console-stream")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("The call was cancelled on the server")).to_be_visible()
    fill_stream(page, count=4, delay_ms=20)
    send(page)
    expect(page.get_by_text("responses 4")).to_be_visible()
    responses.nth(2).click()
    assert answer(page, "OUT")["data"] == [2]
    expect(page.get_by_text("the browser's and the studio's own")).to_be_visible()


def fill_stream(page: Page, *, count: int, delay_ms: int) -> None:
    for name, values in (("IN", range(count)), ("DELAY", [delay_ms] * count), ("WAIT", [0])):
        pick(page, f"How to fill {name}", "Paste")
        page.get_by_label(f"Values of {name}").fill(" ".join(str(value) for value in values))


def test_a_sequence_goes_on_from_call_to_call(watched: WatchedPage) -> None:
    page = watched.page
    open_model(page, console_zoo.SEQUENCE)
    page.get_by_label("Sequence id").fill("77")
    page.get_by_label("INPUT", exact=True).fill("5")
    totals = []
    for last in (False, False, True):
        if last:
            page.get_by_role("checkbox", name="End").check()
        send(page)
        totals.append(answer(page, "TOTAL")["data"][0])
    assert totals == [5, 10, 15]
    expect(page.get_by_label("Sequence id")).to_have_value("78")
    expect(page.get_by_role("checkbox", name="Start")).to_be_checked()


def save_the_long_ones(page: Page) -> None:
    open_model(page, "echo_int64")
    for column, text in enumerate(TYPED["INT64"]):
        page.get_by_label(f"INPUT0, value {column}", exact=True).fill(text)
    page.get_by_role("button", name="Cases").click()
    page.get_by_role("button", name="Save this call").click()
    page.get_by_label("Name", exact=True).fill("the long ones")
    page.get_by_role("button", name="Save", exact=True).click()


def test_a_saved_case_opens_for_others(watched: WatchedPage, zoo: Client) -> None:
    page = watched.page
    save_the_long_ones(page)
    expect(page).to_have_url(re.compile("preset="))
    page.goto(page.url)
    expect(page.get_by_label("INPUT0, value 1", exact=True)).to_have_value(TYPED["INT64"][1])
    send(page)
    assert [str(value) for value in answer(page)["data"]] == list(TYPED["INT64"])
    page.get_by_role("button", name="the long ones").first.click()
    watched.shoot("console-cases")
    page.get_by_role("button", name="Delete the case the long ones").click()
    expect(page).not_to_have_url(re.compile("preset="))
    assert zoo._get("/test-cases")["items"] == []


def test_a_case_expects_what_is_answered_and_is_asked_again(
    watched: WatchedPage, zoo: Client
) -> None:
    page = watched.page
    save_the_long_ones(page)
    row = page.get_by_role("table", name="Golden cases").get_by_role("row", name="the long ones")
    expect(row).to_contain_text("expects nothing")
    page.get_by_role("button", name="Actions for the case the long ones").click()
    page.get_by_role("menuitem", name="Expect what").click()
    expect(row).to_contain_text("not asked")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(row).to_contain_text("As expected")
    watched.shoot("console-golden")
    (saved,) = zoo._get("/test-cases")["items"]
    assert saved["golden"]
    zoo._transport.json("DELETE", f"/test-cases/{saved['id']}")


def test_the_code_makes_the_same_call(watched: WatchedPage, product: Product, zoo: Client) -> None:
    page = watched.page
    open_model(page, "echo_fp32")
    for column, text in enumerate(("0.25", "-8")):
        page.get_by_label(f"INPUT0, value {column}", exact=True).fill(text)
    pick(page, "View of the request", "Code")
    key = zoo.get_keys(ENDPOINT)["primaryKey"]
    for language in ("Python requests", "tritonclient HTTP", "tritonclient gRPC"):
        choose(page, "Language", language)
        code = page.get_by_role("region", name=f"{language} of this call").inner_text()
        assert "0.25" in run_python(code, key), language
    watched.shoot("console-code")
    pick(page, "View of the request", "JSON")
    page.get_by_label("Request as JSON").fill(
        '{"inputs": [{"name": "INPUT0", "shape": [3], "datatype": "FP32", "data": [1, 2, 3]}]}'
    )
    expect(page.get_by_text("3 sent, 2 expected (axis 1)")).to_be_visible()


def run_python(code: str, key: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "ENDPOINT_KEY": key},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_answers_are_compared(watched: WatchedPage) -> None:
    page = watched.page
    open_model(page, "echo_fp32")
    for text in ("1", "4"):
        page.get_by_label("INPUT0, value 0", exact=True).fill(text)
        send(page)
    page.get_by_role("button", name=re.compile("Compare with the answer of")).first.click()
    row = page.get_by_role("table", name="Difference of two answers").get_by_role("row").nth(1)
    expect(row).to_contain_text("1 of 2")
    expect(row).to_contain_text("3")
