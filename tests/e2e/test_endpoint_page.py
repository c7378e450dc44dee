"""The endpoint's page on a real product: moving traffic, going back, figures that are true."""

import csv
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tritonclient.utils import InferenceServerException

from shoal.client import Client, Problem
from tests.e2e import served, tiny_model
from tests.e2e.accessibility import violations
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.support.runtime_process import wait_until

NAME, TUNED = "colours", "tuned"
# refused at first: whoever tunes on a node that serves must say that clients may wait
ASKED_FIRST = f"/api/v1/endpoints/{TUNED}/deployments/blue/tunings"
REQUESTS, BATCH = 200, 4
CHANGE_MS = 90_000
SETTLE_MS = 6_000
READ_TRIES, READ_EVERY_MS = 40, 250
STEP_S = 2
SAMPLED_S = 60.0
SIGN_IN_MS = 30_000
OPENS_S = 30.0
POLLS_MS = 30_000


@dataclass
class Served:
    client: Client
    key: str


@pytest.fixture(scope="module")
def endpoint(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served.client_of(product) as client:
        key = served.blue_and_green(client, NAME, tmp_path_factory.mktemp("colours"))
        yield Served(client, key)


@pytest.fixture(scope="module")
def cookies(product: Product, browser: Browser) -> list[Any]:
    """Of somebody who is signed in."""
    watched = WatchedPage(browser, product.url)
    page = watched.page
    page.goto("/")
    page.get_by_label("User name").fill(product.client["username"])
    page.get_by_label("Password", exact=True).fill(product.password)
    page.get_by_role("button", name="Sign in").click()
    link = page.get_by_role("link", name="Deploy", exact=True)
    expect(link).to_be_visible(timeout=SIGN_IN_MS)
    found = list(watched.context.cookies())
    watched.close()
    return found


@pytest.fixture
def page(product: Product, browser: Browser, cookies: list[Any]) -> Iterator[Page]:
    """What went wrong on it fails the test at its end."""
    watched = WatchedPage(browser, product.url, expected=(ASKED_FIRST,))
    watched.context.add_cookies(cookies)
    try:
        yield watched.page
    finally:
        watched.close()
    assert watched.troubles == []


def test_traffic_moves_to_green_and_back(page: Page, endpoint: Served, product: Product) -> None:
    served.call(product, NAME, endpoint.key, times=20, batch=1)
    page.goto(f"/endpoints/{NAME}/deployments")
    shares = page.get_by_role("group", name="Share of green")
    shares.get_by_role("button", name="10 %").click()
    page.get_by_role("button", name="Apply 90 / 10").click()
    dialog = page.get_by_role("dialog", name="Move traffic")
    expect(dialog).to_contain_text(re.compile("(move|go) to green"))
    expect(dialog.get_by_role("table", name="How the deployments did")).to_contain_text("blue")
    dialog.get_by_role("button", name="Apply 90 / 10").click()
    undo = page.get_by_role("button", name="Undo: back to 100 / 0")
    expect(undo).to_be_visible()
    assert endpoint.client.get_endpoint(NAME)["traffic"] == {"blue": 90, "green": 10}
    undo.click()
    expect(page.get_by_role("img", name="Traffic: blue 100 %").first).to_be_visible()
    assert endpoint.client.get_endpoint(NAME)["traffic"]["blue"] == 100


def test_green_is_measured_under_load(page: Page, endpoint: Served) -> None:
    page.goto(f"/endpoints/{NAME}/load?dep=green")
    page.get_by_role("textbox", name=re.compile("^Levels")).fill("1, 2, 4")
    page.get_by_role("textbox", name="Seconds at each level").fill("0.5")
    page.get_by_role("button", name="Measure").click()
    points = page.get_by_role("table", name="Points", exact=True)
    expect(points.get_by_role("row")).to_have_count(4, timeout=POLLS_MS)
    expect(page.get_by_text("The knee is at")).to_be_visible(timeout=POLLS_MS)
    assert violations(page) == []
    (sweep,) = endpoint.client.list_sweeps(NAME, "green")
    assert (sweep["state"], sweep["measured"], sweep["traffic"]) == ("Succeeded", 3, 0)
    measured = endpoint.client.get_sweep(sweep["id"])["points"]
    assert all(one["good"] > 10 and not one["errors"] and one["batch"] for one in measured)


def test_a_better_configuration_is_sought_and_rolled_out(
    page: Page, endpoint: Served, tmp_path: Path
) -> None:
    client = endpoint.client
    client.deploy(tiny_model.write(tmp_path / "model.onnx"), name=TUNED, deployment="blue")
    page.goto(f"/endpoints/{TUNED}/load?dep=blue&lab=tune")
    for name, value in (
        ("Requests at a time", "4"), ("Seconds at each level", "0.5"), ("Instances", "1, 2"),
        ("Queue delays", "0, 500"), ("Configurations at most", "3"),
    ):  # fmt: skip
        page.get_by_role("textbox", name=re.compile(f"^{name}")).fill(value)
    begin = page.get_by_role("button", name="Tune", exact=True)
    begin.click()
    page.get_by_role("checkbox", name=re.compile("Tune all the same")).check()
    begin.click()
    expect(page.get_by_text("configurations measured. Measuring")).to_be_visible(timeout=POLLS_MS)
    apply = page.get_by_role("button", name="Apply", exact=True)
    expect(apply).to_be_visible(timeout=CHANGE_MS)
    measured = page.get_by_role("table", name="Configurations that were measured")
    assert violations(page) == []
    # which of them is best is the machine's affair: any but today's will do
    measured.locator("tbody tr", has_not_text="today").first.click()
    apply.click()
    expect(page.get_by_text("Nothing that serves has changed yet")).to_be_visible()
    page.get_by_role("button", name="Roll out").click()
    page.get_by_role("button", name="Run configuration 1").click()
    expect(page.get_by_text("configuration revision 1, which blue runs")).to_be_visible(
        timeout=CHANGE_MS
    )
    (summary,) = client.list_tunings(TUNED, "blue")
    tuning = client.get_tuning(summary["id"])
    assert (tuning["state"], len(tuning["runs"]), tuning["applied"]) == ("Succeeded", 3, 1)
    assert all(run["throughput"] > 10 for run in tuning["runs"])
    client.wait_operation(client.delete_endpoint(TUNED), timeout_s=60)


def test_one_request_is_looked_into_and_sent_again(
    page: Page, endpoint: Served, product: Product
) -> None:
    found: dict[str, Any] = {}

    def kept() -> bool:
        """By gateway and replica, with what was sent."""
        # why again: which of them are told of by both is chance, and nothing is kept before
        # somebody has looked
        served.call(product, NAME, endpoint.key, times=4, batch=1, deployment="green")
        for seen in endpoint.client.list_requests(NAME, deployment="green", status="2xx"):
            story = endpoint.client.get_request(NAME, seen["id"])[0]
            with suppress(Problem):  # the file that it is in is not here yet
                endpoint.client.captured_request(NAME, "green", seen["id"], at=seen["at"])
                if story["trace"] is not None and story["seen"] is not None:
                    found.update(seen)
                    return True
        return False

    wait_until(kept, "a request that is told of whole", 60)
    page.goto(f"/endpoints/{NAME}/requests")
    page.get_by_role("textbox", name="x-request-id").fill(found["id"])
    page.get_by_role("table", name="Requests").get_by_text(found["id"][:8]).click()
    way = page.get_by_role("region", name="Where its time went")
    for part in ("Queue", "Compute"):
        expect(way.get_by_role("row", name=part).first).to_be_visible()
    expect(page.get_by_role("dialog", name="Request")).to_contain_text("green")
    assert violations(page) == []
    page.get_by_role("link", name="Open in console").click()
    expect(page.get_by_text(f"those of the captured request {found['id']}")).to_be_visible()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("answered"))).to_have_count(1)


