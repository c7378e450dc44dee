"""The first seed's tabs: as written, and with the same objects coming out of each."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from shoal import MLClient
from shoal.client import Client, Installation
from shoal.entities import load_online_deployment, load_online_endpoint
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.e2e.test_first_deployment import sign_in
from tests.seeds.__main__ import HERE, run_all
from tests.seeds.files import write_all

WIZARD_MS = 120_000
NAMES = ("tab-cli", "tab-sdk", "tab-studio")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds") / "work"
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    write_all(folder / "single-model")
    return folder


@pytest.fixture
def client(product: Product) -> Iterator[Client]:
    address = {key: product.client[key] for key in ("url", "token", "gateway_url", "ca_path")}
    with Client(installation=Installation(**address)) as client:
        yield client


def test_the_seed_s_scripts_run_as_written(product: Product, work: Path) -> None:
    assert run_all(work, product.home, product.client["ca_path"]) == 0


def test_every_tab_makes_the_same_objects(
    product: Product, client: Client, browser: Browser, work: Path
) -> None:
    files = work / "single-model"
    _by_cli(product, files, NAMES[0])
    _by_sdk(client, files, NAMES[1])
    _by_studio(product, browser, NAMES[2])
    cli, sdk, studio = (_comparable(client.get_endpoint(name)) for name in NAMES)
    assert cli == sdk
    # the studio's wizard asks no SKU and no mode, and names the deployment itself
    assert studio | {"declared": None} == sdk | {"declared": None}
    for name in NAMES:
        client.wait_operation(client.delete_endpoint(name))


def _by_cli(product: Product, files: Path, name: str) -> None:
    shoal = [sys.executable, "-m", "shoal"]
    environment = {**os.environ, "SHOAL_HOME": str(product.home)}
    endpoint = ["online-endpoint", "create", "-n", name, "--auth-mode", "key"]
    deployment = ["online-deployment", "create", "-n", "blue", "-e", name, "--all-traffic",
                  "-f", str(files / "create-managed-deployment.yaml")]  # fmt: skip
    for command in (endpoint, deployment):
        subprocess.run([*shoal, *command, "-o", "none"], env=environment, check=True, timeout=120)


def _by_sdk(client: Client, files: Path, name: str) -> None:
    ml_client = MLClient(client=client)
    endpoint = load_online_endpoint({"name": name, "auth_mode": "key"})
    ml_client.begin_create_or_update(endpoint).result()
    deployment = load_online_deployment(
        files / "create-managed-deployment.yaml", params_override=[{"endpoint_name": name}]
    )
    ml_client.begin_create_or_update(deployment).result()
    endpoint = ml_client.online_endpoints.get(name)
    endpoint.traffic = {"blue": 100}
    ml_client.begin_create_or_update(endpoint).result()


def _by_studio(product: Product, browser: Browser, name: str) -> None:
    """The wizard, from a registered model to a live endpoint."""
    watched = WatchedPage(browser, product.url)
    page = watched.page
    try:
        sign_in(page, product)
        page.goto("/deploy/new?model=sample-densenet-onnx-model&version=1&step=configure")
        for step in ("placement", "deployment"):
            proceed = page.get_by_role("button", name=f"Continue to {step}")
            expect(proceed).to_be_enabled(timeout=WIZARD_MS)
            proceed.click()
        page.get_by_label("Endpoint name").fill(name)
        page.get_by_role("button", name="Deploy blue at 100 %").click()
        live = page.get_by_role("heading", name=f"{name} is live")
        expect(live).to_be_visible(timeout=WIZARD_MS)
        watched.shoot("three-tabs-studio")
    finally:
        watched.close()
    assert watched.troubles == []


def _comparable(endpoint: Any) -> dict[str, Any]:
    (deployment,) = endpoint["deployments"]
    return {
        **{key: endpoint[key] for key in ("auth_mode", "traffic", "models", "serving_state")},
        **{key: deployment[key] for key in ("name", "model", "version", "instance_count")},
        **{key: deployment[key] for key in ("provisioning_state", "request_timeout_ms")},
        "declared": deployment["declared"],
        "tail": endpoint["scoring_uri"].removesuffix(f"{endpoint['name']}/").rsplit("/", 2)[-2],
    }
