"""A change of traffic on a real product: all who look see one watch, and one takes it back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from shoal.client import Client
from tests.e2e import served
from tests.e2e.accessibility import violations
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product

NAME = "watched"
CHANGE_MS = 30_000
SIGN_IN_MS = 30_000
OTHER = "berta"


@pytest.fixture(scope="module")
def client(product: Product) -> Iterator[Client]:
    with served.client_of(product) as made:
        yield made


@pytest.fixture(scope="module")
def key(client: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    return served.blue_and_green(client, NAME, tmp_path_factory.mktemp("watched"))


def signed_in(browser: Browser, product: Product, name: str, password: str) -> WatchedPage:
    watched = WatchedPage(browser, product.url)
    page = watched.page
    page.goto("/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    link = page.get_by_role("link", name="Deploy", exact=True)
    expect(link).to_be_visible(timeout=SIGN_IN_MS)
    return watched


def change(page: Page) -> Locator:
    return page.get_by_role("region", name="Traffic change")


def test_a_change_is_watched_by_everybody_and_undone_by_one(
    product: Product, browser: Browser, client: Client, key: str
) -> None:
    name, before = product.client["username"], "Undo: back to 100 / 0"
    password = client.create_user(OTHER, "deployer")["password"]
    served.call(product, NAME, key, times=30, batch=1)
    first = signed_in(browser, product, name, product.password)
    second = signed_in(browser, product, OTHER, password)
    try:
        page, other = first.page, second.page
        page.goto(f"/endpoints/{NAME}/deployments")
        shares = page.get_by_role("group", name="Share of green")
        shares.get_by_role("button", name="50 %").click()
        page.get_by_role("button", name="Apply 50 / 50").click()
        dialog = page.get_by_role("dialog", name="Move traffic")
        dialog.get_by_role("button", name="Apply 50 / 50").click()
        expect(change(page)).to_contain_text("Traffic is now 50 / 50.", timeout=CHANGE_MS)
        # counted by the gateway, and shown by the server to whoever asks
        served.call(product, NAME, key, times=40, batch=1, deployment="green")
        page.reload()
        told = re.compile(r"green (does|is|answers).* Changed by ")
        expect(change(page)).to_contain_text(told, timeout=CHANGE_MS)
        first.shoot("traffic-watched")
        assert violations(page) == []

        other.goto(f"/endpoints/{NAME}")
        expect(change(other)).to_contain_text(f"Changed by {name},")
        page.goto(f"/endpoints/{NAME}")
        change(other).get_by_role("button", name=before).click()
        back = f"{OTHER} has put the traffic back: it is 100 / 0 again"
        expect(change(other)).to_contain_text(back)
        expect(change(page)).to_contain_text(back, timeout=CHANGE_MS)
        expect(page.get_by_role("button", name=before)).to_have_count(0)
        first.shoot("traffic-undone")
        change(page).get_by_role("button", name="Put away, for me alone").click()
        expect(change(page)).to_have_count(0)
        other.reload()
        expect(change(other)).to_contain_text(back)
    finally:
        first.close()
        second.close()
    assert (first.troubles, second.troubles) == ([], [])
    shown = client.get_endpoint(NAME)
    assert shown["traffic"] == {"blue": 100}
    assert (shown["traffic_change"] or {})["undone_by"] == OTHER
    found = client.get_traffic_watch(NAME)["found"]
    assert found is not None
    assert [one["deployment"] for one in found["gaining"]] == ["green"]
    assert found["gaining"][0]["figures"]["requests"] >= 1
