"""Imports from a bucket: a real S3 server (moto's), asked by our own client with signed URLs."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.registry.services import ingest
from controlplane.registry.sources import bucket as source_of_buckets
from controlplane.registry.sources.addresses import source_read
from controlplane.registry.sources.bucket import Buckets

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # botocore's and moto's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def bucket(server: str, settings: Settings) -> Any:
    settings.SHOAL_IMPORT_S3_ENDPOINT = server
    settings.SHOAL_IMPORT_S3_ACCESS_KEY = settings.SHOAL_IMPORT_S3_SECRET_KEY = "testing"
    resource = boto3.resource(
        "s3", endpoint_url=server, region_name="us-east-1",
        aws_access_key_id="testing", aws_secret_access_key="testing",
    )  # fmt: skip
    found = resource.Bucket("my-models")
    found.create()
    yield found
    found.objects.all().delete()
    found.delete()


def imported(api: APIClient, address: str) -> dict[str, Any]:
    answer = api.post("/api/v1/imports", {"address": address}, format="json")
    assert answer.status_code == 202, answer.content
    ingest.ingest_run(upload_id=answer.json()["id"])
    found: dict[str, Any] = api.get(answer["Location"]).json()
    return found


def test_a_repository_below_a_prefix_is_imported(
    api: APIClient, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_of_buckets, "LISTED_AT_A_TIME", 3)
    for number in range(5):
        bucket.put_object(Key=f"team a/net/1/shards/{number}", Body=b"x")
    bucket.put_object(Key="team a/net/1/model.py", Body=b"class TritonPythonModel: pass")
    bucket.put_object(Key="team a/net/config.pbtxt", Body=b'backend: "python"')
    bucket.put_object(Key="team a/other.onnx", Body=b"z")
    found = imported(api, "s3://my-models/team a/net")
    assert found["steps"][0]["status"] == "succeeded", found["error"]
    assert found["steps"][0]["detail"].startswith("7 file(s), ")
    assert found["lineage"]["address"] == "s3://my-models/team a/net"
    assert "testing" not in str(found)


def test_an_object_is_fetched_with_the_data_beside_it(api: APIClient, bucket: Any) -> None:
    bucket.put_object(Key="a+b/model.onnx", Body=b"a graph")
    bucket.put_object(Key="a+b/model.onnx_data", Body=b"weights")
    bucket.put_object(Key="a+b/README.md", Body=b"no")
    found = imported(api, "s3://my-models/a+b/model.onnx")
    assert found["steps"][0]["status"] == "succeeded", found["error"]
    assert (found["size"], found["filename"]) == (14, "my-models.onnx")


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("s3://my-models/nothing/", "ImportNothingFound"),
        ("s3://no-such-bucket/x", "ImportFailed"),
    ],
)
def test_what_is_not_there_is_told(api: APIClient, bucket: Any, address: str, code: str) -> None:
    found = imported(api, address)
    assert (found["state"], found["error"]["code"]) == ("failed", code)
    assert "Signature" not in str(found)


def test_without_keys_nothing_is_signed_whatever_the_machine_has(
    bucket: Any, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-machine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-machine")
    asked: list[str] = []

    class Told:
        def text(self, url: str) -> bytes:
            asked.append(url)
            return (
                b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Contents>'
                b"<Key>m.onnx</Key><Size>3</Size></Contents></ListBucketResult>"
            )

    source = source_read("s3://my-models")
    found = Buckets(settings.SHOAL_IMPORT_S3_ENDPOINT).find(source, Told())  # type: ignore[arg-type]
    asked += [remote.url for remote in found.files]
    assert len(asked) == 2
    assert not any("Signature" in url or "of-the-machine" in url for url in asked)
    signed = Buckets(settings.SHOAL_IMPORT_S3_ENDPOINT, "", "key", "word")
    assert all("X-Amz-Signature" in one.url for one in signed.find(source, Told()).files)  # type: ignore[arg-type]
