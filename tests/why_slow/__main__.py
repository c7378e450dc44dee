"""``make why-slow``: endpoints that are slow for a known reason each, and what is said of them.

    python -m tests.why_slow [SCENARIO ...]

A fresh installation, a load of some seconds for each, and the answer of ``shoal why-slow``. The
exit code is 1 where fewer than all but one name the right cause first.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx

from shoal.client import Client
from tests.e2e.product import Product
from tests.support import reaper
from tests.why_slow.loading import deployed, under_load
from tests.why_slow.scenarios import SCENARIOS, Scenario

LOAD_S = 14.0
LOOK_S = 10
ASLEEP_S = 60.0
MAY_MISS = 1


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def put_to_sleep(product: Product, client: Client, name: str) -> None:
    """Returns once no replica of it runs."""
    httpx.patch(
        f"{product.url}/api/v1/endpoints/{name}/deployments/blue",
        json={"autoscale": {"min": 0, "max": 1, "idle": {"after_s": 10}}},
        headers={"Authorization": f"Bearer {product.client['token']}"},
    ).raise_for_status()
    deadline = time.monotonic() + ASLEEP_S
    while client.get_endpoint(name)["serving_state"] != "Idle":
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} was not at zero after {ASLEEP_S} s")
        threading.Event().wait(0.5)


def said(client: Client, product: Product, name: str, scenario: Scenario) -> list[str]:
    """Codes of what is found, the first one first."""
    to = deployed(client, product, name, scenario)
    beside = scenario.beside
    if scenario.idle:
        put_to_sleep(product, client, name)
    with under_load(scenario, to):
        if beside is None:
            threading.Event().wait(LOAD_S)
        else:
            with under_load(beside, deployed(client, product, f"{name}-beside", beside)):
                threading.Event().wait(LOAD_S)
        found = client.get_bottlenecks(name, range_s=60 if scenario.idle else LOOK_S)
    right = found["findings"][:1] and found["findings"][0]["code"] == scenario.expected
    say(f"{'ok   ' if right else 'WRONG'} {name}: {found['summary']}")
    for one in found["findings"][: 1 if right else None]:
        say(f"      {one['code']} ({one['us'] / 1000:.2f} ms): {one['text']}")
    if not right:
        say(f"      { ({part['name']: round(part['us']) for part in found['parts']}) }")
    for gone in (name, f"{name}-beside") if beside else (name,):
        client.wait_operation(client.delete_endpoint(gone), timeout_s=60)
    return [one["code"] for one in found["findings"]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.why_slow", description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []], metavar="SCENARIO")
    chosen = parser.parse_args().scenarios or list(SCENARIOS)
    reaper.guard()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="shoal-why-") as folder:
        say("== make up, on free ports")
        product = Product(Path(folder) / "home")
        product.home.mkdir()
        try:
            product.start()
            with Client(product.url, product.client["token"]) as client:
                for name in chosen:
                    codes = said(client, product, name, SCENARIOS[name])
                    if codes[:1] != [SCENARIOS[name].expected]:
                        wrong.append(name)
        finally:
            product.stop()
    right = len(chosen) - len(wrong)
    say(f"{right} of {len(chosen)} named the right cause first")
    return 0 if len(wrong) <= MAY_MISS else 1


if __name__ == "__main__":
    sys.exit(main())