def test_one_input_goes_to_both(page: Page, endpoint: Served) -> None:
    page.goto(f"/endpoints/{NAME}/test?dep=blue")
    page.get_by_role("combobox", name="and compare with").click()
    page.get_by_role("option", name="green").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Send to both").click()
    green = page.get_by_role("region", name="Answer of green")
    expect(page.get_by_role("region", name="Answer of blue")).to_be_visible()
    # the same weights in both versions
    expect(green).to_contain_text("Equal")
    assert violations(page) == []


def test_what_is_idle_and_what_would_be_lost(page: Page, endpoint: Served) -> None:
    page.goto("/capacity")
    (node,) = endpoint.client.list_nodes()
    page.get_by_role("checkbox", name=f"What if {node['name']} were lost").check()
    lost = page.get_by_role("region", name="If these nodes were lost")
    expect(lost).to_contain_text(f"{NAME}: 100 % of its traffic fails until there is a place")
    page.get_by_role("button", name=f"How many more fit? Replicas of {NAME}/blue").click()
    expect(page.get_by_text(re.compile(r"\d+ more replicas?\b.* 1 node"))).to_be_visible()
    assert violations(page) == []


def test_copies_go_to_green_until_they_are_stopped(page: Page, endpoint: Served) -> None:
    page.goto(f"/endpoints/{NAME}/deployments")
    mirror = page.get_by_role("group", name="Mirror")
    mirror.get_by_role("button", name="Start mirroring").click()
    expect(mirror).to_contain_text("green gets copies of 10 % now")
    assert endpoint.client.get_endpoint(NAME)["mirror_traffic"] == {"green": 10}
    mirror.get_by_role("button", name="Stop").click()
    expect(mirror).to_contain_text("answers of copies are thrown away")
    assert endpoint.client.get_endpoint(NAME)["mirror_traffic"] == {}


