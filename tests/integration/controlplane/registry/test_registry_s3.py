"""Blobs in a bucket: a real S3 server (moto's) behind the same interface as the local disk."""

import asyncio
import hashlib
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from moto.server import ThreadedMotoServer
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core.errors import Unavailable
from controlplane.deployments.models import DeploymentRevision
from controlplane.operations.services.facts import spec_failure
from controlplane.registry.models import Blob, ModelVersion
from controlplane.registry.services import blobs
from controlplane.registry.stores import BlobStore, blob_store
from controlplane.registry.stores.local import LocalStore
from controlplane.registry.stores.s3 import S3Store
from node_agent.client import ControlClient
from tests.support.quiet_handler import QuietHandler
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # botocore's and moto's own
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
CONTENT = b"weights " * 100_000
SHA = hashlib.sha256(CONTENT).hexdigest()
OTHER = "f" * 64


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    resource = boto3.resource("s3", endpoint_url=server, region_name="us-east-1")
    found = resource.Bucket("models")
    found.create()
    yield found
    found.objects.all().delete()
    found.delete()


def url_of(server: str, more: str = "") -> str:
    return f"s3://models/shoal?endpoint={server}&region=us-east-1&addressing=path{more}"


@pytest.fixture
def in_bucket(server: str, bucket: Any, settings: Settings) -> Any:
    settings.SHOAL_BLOB_URL = url_of(server)
    return bucket


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, server: str, tmp_path: Path) -> BlobStore:
    if request.param == "local":
        return LocalStore(tmp_path / "blobs")
    request.getfixturevalue("bucket")
    return S3Store(url_of(server))


def put(store: BlobStore, tmp_path: Path, content: bytes = CONTENT) -> str:
    source = tmp_path / "source"
    source.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    store.put(source, sha256)
    assert not source.exists()
    return sha256


def test_every_store_keeps_bytes(store: BlobStore, tmp_path: Path) -> None:
    assert (store.size(SHA), store.missing([SHA, OTHER])) == (None, {SHA, OTHER})
    assert put(store, tmp_path) == put(store, tmp_path) == SHA
    assert (store.size(SHA), store.missing([SHA, OTHER])) == (len(CONTENT), {OTHER})
    with store.open(SHA) as whole, store.open(SHA, len(CONTENT) - 8) as rest:
        assert (whole.read(8), rest.read()) == (b"weights ", b"weights ")
    assert list(store.names()) == [SHA]
    store.place(SHA, tmp_path / "placed")
    assert (tmp_path / "placed").read_bytes() == CONTENT
    empty = put(store, tmp_path, b"")
    with store.open(empty) as nothing:
        assert (store.size(empty), nothing.read()) == (0, b"")
    store.remove(SHA)
    store.remove(SHA)
    assert store.size(SHA) is None
    with pytest.raises(FileNotFoundError):
        store.open(SHA)


@pytest.mark.parametrize(
    "url", ["http://models/shoal", "s3://", "s3://models?endpont=http://x", "models"]
)
def test_a_url_that_names_no_bucket(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SHOAL_BLOB_URL"):
        S3Store(url)


def body(answer: Any) -> bytes:
    return b"".join(answer)


@pytest.mark.django_db(databases=["default", "metrics"])
def test_people_and_nodes_read_what_lies_in_the_bucket(in_bucket: Any, api: APIClient) -> None:
    version = model_register(content=CONTENT)
    keys = [item.key for item in in_bucket.objects.all()]
    assert f"shoal/{SHA[:2]}/{SHA}" in keys
    path = "/api/v1/models/digits/versions/1"
    part = api.get(f"{path}/files/digits/1/model.onnx", HTTP_RANGE="bytes=8-15")
    assert (part.status_code, body(part)) == (206, b"weights ")
    archive = zipfile.ZipFile(io.BytesIO(body(api.get(f"{path}/archive.zip"))))
    assert archive.read("digits/1/model.onnx") == CONTENT

    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.desired()
    answer = node.client.get(f"/agent/v1/blobs/{SHA}", HTTP_RANGE=f"bytes={len(CONTENT) - 4}-")
    assert (answer.status_code, body(answer)) == (206, b"hts ")

    blob_store().remove(SHA)
    assert node.client.get(f"/agent/v1/blobs/{SHA}").status_code == 404
    failure = spec_failure(DeploymentRevision(model_version=version))
    assert failure is not None
    assert (failure.code, failure.detail) == ("BlobMissing", "digits/1/model.onnx")


@pytest.mark.django_db
def test_what_nothing_names_leaves_the_bucket(in_bucket: Any, tmp_path: Path) -> None:
    model_register(content=CONTENT)
    orphan = put(blob_store(), tmp_path, b"orphan")
    now = timezone.now()
    for sha256 in (SHA, orphan):
        Blob.objects.create(sha256=sha256, size=1, seen_at=now)
    assert blobs.blobs_collect(now=now) == 0
    assert blobs.blobs_collect(now=now + timedelta(hours=25)) == 1
    assert blob_store().missing([SHA, orphan]) == {orphan}
    assert ModelVersion.objects.exists()


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_bucket_out_of_reach_is_said(
    bucket: Any, server: str, settings: Settings, api: APIClient, tmp_path: Path
) -> None:
    settings.SHOAL_BLOB_URL = url_of(server)
    model_register(content=CONTENT)
    settings.SHOAL_BLOB_URL = url_of(server).replace("s3://models/", "s3://elsewhere/")
    with pytest.raises(Unavailable, match="elsewhere"):
        put(blob_store(), tmp_path)
    settings.SHOAL_BLOB_URL = url_of("http://127.0.0.1:9")
    answer = api.get("/api/v1/models/digits/versions/1/files/digits/1/model.onnx")
    assert (answer.status_code, answer.json()["code"]) == (503, "StorageUnavailable")


class Redirect(QuietHandler):
    """A control plane's resource that sends nodes to the bucket."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(307)
        self.send_header("Location", self.target)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.django_db(databases=["default", "metrics"])
def test_nodes_may_be_sent_to_the_bucket(
    bucket: Any, server: str, settings: Settings, api: APIClient
) -> None:
    settings.SHOAL_BLOB_URL = url_of(server, "&downloads=direct")
    model_register(content=CONTENT)
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.desired()
    answer = node.client.get(f"/agent/v1/blobs/{SHA}")
    assert answer.status_code == 307
    assert "X-Amz-Signature" in answer["Location"]
    assert httpx.get(answer["Location"]).content == CONTENT

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Redirecting", (Redirect,), {"target": answer["Location"]})
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()

    async def fetch(offset: int) -> tuple[int, bytes]:
        client = ControlClient(f"http://127.0.0.1:{server.server_address[1]}")
        client.use_credential("snode_secret")
        try:
            async with client.blob(SHA, offset) as stream:
                return stream.offset, b"".join([piece async for piece in stream.chunks])
        finally:
            await client.close()

    try:
        assert asyncio.run(fetch(0)) == (0, CONTENT)
        assert asyncio.run(fetch(16)) == (16, CONTENT[16:])
    finally:
        server.shutdown()
        server.server_close()
