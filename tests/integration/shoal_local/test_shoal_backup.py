"""An installation moves to another folder by one file: the same answers under the same key."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from onnx import TensorProto

from tests.integration.shoal_local.test_shoal_up import DEADLINE_S, Installation, until
from tests.support import onnx_models as om

X = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1.0, 2.0, 3.0, 4.0]}


@contextmanager
def started(home: Path) -> Iterator[Installation]:
    installation = Installation(home)
    installation.start()
    try:
        yield installation
    finally:
        installation.end()


def shoal(installation: Installation, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *words, "-o", "json"],
        env=installation.environment, capture_output=True, text=True, timeout=DEADLINE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def answer(installation: Installation, key: str) -> httpx.Response:
    plain = installation.client()["gateway_plain_url"]
    return httpx.post(
        f"{plain}/endpoints/moving/v2/models/moving/infer",
        json={"inputs": [X]}, headers={"Authorization": f"Bearer {key}"}, trust_env=False,
    )  # fmt: skip


def test_a_backup_taken_while_it_runs_serves_elsewhere(tmp_path: Path) -> None:
    model, archive = tmp_path / "moving.onnx", tmp_path / "shoal.tar"
    model.write_bytes(om.model_bytes(om.identity(TensorProto.FLOAT, "N", 4)))
    with started(tmp_path / "first") as first:
        key = shoal(first, "deploy", str(model), "--name", "moving")["primaryKey"]
        before = answer(first, key)
        assert before.status_code == 200, before.text
        written = shoal(first, "backup", str(archive))
        assert written["blobs"] == 1
        assert answer(first, key).status_code == 200
    second = Installation(tmp_path / "second")
    assert shoal(second, "restore", str(archive))["created"] == written["created"]
    with started(tmp_path / "second") as second:
        until(lambda: answer(second, key).status_code == 200, lambda: second.text)
        assert answer(second, key).json()["outputs"] == before.json()["outputs"]
        assert answer(second, "wrong").status_code == 401