def test_a_rule_sends_testers_to_green_which_makes_it_an_arm(page: Page, endpoint: Served) -> None:
    page.goto(f"/endpoints/{NAME}/deployments")
    form = page.get_by_role("form", name="Rules and sticky clients")
    form.get_by_role("button", name="Add a rule").click()
    rule = form.get_by_role("listitem", name="Rule 1")
    rule.get_by_role("textbox", name="Header").fill("x-group")
    rule.get_by_role("textbox", name="Value").fill("testers")
    rule.get_by_role("combobox", name="Deployment that answers").click()
    page.get_by_role("option", name="green").click()
    form.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_text("The rules are saved")).to_be_visible()
    shown = endpoint.client.get_endpoint(NAME)
    assert shown["traffic_rules"] == [
        {"header": "x-group", "exact": "testers", "deployment": "green"}
    ]
    with httpx.Client(headers={"Authorization": f"Bearer {endpoint.key}"}) as client:

        def who(**headers: str) -> str | None:
            answer = client.get(f"{shown['plain_uri']}v2", headers=headers)
            return answer.headers.get("x-shoal-deployment")

        wait_until(lambda: who(**{"x-group": "testers"}) == "green", "gateways act on the rule")
        assert who() == "blue"
    page.goto(f"/endpoints/{NAME}/experiment")
    arms = page.get_by_role("table", name="Arms")
    expect(arms.get_by_role("row", name=re.compile("green"))).to_contain_text("0 %, 1 rule")
    expect(arms.get_by_role("row", name=re.compile("blue"))).to_contain_text("100 %")
    page.get_by_role("button", name="Compare answers").click()
    expect(page.get_by_text("blue captures no inputs")).to_be_visible()
    endpoint.client.update_endpoint(NAME, traffic_rules=[])


def test_an_update_is_taken_back(page: Page, endpoint: Served) -> None:
    page.goto(f"/endpoints/{NAME}/deployments")
    page.get_by_role("button", name="Actions for green").click()
    page.get_by_role("menuitem", name="Update to another version").click()
    dialog = page.get_by_role("dialog", name="Update green")
    dialog.get_by_role("combobox", name=f"Version of {NAME}").click()
    page.get_by_role("option", name=re.compile("^v1")).click()
    dialog.get_by_role("button", name=f"Run {NAME} v1").click()
    green = page.locator("section", has=page.get_by_role("heading", name="green", exact=True))
    expect(green).to_contain_text(f"{NAME} v1", timeout=CHANGE_MS)
    green.get_by_role("button", name=re.compile("^Revisions")).click()
    revisions = page.get_by_role("table", name="Revisions of green")
    expect(revisions.get_by_role("row")).to_have_count(3)
    expect(green).to_contain_text("2 is current", timeout=CHANGE_MS)
    settled(endpoint.client)
    revisions.get_by_role("row", name=re.compile(r"^1 ")).get_by_role("button").click()
    dialog = page.get_by_role("dialog", name="Roll green back to revision 1")
    differences = dialog.get_by_role("table", name=re.compile("^Differences"))
    expect(differences.get_by_role("row", name=re.compile("^model"))).to_contain_text(f"{NAME} v2")
    dialog.get_by_role("button", name="Roll back to revision 1").click()
    expect(dialog).to_be_hidden()
    settled(endpoint.client)
    expect(green).to_contain_text("3 is current", timeout=CHANGE_MS)
    assert endpoint.client.get_deployment(NAME, "green")["version"] == 2


