"""The real road of a file: uvicorn, Redis, a Celery worker, the runtime's own inspection."""

import hashlib
import io
import os
import zipfile
from typing import Any

import httpx
import pytest
from onnx import TensorProto, helper

from tests.support.installation import Installation
from tests.support.onnx_models import add_sub, model_bytes
from tests.support.runtime_process import wait_until

CHUNK = 8 * 2**20
RAW = {"Content-Type": "application/offset+octet-stream"}


def begin(client: httpx.Client, filename: str, content: bytes) -> str:
    body = {
        "filename": filename, "size": len(content), "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip
    answer = client.post("/uploads", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def send(client: httpx.Client, upload_id: str, offset: int, piece: bytes) -> httpx.Response:
    headers = {**RAW, "Upload-Offset": str(offset)}
    return client.patch(f"/uploads/{upload_id}", content=piece, headers=headers)


def finished(client: httpx.Client, upload_id: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        upload: dict[str, Any] = client.get(f"/uploads/{upload_id}").json()
        return upload if upload["state"] in {"ready", "failed"} else None

    found: dict[str, Any] = wait_until(look, "the end of ingest")
    return found


def padded_model(size: int) -> bytes:
    """add_sub with ``size`` bytes of weights that nothing uses but the file holds."""
    body = add_sub()
    weights = helper.make_tensor("unused", TensorProto.UINT8, [size], os.urandom(size), raw=True)
    body.initializer.append(weights)
    return model_bytes(body)


def test_an_interrupted_upload_resumes_and_becomes_a_model(installation: Installation) -> None:
    content = padded_model(3 * CHUNK)
    with installation.client() as client:
        upload_id = begin(client, "add_sub.onnx", content)
        assert send(client, upload_id, 0, content[:CHUNK]).status_code == 200

        def half_a_chunk() -> Any:
            yield content[CHUNK : CHUNK + 1000]
            raise ConnectionResetError("the cable was pulled")

        with pytest.raises(ConnectionResetError):
            client.patch(
                f"/uploads/{upload_id}",
                content=half_a_chunk(),
                headers={**RAW, "Upload-Offset": str(CHUNK)},
            )
        assert client.post(f"/uploads/{upload_id}/complete", json={}).status_code == 409
        offset = int(client.head(f"/uploads/{upload_id}").headers["Upload-Offset"])
        assert offset == CHUNK
        while offset < len(content):
            answer = send(client, upload_id, offset, content[offset : offset + CHUNK])
            assert answer.status_code == 200, answer.text
            offset = answer.json()["offset"]
        assert client.post(f"/uploads/{upload_id}/complete", json={}).status_code == 202
        upload = finished(client, upload_id)
        assert upload["state"] == "ready", upload["error"]
        assert [step["status"] for step in upload["steps"]] == ["succeeded"] * 3
        (model,) = upload["inspection"]["models"]
        assert {tensor["name"] for tensor in model["inputs"]} == {"INPUT0", "INPUT1"}
        body = {"name": "add-sub", "upload_id": upload_id}
        answer = client.post("/models", json=body)
        assert answer.status_code == 201, answer.text
        assert answer.json()["repo_models"][0]["backend"] == "onnxruntime"
        listed = client.get("/models", params={"q": "add-sub"}).json()["items"]
        assert listed[0]["latest"]["digest"] == answer.json()["digest"]
        check = {"text": 'name: "add_sub"\nmax_batch_size: -1\n', "repo_model": "add_sub"}
        verdict = client.post("/config/validate", json={**check, "upload_id": upload_id}).json()
        assert verdict["ok"] is False
        assert verdict["problems"][0]["message"]


@pytest.mark.parametrize(
    ("filename", "content", "code"),
    [
        ("not.onnx", b"plain text, no model" * 10, "NotAnOnnxFile"),
        ("cut.onnx", model_bytes(add_sub())[:100], ("NotAnOnnxFile", "ModelLoadFailed")),
    ],
)
def test_a_bad_model_ends_failed_in_the_runtimes_words(
    installation: Installation, filename: str, content: bytes, code: str | tuple[str, ...]
) -> None:
    with installation.client() as client:
        upload_id = begin(client, filename, content)
        send(client, upload_id, 0, content)
        client.post(f"/uploads/{upload_id}/complete", json={})
        upload = finished(client, upload_id)
    assert upload["state"] == "failed"
    assert upload["error"]["code"] in code
    assert upload["error"]["message"]
    left = [path.name for path in (installation.home / "uploads").iterdir()]
    assert not [name for name in left if name.startswith(upload_id)]


def test_a_zip_that_leads_out_never_touches_the_disk(installation: Installation) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../evil", "x")
    with installation.client() as client:
        upload_id = begin(client, "evil.zip", buffer.getvalue())
        send(client, upload_id, 0, buffer.getvalue())
        client.post(f"/uploads/{upload_id}/complete", json={})
        upload = finished(client, upload_id)
    assert upload["error"]["code"] == "ArchiveUnsafe"
    assert not list(installation.home.rglob("evil"))


def test_memory_stays_flat_however_large_the_file(installation: Installation) -> None:
    size = 40 * CHUNK
    piece = os.urandom(CHUNK)
    with installation.client() as client:
        answer = client.post("/uploads", json={"filename": "big.zip", "size": size})
        upload_id = str(answer.json()["id"])
        send(client, upload_id, 0, piece)
        before = installation.memory_bytes("web")
        for offset in range(CHUNK, size, CHUNK):
            assert send(client, upload_id, offset, piece).status_code == 200
        grown = installation.memory_bytes("web") - before
        assert client.delete(f"/uploads/{upload_id}").status_code == 204
    assert grown < 6 * CHUNK, f"grew by {grown} bytes over {size} uploaded"


def test_a_body_too_large_is_refused_before_it_is_stored(installation: Installation) -> None:
    with installation.client() as client:
        upload_id = begin(client, "m.onnx", b"x")
        answer = send(client, upload_id, 0, bytes(18 * 2**20))
        assert (answer.status_code, answer.json()["code"]) == (413, "PayloadTooLarge")
        assert client.get(f"/uploads/{upload_id}").json()["offset"] == 0


def test_an_ingest_whose_worker_was_killed_is_resumed(installation: Installation) -> None:
    """The message waits in Redis while no worker lives; a new worker takes it up."""
    content = model_bytes(add_sub())
    installation.kill("worker")
    wait_until(installation.nobody_listens, "Redis to notice")
    with installation.client() as client:
        upload_id = begin(client, "later.onnx", content)
        send(client, upload_id, 0, content)
        client.post(f"/uploads/{upload_id}/complete", json={})
        assert client.get(f"/uploads/{upload_id}").json()["state"] == "verifying"
        installation.start_worker()
        assert finished(client, upload_id)["state"] == "ready"


def test_uploads_go_on_while_redis_is_away(installation: Installation) -> None:
    content = model_bytes(add_sub())
    with installation.client() as client:
        upload_id = begin(client, "redisless.onnx", content)
        installation.kill("redis")
        try:
            assert send(client, upload_id, 0, content).status_code == 200
            done = client.post(f"/uploads/{upload_id}/complete", json={})
            assert done.status_code == 202, done.text
            health = httpx.get(f"{installation.url}/readyz", timeout=10)
            assert (health.status_code, health.json()["degraded"]) == (200, True)
        finally:
            installation.start_redis()
        # beat would send this job every 20 s; the lost message is made good by it
        script = (
            "import django; django.setup();"
            "from django.utils import timezone; from datetime import timedelta;"
            "from controlplane.registry.services.resume import ingests_resume;"
            "assert ingests_resume(now=timezone.now() + timedelta(minutes=1)) == 1"
        )
        installation.python(script)
        assert finished(client, upload_id)["state"] == "ready"
    # why: this web rests from Redis for some seconds, and here is no beat to make that good
    installation.kill("web")
    installation.start_web()
