"""An endpoint is looked after: who is told of what, a rollout that is judged, a policy."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tritonclient.utils import InferenceServerException

from shoal.client import Client, Problem
from tests.e2e import served, tiny_model, wizard
from tests.e2e.accessibility import violations
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.support.runtime_process import wait_until
from tests.support.webhook_receiver import Receiver

NAME, FAILING = "by-steps", "burns"
CHANNEL, REASON = "on-call", "the shelf is being mended"
FIRES_MS = 90_000  # looked for every 15 s
STEP_MS, SAVED_MS = 60_000, 30_000
SUMMED_UP_S = 150.0  # minutes that ended are, every 30 s
CONFIG = f"""backend: "python"
input {{ name: "{tiny_model.INPUT}" data_type: TYPE_FP32 dims: [ -1, {tiny_model.FEATURES} ] }}
output {{ name: "y" data_type: TYPE_FP32 dims: [ -1, {tiny_model.FEATURES} ] }}
"""
FAILS = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        failed = pb_utils.TritonError("a shelf is missing")
        return [pb_utils.InferenceResponse(error=failed) for _ in requests]
"""


@pytest.fixture(scope="module")
def client(product: Product) -> Iterator[Client]:
    with served.client_of(product) as made:
        yield made


@pytest.fixture(scope="module")
def key(client: Client, product: Product, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of an endpoint with two versions, of which one has been asked already."""
    made = served.blue_and_green(client, NAME, tmp_path_factory.mktemp(NAME))
    served.call(product, NAME, made, times=30, batch=1)
    return made


@pytest.fixture(scope="module")
def cookies(product: Product, browser: Browser) -> list[Any]:
    """Of somebody who is signed in."""
    watched = WatchedPage(browser, product.url)
    wizard.sign_in(watched.page, product)
    found = list(watched.context.cookies())
    watched.close()
    return found


@pytest.fixture
def watched(product: Product, browser: Browser, cookies: list[Any]) -> Iterator[WatchedPage]:
    """What went wrong on it fails the test at its end."""
    opened = WatchedPage(browser, product.url)
    opened.context.add_cookies(cookies)
    try:
        yield opened
    finally:
        opened.close()
    assert opened.troubles == []


def item(page: Page, of: str, name: str) -> None:
    """An entry of the menu of a row."""
    page.get_by_role("button", name=re.compile(f"^Actions for {of}")).click()
    page.get_by_role("menuitem", name=name).click()


def add_channel(page: Page, url: str) -> None:
    page.goto("/alerts?tab=channels")
    expect(page.get_by_text("Nobody is told of alerts yet")).to_be_visible()
    page.get_by_role("button", name="Add a channel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(CHANNEL)
    expect(dialog.get_by_role("button", name="Add it")).to_be_disabled()
    dialog.get_by_label("URL").fill(url)
    # why twice: the second is refused, and must not take the secret away that the first is shown
    dialog.get_by_role("button", name="Add it").dblclick()
    expect(dialog).to_contain_text("is shown only now")
    dialog.get_by_role("button", name="Done").click()
    item(page, CHANNEL, "Send a test")
    took = page.get_by_text(f"{CHANNEL} took the test: 200 in ")
    expect(took).to_be_visible(timeout=SAVED_MS)


def promise(page: Page) -> None:
    page.goto(f"/endpoints/{FAILING}")
    page.get_by_role("button", name="Set an objective").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("So many shall be good, %").fill("99")
    dialog.get_by_label("Name").fill("answered")
    dialog.get_by_role("button", name="Set answered").dblclick()
    row = page.get_by_role("table", name="Objectives").get_by_role("row", name="answered")
    expect(row).to_contain_text("99 %", timeout=SAVED_MS)


def alert(page: Page, table: str) -> Locator:
    rows = page.get_by_role("table", name=table).get_by_role("row")
    return rows.filter(has_text="Error budget burns fast").filter(has_text=FAILING)


def follow_its_links(page: Page) -> None:
    """To what to do and back, to what it is about and back."""
    row = alert(page, "Active alerts")
    row.get_by_role("link", name="What to do").click()
    expect(page).to_have_url(re.compile("rule=objective-fast-burn"))
    expect(page.get_by_role("heading", name="Error budget burns fast")).to_be_in_viewport()
    page.go_back()
    row.get_by_role("link", name=FAILING).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(FAILING)
    objective = page.get_by_role("table", name="Objectives").get_by_role("row", name="answered")
    expect(objective).to_contain_text("Burning")
    page.go_back()


def test_failures_are_told_silenced_and_history(
    product: Product, watched: WatchedPage, client: Client, tmp_path: Path
) -> None:
    page, receiver = watched.page, Receiver()
    model = tmp_path / FAILING
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text(CONFIG)
    (model / "1" / "model.py").write_text(FAILS)
    try:
        add_channel(page, f"{receiver.url}/hook")
        assert receiver.events() == ["test"]
        client.deploy(model, name=FAILING)
        promise(page)
        failing = client.get_keys(FAILING)["primaryKey"]
        for _ in range(12):
            with pytest.raises(InferenceServerException, match="a shelf is missing"):
                served.call(product, FAILING, failing, times=1, batch=1)
        page.goto("/alerts")
        row = alert(page, "Active alerts")
        expect(row).to_be_visible(timeout=FIRES_MS)
        wait_until(lambda: receiver.events().count("firing") > 0, "the channel is told")
        told = [json.loads(content) for _, _, content in receiver.got[1:]]
        assert {one["alert"]["subject"] for one in told} == {f"endpoint/{FAILING}"}
        assert violations(page) == []
        watched.shoot("alert-fires")
        follow_its_links(page)

        item(page, "Error budget burns fast", "Silence")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Silence", exact=True)).to_be_disabled()
        dialog.get_by_label("Reason").fill(REASON)
        page.keyboard.press("Enter")
        expect(row).to_contain_text("Silenced", timeout=SAVED_MS)
        page.get_by_role("radiogroup", name="Which").get_by_text("Silences").click()
        silence = page.get_by_role("row", name=re.compile(REASON))
        assert violations(page) == []
        silence.get_by_role("button", name="End now").dblclick()
        expect(silence).to_contain_text("ended", timeout=SAVED_MS)

        client.delete_objective(FAILING, "answered")
        page.goto("/alerts?tab=history")
        expect(alert(page, "Resolved alerts")).to_be_visible(timeout=FIRES_MS)
        assert violations(page) == []
    finally:
        client.delete_channel(CHANNEL)
        client.delete_endpoint(FAILING)
        receiver.close()


def begin(page: Page) -> None:
    item(page, "green", "Roll out step by step")
    dialog = page.get_by_role("dialog", name="Roll out green")
    steps = dialog.get_by_label("Steps, % of the traffic")
    steps.fill("50, 10, 100")
    expect(dialog.get_by_text("each more than the one before")).to_be_visible()
    steps.fill("10, 50, 100")
    dialog.get_by_label("Minutes that each step holds").fill("0")
    dialog.get_by_label(re.compile("^Requests in each step")).fill("20")
    dialog.get_by_role("button", name="Give green 10 %").dblclick()
    expect(dialog).to_have_count(0, timeout=SAVED_MS)
    expect(page.get_by_role("heading", name="Rollout of green")).to_be_visible()


def test_a_rollout_is_watched_held_taken_back_and_promoted(
    product: Product, watched: WatchedPage, client: Client, key: str
) -> None:
    page = watched.page
    page.goto(f"/endpoints/{NAME}/deployments")
    begin(page)
    waits = page.get_by_text("0 of 20 requests of green in this step: 20 are missing")
    expect(waits).to_be_visible(timeout=STEP_MS)
    assert violations(page) == []
    for deployment in ("blue", "green"):
        served.call(product, NAME, key, times=30, batch=1, deployment=deployment)
    # why not by the words of the verdict: those of the next one may stand there already
    expect(page.get_by_text("50 % of the traffic, begun by admin")).to_be_visible(timeout=STEP_MS)
    assert client.get_endpoint(NAME)["traffic"] == {"blue": 50, "green": 50}
    watched.shoot("rollout-judged")

    # a second click would go on again
    page.get_by_role("button", name="Pause", exact=True).dblclick()
    resume = page.get_by_role("button", name="Resume", exact=True)
    expect(resume).to_be_visible(timeout=SAVED_MS)
    other = watched.context.new_page()
    other.goto(f"/endpoints/{NAME}")
    other.get_by_role("button", name="Resume", exact=True).click()
    page.bring_to_front()
    pause = page.get_by_role("button", name="Pause", exact=True)
    expect(pause).to_be_visible(timeout=SAVED_MS)
    page.get_by_role("button", name="Abort").click()
    page.get_by_role("dialog").get_by_role("button", name="Back to blue 100 %").dblclick()
    aborted = page.get_by_text("aborted it: back to blue 100 %.").first
    expect(aborted).to_be_visible(timeout=SAVED_MS)
    expect(other.get_by_text("Aborted", exact=True).first).to_be_visible(timeout=SAVED_MS)
    other.close()
    assert client.get_endpoint(NAME)["traffic"]["blue"] == 100

    begin(page)
    page.get_by_role("button", name="Promote").click()
    page.get_by_role("dialog").get_by_role("button", name="Give green 100 %").click()
    done = page.get_by_text("Succeeded", exact=True).first
    expect(done).to_be_visible(timeout=SAVED_MS)
    assert client.get_endpoint(NAME)["traffic"]["green"] == 100
    assert violations(page) == []


def has_a_past(client: Client) -> bool:
    """Whether a minute of what was asked has ended, and is summed up."""
    policy = {"max": 4, "targets": {"in_flight": 2}}
    try:
        client.preview_autoscaling(NAME, "blue", autoscale=policy)
    except Problem:
        return False
    return True


def test_a_policy_is_previewed_and_kept(watched: WatchedPage, client: Client, key: str) -> None:
    page = watched.page
    wait_until(lambda: has_a_past(client), "a minute is summed up", SUMMED_UP_S)
    page.goto(f"/endpoints/{NAME}/settings")
    form = page.get_by_role("group", name="Autoscaling of blue")
    expect(form.get_by_text("Set one target or more.")).to_be_visible()
    form.get_by_label("At least", exact=True).fill("3")
    expect(form.get_by_text("At most 2 is less than at least 3.")).to_be_visible()
    form.get_by_label("At least", exact=True).fill("1")
    most = form.get_by_label("At most", exact=True)
    # as somebody does who types over a number
    most.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.keyboard.type("4")
    expect(most).to_have_value("4")
    form.get_by_label("Requests in flight").fill("2")
    form.get_by_role("button", name="Preview").click()
    told = form.get_by_text("Would have run 1 replica")
    expect(told).to_be_visible(timeout=SAVED_MS)
    assert violations(page) == []
    watched.shoot("policy-previewed")
    form.get_by_label("Requests in flight").fill("8")
    expect(told).to_have_count(0)
    form.get_by_role("button", name="Scale by this").dblclick()
    saved = page.get_by_text("The policy of blue is saved")
    expect(saved).to_be_visible(timeout=SAVED_MS)
    expect(form.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    page.goto(f"/endpoints/{NAME}/deployments")
    decided = page.get_by_role("note", name="Autoscaling of blue")
    expect(decided).to_contain_text("Autoscaled, 1 to 4: 1 replica", timeout=STEP_MS)
    policy = client.get_deployment(NAME, "blue")["autoscale"]
    assert policy is not None
    assert (policy["max"], policy["targets"]["in_flight"]) == (4, 8)