def settled(client: Client) -> None:
    """Returns when what is being done to green is done."""
    operation = client.get_deployment(NAME, "green")["operation"]
    assert operation is not None
    client.wait_operation(client.get_operation(operation))


def test_panels_tell_the_truth(page: Page, endpoint: Served, product: Product) -> None:
    page.goto(f"/endpoints/{NAME}/metrics?range=5m")
    # why either: where nobody has called for five minutes, it is folded
    folded = page.get_by_role("button", name="Throughput: none in this range")
    throughput = page.get_by_role("region", name="Throughput", exact=True)
    expect(throughput.or_(folded)).to_be_visible()
    page.wait_for_timeout(SETTLE_MS)  # what was called before has left the windows
    began = int(time.time())
    served.call(product, NAME, endpoint.key, times=REQUESTS, batch=BATCH)
    sizes = page.get_by_role("region", name="Batch sizes")
    expect(sizes.get_by_role("listitem").filter(has_text=re.compile(rf"^{BATCH} "))).to_be_visible()
    rows = all_sampled(page, began)
    answered = total(rows, "answers_2xx.all") * STEP_S
    assert answered == pytest.approx(REQUESTS, rel=0.05)
    assert total(rows, "errors_5xx.all") == 0
    requests, rows_seen = total(rows, "request_rate.blue"), total(rows, "inference_rate.blue")
    assert rows_seen / requests == pytest.approx(BATCH, rel=0.05)
    means = [float(row["mean_batch.blue"]) for row in rows if row["mean_batch.blue"]]
    assert means[-1] == pytest.approx(BATCH)
    sent = total(rows, "received.all") * STEP_S
    assert sent > REQUESTS * BATCH * tiny_model.FEATURES * 4  # FP32 tensors and their heads


def all_sampled(page: Page, began: int) -> list[dict[str, str]]:
    """The page's file, once gateway and runtime have told of every request since ``began``."""
    deadline = time.monotonic() + SAMPLED_S
    while True:
        page.goto(f"/endpoints/{NAME}/metrics?range={began - 2}..{int(time.time()) + 10}")
        expect(page.get_by_text(f"points of {STEP_S} s")).to_be_visible()
        with page.expect_download() as saved:
            page.get_by_role("button", name="CSV").click()
        rows = list(csv.DictReader(Path(saved.value.path()).read_text().splitlines()))
        seen = [total(rows, key) * STEP_S for key in ("answers_2xx.all", "request_rate.blue")]
        if min(seen) >= REQUESTS * 0.95:
            return rows
        assert time.monotonic() < deadline, f"of {REQUESTS} requests {seen} were sampled"


def total(rows: list[dict[str, str]], key: str) -> float:
    return sum(float(row[key]) for row in rows if row[key])


def test_snippets_take_the_last_test_input(page: Page, endpoint: Served) -> None:
    page.goto(f"/endpoints/{NAME}/consume")
    switch = page.get_by_role("switch", name="With my last test input")
    expect(switch).to_be_disabled()
    page.get_by_role("link", name="Test", exact=True).last.click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("answered"))).to_have_count(1)
    page.get_by_role("link", name="Consume", exact=True).click()
    switch.click()
    expect(page).to_have_url(re.compile("input=last"))
    code = page.get_by_role("region", name="curl of this call")
    expect(code).to_contain_text(tiny_model.INPUT)


def test_a_zoom_is_a_link(page: Page, endpoint: Served, product: Product) -> None:
    served.call(product, NAME, endpoint.key, times=20, batch=1)
    page.goto(f"/endpoints/{NAME}/metrics?range=15m&dep=blue&closed=traffic")
    chart = page.get_by_role("img", name=re.compile("^Latency: live chart"))
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 60, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"range=\d+\.\.\d+"))
    expect(page).to_have_url(re.compile("dep=blue"))
    page.reload()
    expect(page.get_by_role("button", name="Follow live values")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Traffic"))).to_have_attribute(
        "aria-expanded", "false"
    )
    page.go_back()
    page.goto(f"/endpoints/{NAME}/metrics?range=nonsense")
    expect(page.get_by_role("radio", name="15m")).to_be_checked()


