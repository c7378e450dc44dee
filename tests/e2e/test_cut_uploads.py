"""Connections that break in the middle of an upload, between the SDK and the real studio."""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shoal import MLClient, aio
from shoal.client import Client
from shoal.client.discovery import Installation
from shoal.entities import Model
from tests.e2e.product import Product
from tests.e2e.tiny_model import write
from tests.support.cutting_proxy import CuttingProxy

MIB = 1 << 20
CUTS = 7
WEIGHTS = {"a.bin": 20 * MIB, "b.bin": 3 * MIB, "c.bin": 3 * MIB, "d.bin": 3 * MIB, "e.bin": 5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    version = tmp_path / "repo" / "net" / "1"
    version.mkdir(parents=True)
    write(version / "model.onnx")
    for name, size in WEIGHTS.items():
        (version / name).write_bytes(os.urandom(size))
    return tmp_path / "repo"


@pytest.fixture
def proxy(product: Product) -> Iterator[CuttingProxy]:
    parts = urlsplit(product.url)
    cutting = CuttingProxy((str(parts.hostname), parts.port or 80), cuts=CUTS, after=2 * MIB)
    yield cutting
    cutting.close()


def expected(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def registered(model: Model) -> dict[str, str]:
    return {entry["path"]: entry["sha256"] for entry in model.shown["manifest"]}


def test_every_file_arrives_whole(product: Product, proxy: CuttingProxy, folder: Path) -> None:
    with Client(proxy.url, product.client["token"]) as client:
        made = MLClient(client=client).models.create_or_update(Model(name="cut", path=folder))
    assert registered(made) == expected(folder)
    assert proxy.done == CUTS


def test_in_an_event_loop_too(product: Product, proxy: CuttingProxy, folder: Path) -> None:
    where = Installation(proxy.url, product.client["token"])

    async def register() -> Model:
        async with aio.MLClient(installation=where) as ml_client:
            return await ml_client.models.create_or_update(Model(name="cut-aio", path=folder))

    # why a thread: where a browser was used before, its event loop still runs in this one
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(lambda: asyncio.run(register())).result()
    assert registered(made) == expected(folder)
    assert proxy.done == CUTS
