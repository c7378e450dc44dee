"""From "it feels slow" to a configuration that is not, by what the pages say and nothing else."""

import re
import time

from playwright.sync_api import Browser, expect

from shoal.client import Client
from tests.e2e import served
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.support.runtime_process import wait_until
from tests.why_slow.loading import deployed, under_load
from tests.why_slow.scenarios import SCENARIOS

NAME = "slow"
MEASURED_MS = 30_000
CHANGED_MS = 90_000
FOUND_OUT_S = 180.0


def quicker_than(client: Client, us: float) -> bool:
    """By the last ten seconds."""
    return 0 < client.get_bottlenecks(NAME, range_s=10)["total_us"] < us


def test_a_slow_endpoint_is_found_out_and_mended(product: Product, browser: Browser) -> None:
    scenario = SCENARIOS["no-batching"]
    watched = WatchedPage(browser, product.url)
    page = watched.page
    with served.client_of(product) as client:
        to = deployed(client, product, NAME, scenario)
        with under_load(scenario, to):
            began = time.monotonic()
            page.goto(f"/endpoints/{NAME}")
            page.get_by_label("User name").fill(product.client["username"])
            page.get_by_label("Password", exact=True).fill(product.password)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("button", name="Why is it slow?").click()
            dialog = page.get_by_role("dialog")
            first = (
                dialog.get_by_role("list", name="Likeliest causes").get_by_role("listitem").first
            )
            for _ in range(MEASURED_MS // 1000):
                dialog.get_by_role("button", name="Look again").click()
                if first.get_by_text("Requests are computed one by one").is_visible():
                    break
                page.wait_for_timeout(1000)
            expect(first).to_contain_text(
                "Add dynamic_batching to the configuration of this model."
            )
            watched.shoot("why-slow")
            slow_us = client.get_bottlenecks(NAME)["total_us"]
            first.get_by_role("link", name="Edit the configuration").click()
            page.get_by_role("switch", name="Dynamic batching").check(force=True)
            page.get_by_role("button", name="Save as revision 1").click()
            expect(page.get_by_role("table", name="Revisions")).to_contain_text("shown")
            page.goto(f"/endpoints/{NAME}/deployments")
            page.get_by_role("button", name="Actions for blue").click()
            page.get_by_role("menuitem", name="Update to another version").click()
            page.get_by_role("combobox", name="Configuration").click()
            page.get_by_role("option", name="revision 1").click()
            page.get_by_role("button", name=re.compile("^Run ")).click()
            blue = page.locator("section", has=page.get_by_role("heading", name="blue", exact=True))
            expect(blue).to_contain_text("2 is current", timeout=CHANGED_MS)
            assert time.monotonic() - began < FOUND_OUT_S
            wait_until(lambda: quicker_than(client, slow_us / 2), "requests that are quicker")
        watched.close()  # before it: the page would ask for what is gone
        client.wait_operation(client.delete_endpoint(NAME), timeout_s=60)
    assert watched.troubles == []