def test_a_range_is_chosen_by_keyboard(page: Page, endpoint: Served, product: Product) -> None:
    served.call(product, NAME, endpoint.key, times=20, batch=1)
    page.goto(f"/endpoints/{NAME}/metrics?range=5m")
    chart = page.get_by_role("application", name="Latency, read by arrow keys")
    chart.focus()
    read = chart.get_by_text(re.compile(r"\d\d:\d\d:\d\d: p99 "))
    for _ in range(READ_TRIES):  # there is nothing to read before the first frame
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(READ_EVERY_MS)
        if read.count():
            break
    expect(read).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"range=\d+\.\.\d+"))
    expect(chart).to_be_focused()
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("range="))
    fields = page.get_by_role("form", name="Times")
    start = fields.get_by_role("textbox", name=re.compile("^From"))
    start.fill("noon")
    start.press("Enter")
    expect(fields).to_contain_text('"noon" is no time')
    start.fill("2026-01-05T10:00:00Z")
    fields.get_by_role("textbox", name=re.compile("^To")).fill("2026-01-05T11:00:00Z")
    fields.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"range=1767607200\.\.1767610800"))


def test_a_blocked_socket_is_stood_in_for(page: Page, endpoint: Served, product: Product) -> None:
    page.route_web_socket(re.compile(r"/ws/v1$"), lambda socket: socket.close())
    page.goto(f"/endpoints/{NAME}/overview")
    pill = page.get_by_role("status").filter(has_text="Polling")
    expect(pill).to_be_visible(timeout=POLLS_MS)
    served.call(product, NAME, endpoint.key, times=20, batch=1)
    latency = page.get_by_title("Half of the requests were faster")
    expect(latency).to_contain_text(re.compile(r"\d"), timeout=POLLS_MS)


def test_tokens_take_the_place_of_keys(page: Page, endpoint: Served, product: Product) -> None:
    page.goto(f"/endpoints/{NAME}/settings")
    page.get_by_role("radio", name="Tokens").click()
    page.get_by_role("button", name="Use tokens").click()
    expect(page.get_by_role("radio", name="Tokens")).to_be_checked()
    page.goto(f"/endpoints/{NAME}/keys")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_text("Shown only now.")).to_be_visible()
    assert endpoint.client.get_endpoint(NAME)["auth_mode"] == "aml_token"
    page.goto(f"/endpoints/{NAME}/settings")
    page.get_by_role("radio", name="Keys").click()
    page.get_by_role("button", name="Use keys").click()
    expect(page.get_by_role("radio", name="Keys")).to_be_checked()
    page.goto(f"/endpoints/{NAME}/events?kind=access")
    page.get_by_role("button", name=re.compile("is now opened by key")).first.click()
    changes = page.get_by_role("table", name="Before and after")
    expect(changes.get_by_role("row", name=re.compile("auth_mode"))).to_contain_text("aml_token")
    wait_until_it_opens(product, endpoint.key)


def wait_until_it_opens(product: Product, key: str) -> None:
    """The gateway takes keys again; the other tests need them."""
    until = time.monotonic() + OPENS_S
    while True:
        try:
            served.call(product, NAME, key, times=1, batch=1)
        except InferenceServerException:
            assert time.monotonic() < until
            time.sleep(0.5)
        else:
            return


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("curl", ["bash", "-e"]),
        ("Python, requests", [sys.executable]),
        ("tritonclient, HTTP", [sys.executable]),
        ("tritonclient, gRPC", [sys.executable]),
        ("JavaScript", ["node"]),
    ],
)
def test_the_page_s_programs_run(
    page: Page, endpoint: Served, product: Product, kind: str, command: list[str], tmp_path: Path
) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    page.goto(f"/endpoints/{NAME}/consume")
    page.get_by_role("radiogroup", name="Language").get_by_text(kind, exact=True).click()
    shown = page.get_by_role("region", name=f"{kind} snippet")
    text = shown.inner_text().replace(f"export ENDPOINT_KEY='<key of {NAME}>'\n", "")
    program = tmp_path / ("call.mjs" if kind == "JavaScript" else "call")
    program.write_text(text + "\n")
    environment = {
        **os.environ,
        "ENDPOINT_KEY": endpoint.key,
        "NODE_EXTRA_CA_CERTS": product.client["ca_path"],
    }
    ran = subprocess.run(
        [*command, program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    assert tiny_model.OUTPUT in ran.stdout
