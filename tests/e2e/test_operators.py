"""The operator's jobs in the browser: nodes that come and go, people and their roles, no mouse."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.e2e import tiny_model
from tests.e2e.browser import WatchedPage
from tests.e2e.keyboard import press
from tests.e2e.product import STOP_S, Product
from tests.e2e.served import call, client_of
from tests.support.reaper import clean_environment

JOIN_MS = 90_000
DRAIN_MS = 120_000
ENDPOINT = "moves-along"
SECOND = "second"


def sign_in(page: Page, username: str, password: str) -> None:
    page.goto("/login")
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


@contextmanager
def agent(command: str, home: Path) -> Iterator[None]:
    """What somebody pastes into a shell of another machine; here it is the same one."""
    words = shlex.split(command)
    given = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
    program = [word for word in words if word.split("=", 1)[0] not in given]
    assert program[0] == "python"
    process = subprocess.Popen(
        [sys.executable, *program[1:]],
        env={**clean_environment(), **given, "SHOAL_HOME": str(home), "SHOAL_NODE_NAME": SECOND},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(home / "agent.log").open("wb"),
    )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        process.wait(STOP_S)


def drain(page: Page, name: str, to: str) -> None:
    """Looks at what would move first; returns once nothing is left there."""
    page.goto(f"/nodes/{name}/overview")
    page.get_by_role("button", name="Drain", exact=True).click()
    dialog = page.get_by_role("dialog")
    # as many as other tests have left here, and this one's
    told = re.compile(rf"\d+ replicas? will answer on {to}")
    expect(dialog.get_by_role("status")).to_contain_text(told)
    dialog.get_by_role("button", name=f"Drain {name}").click()
    drained = page.get_by_text("Drained: nothing runs here")
    expect(drained).to_be_visible(timeout=DRAIN_MS)


def test_a_node_joins_takes_over_and_is_removed(
    product: Product, browser: Browser, tmp_path: Path
) -> None:
    with client_of(product) as client:
        (first,) = [node["name"] for node in client.list_nodes()]
        client.deploy(tiny_model.write(tmp_path / "model.onnx"), name=ENDPOINT)
        key = client.get_keys(ENDPOINT)["primaryKey"]
        watched = WatchedPage(browser, product.url)
        page = watched.page
        try:
            sign_in(page, product.client["username"], product.password)
            page.goto("/nodes/join")
            page.get_by_role("button", name="Make a token").click()
            command = page.get_by_role("region", name="join command").inner_text()
            home = tmp_path / "second-home"
            home.mkdir()
            with agent(command, home):
                expect(page.get_by_text(f"{SECOND} has joined")).to_be_visible(timeout=JOIN_MS)
                expect(page.get_by_text("ready for models")).to_be_visible(timeout=JOIN_MS)
                watched.shoot("node-join")
                drain(page, first, to=SECOND)
                call(product, ENDPOINT, key, times=3, batch=2)
                page.goto(f"/nodes/{SECOND}/models")
                expect(page.get_by_role("link", name=f"{ENDPOINT} / blue")).to_be_visible()
                page.goto(f"/nodes/{first}/overview")
                page.get_by_role("button", name="Uncordon").click()
                expect(page.get_by_role("button", name="Cordon", exact=True)).to_be_visible()
                drain(page, SECOND, to=first)
                call(product, ENDPOINT, key, times=3, batch=2)
                page.get_by_role("button", name="Remove").click()
                page.get_by_role("dialog").get_by_role("button", name=f"Remove {SECOND}").click()
                expect(page).to_have_url(re.compile(r"/nodes$"))
                expect(page.get_by_role("link", name=first, exact=True)).to_be_visible()
                expect(page.get_by_role("link", name=SECOND, exact=True)).to_have_count(0)
        finally:
            watched.close()
            client.delete_endpoint(ENDPOINT)
    assert watched.troubles == []


def add_user(page: Page, name: str) -> str:
    """By the page; returns the password that it shows once."""
    page.goto("/settings/users")
    page.get_by_role("button", name="Add somebody").click()
    page.get_by_label("User name").fill(name)
    page.get_by_role("button", name=f"Add {name}").click()
    shown = page.get_by_role("dialog").get_by_role("status")
    expect(shown).to_contain_text("shown only now")
    password = shown.locator(".mono").inner_text()
    page.get_by_role("button", name="Done").click()
    return password


def test_a_viewer_sees_and_cannot_change_until_the_role_does(
    product: Product, browser: Browser
) -> None:
    admin = WatchedPage(browser, product.url)
    # The viewer's last request comes after the account was closed.
    viewer = WatchedPage(browser, product.url, expected=("/api/v1/",))
    try:
        sign_in(admin.page, product.client["username"], product.password)
        password = add_user(admin.page, "vera")
        page = viewer.page
        sign_in(page, "vera", password)
        page.goto("/nodes")
        page.locator("main tbody tr").first.click()
        cordon = page.get_by_role("button", name="Cordon", exact=True)
        expect(cordon).to_be_disabled()
        expect(cordon).to_have_attribute("title", "Needs the role operator or a higher one")
        here = page.url
        page.goto("/settings/users")
        expect(page.get_by_text("The users cannot be shown to you")).to_be_visible()
        page.goto("/settings/storage")
        expect(page.get_by_role("button", name="Remove unused files")).to_be_disabled()
        refused = page.evaluate(
            """async () => {
                const { csrf_token } = await (await fetch("/api/v1/session")).json();
                const headers = { "X-CSRFToken": csrf_token, "Content-Type": "application/json" };
                const calls = ["join-tokens", "uploads", "users"].map((path) =>
                    fetch(`/api/v1/${path}`, { method: "POST", headers, body: "{}" }));
                return (await Promise.all(calls)).map((answer) => answer.status);
            }"""
        )
        assert refused == [403, 403, 403]

        admin.page.get_by_label("Role of vera").first.click()
        admin.page.get_by_role("option", name="Operator").click()
        expect(admin.page.get_by_text("vera is operator")).to_be_visible()
        page.goto(here)
        expect(cordon).to_be_enabled()

        admin.page.get_by_role("button", name="Actions for vera").click()
        admin.page.get_by_role("menuitem", name="Deactivate").click()
        admin.page.get_by_role("button", name="Deactivate vera").click()
        expect(admin.page.get_by_text("vera is deactivated")).to_be_visible()
        page.goto("/nodes")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    finally:
        admin.close()
        viewer.close()
    assert admin.troubles == []


def change_ticked_nodes(page: Page) -> None:
    """From the focused row of a node and back to it; the focus is never lost on the way."""
    keys, bar = page.keyboard, page.get_by_role("group", name="Ticked nodes")
    button = bar.get_by_role("button", name="Cordon", exact=True)
    keys.press("x")
    expect(bar).to_contain_text("1 node ticked")
    press(page, button)
    expect(button).to_be_disabled()
    expect(bar).to_be_focused()
    keys.press("Tab")
    expect(bar.get_by_role("button", name="Uncordon")).to_be_focused()
    keys.press("Enter")
    expect(button).to_be_enabled()
    expect(bar).to_be_focused()
    press(page, bar.get_by_role("button", name="Drain"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    keys.press("Escape")
    expect(dialog).to_have_count(0)
    expect(bar).to_be_focused()
    keys.press("Escape")
    expect(bar).to_have_count(0)


def test_without_a_mouse(product: Product, browser: Browser) -> None:
    watched = WatchedPage(browser, product.url)
    page, keys = watched.page, watched.page.keyboard
    heading = page.get_by_role("heading", level=1)
    try:
        page.goto("/login")
        page.get_by_label("User name").focus()
        keys.type(product.client["username"])
        keys.press("Tab")
        keys.type(product.password)
        keys.press("Enter")
        expect(heading).to_have_text("Overview")
        keys.press("g")
        keys.press("n")
        expect(heading).to_have_text("Nodes")
        expect(page.locator("main tbody tr").first).to_be_visible()
        keys.press("j")
        expect(page.locator("main tbody tr").first).to_be_focused()
        change_ticked_nodes(page)
        expect(page.locator("main tbody tr").first).to_be_focused()
        keys.press("Enter")
        expect(page).to_have_url(re.compile(r"/nodes/[^/]+/overview$"))
        keys.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        expect(dialog).to_be_visible()
        keys.press("Escape")
        expect(dialog).to_have_count(0)
        keys.press("Control+k")
        search = page.get_by_role("textbox", name="Search", exact=True)
        expect(search).to_be_focused()
        keys.type("activ")
        expect(page.get_by_role("button", name="Activity")).to_be_visible()
        keys.press("Enter")
        expect(heading).to_have_text("Activity")
        expect(search).to_have_count(0)
        keys.press("/")
        expect(page.get_by_role("textbox", name="Filter activity")).to_be_focused()
        keys.type("signed in")
        expect(page).to_have_url(re.compile(r"/activity\?q=signed"))
        expect(page.locator("main tbody tr").first).to_contain_text("signed in")
        page.reload()
        expect(page.get_by_role("textbox", name="Filter activity")).to_have_value("signed in")
        keys.press("g")
        keys.press("s")
        expect(heading).to_have_text("System")
        expect(page.get_by_text("Main database")).to_be_visible()
    finally:
        watched.close()
    assert watched.troubles == []


def test_in_german(product: Product, browser: Browser) -> None:
    watched = WatchedPage(browser, product.url)
    page = watched.page
    heading = page.get_by_role("heading", level=1)
    try:
        page.goto("/login")
        page.get_by_text("Deutsch").click()
        expect(page.locator("html")).to_have_attribute("lang", "de")
        page.get_by_label("Benutzername").fill(product.client["username"])
        page.get_by_label("Passwort", exact=True).fill(product.password)
        page.get_by_role("button", name="Anmelden").click()
        expect(heading).to_have_text("Übersicht")
        page.get_by_role("link", name=re.compile("^Endpunkte")).click()
        expect(heading).to_have_text("Endpunkte")
        page.goto("/settings")
        expect(page.get_by_text("Meldungen des Servers sind auf Englisch")).to_be_visible()
        page.get_by_text("English", exact=True).click()
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(page.get_by_text("messages of the server are in English")).to_be_visible()
    finally:
        watched.close()
    assert watched.troubles == []
