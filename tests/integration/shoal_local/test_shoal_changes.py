"""A live endpoint is changed in every way under constant calls: updated, rolled back, re-keyed."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.shoal_local.test_shoal_up import Installation
from tests.support import onnx_models as om

DEADLINE_S = 120
BLUE = "/endpoints/digits/deployments/blue"
BODY = {
    "inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1.0, 2.0, 3.0, 4.0]}]
}


class Caller:
    """Sends requests one after another until it is stopped; ``seen`` counts what came back."""

    def __init__(self, url: str, key: str) -> None:
        self.seen: Counter[str] = Counter()
        self._stop = threading.Event()
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=10
        )
        self._url = url
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Caller":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                answer = self._client.post(self._url, json=BODY)
                self.seen[str(answer.status_code)] += 1
            except httpx.HTTPError as error:
                self.seen[type(error).__name__] += 1


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    installation = Installation(tmp_path_factory.mktemp("changes") / "home")
    installation.start()
    about = installation.client()
    headers = {"Authorization": f"Bearer {about['token']}"}
    try:
        with httpx.Client(
            base_url=f"{about['url']}/api/v1", headers=headers, trust_env=False, timeout=30
        ) as client:
            yield client
    finally:
        installation.end()


def until(api: httpx.Client, path: str, ends: tuple[str, ...], key: str = "state") -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        body = api.get(path).json()
        if body[key] in ends:
            return body
        assert time.monotonic() < deadline, body
        signal.sigtimedwait([], 0.2)


def register(api: httpx.Client, content: bytes) -> int:
    made = api.post("/uploads", json={"filename": "digits.onnx", "size": len(content)}).json()
    path = f"/uploads/{made['id']}"
    raw = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
    api.patch(path, content=content, headers=raw)
    api.post(f"{path}/complete", json={})
    upload = until(api, path, ("ready", "failed"))
    assert upload["state"] == "ready", upload["error"]
    answer = api.post("/models", json={"name": "digits", "upload_id": made["id"]})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["version"])


def done(api: httpx.Client, answer: httpx.Response) -> None:
    assert answer.status_code == 202, answer.text
    place = answer.headers["Operation-Location"].removeprefix("/api/v1")
    ended = until(api, place, ("Succeeded", "Failed", "Canceled"))
    assert ended["state"] == "Succeeded", ended["error"]


def status(url: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(url, json=BODY, headers=headers, trust_env=False).status_code


def settles(url: str, key: str, expected: int) -> float:
    """Seconds until the gateway answers so."""
    began = time.monotonic()
    while status(url, key) != expected:
        assert time.monotonic() - began < DEADLINE_S, (expected, status(url, key))
        signal.sigtimedwait([], 0.1)
    return time.monotonic() - began


def test_nothing_is_lost_while_a_deployment_changes(api: httpx.Client, tmp_path: Path) -> None:
    del tmp_path
    register(api, om.model_bytes(om.identity(om.FP32, "N", 4, source="x", target="y")))
    done(api, api.post("/deploy", json={"model": "digits"}))
    endpoint = api.get("/endpoints/digits").json()
    url = f"{endpoint['plain_uri']}v2/models/digits/infer"
    key = api.post("/endpoints/digits/keys/list").json()["primaryKey"]
    assert status(url, key) == 200
    served = api.get(f"{BLUE}/models/digits/config").json()
    assert served["max_batch_size"] == 4
    register(api, om.model_bytes(om.identity(om.FP32, "N", 4, source="x", target="z")))
    api.put("/models/digits/aliases/champion", json={"version": "2"})
    with Caller(url, key) as caller:
        done(api, api.post(f"{BLUE}/update", json={"version": "@champion"}))
        assert api.get(BLUE).json()["version"] == 2
        done(api, api.post(f"{BLUE}/rollback", json={}))
        assert api.get(BLUE).json()["version"] == 1
    assert set(caller.seen) == {"200"}, caller.seen
    assert caller.seen["200"] > 20

    api.put("/endpoints/digits/traffic", json={"traffic": {}})
    done(api, api.post(f"{BLUE}/stop"))
    assert api.get(BLUE).json()["serving_state"] == "Stopped"
    done(api, api.post(f"{BLUE}/start"))
    api.put("/endpoints/digits/traffic", json={"traffic": {"blue": 100}})
    settles(url, key, 200)

    api.patch("/endpoints/digits", json={"auth_mode": "aml_token"})
    token = api.post("/endpoints/digits/token").json()["accessToken"]
    settles(url, token, 200)
    assert status(url, key) == 401
    api.post("/endpoints/digits/token/revoke")
    assert settles(url, token, 401) < 5

    drain = api.post("/nodes/local/drain", json={})
    assert drain.status_code == 409, drain.text  # the only node: there is nowhere to go
    assert drain.json()["stuck"][0]["deployment"] == "digits/blue"
