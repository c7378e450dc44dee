"""How long the first request of a deployment at zero takes, and where the time goes.

``python -m benchmarks.waking [times]``: all of `shoal up`, a model of 100 MB whose files are on the
node, a policy with ``min: 0``. Each time waits until the deployment is idle (10 s), and sends one
request.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.idle import PORTS, installation
from benchmarks.repository import ROOT

SIDE: Final = 5000  # of a square matrix of FP32: 100 MB
PROMISE_S: Final = 0.5
POLICY: Final = {"min": 0, "max": 1, "idle": {"after_s": 10}}
STAGES: Final = ("download", "load", "warm")


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory(prefix="shoal-waking-") as folder:
        home, model = Path(folder) / "home", Path(folder) / "large.onnx"
        _model_write(model)
        kept = {name: text for name, text in os.environ.items() if not name.startswith("SHOAL_")}
        environment = {**kept, **dict.fromkeys(PORTS, "0"), "SHOAL_HOME": str(home)}
        with installation(environment, home):
            _shoal(environment, "deploy", str(model), "--name", "large")
            takes = _measured(environment, home, times)
    print(f"{times} wakes: median {statistics.median(takes):.2f} s, longest {max(takes):.2f} s")
    print(f"(promised: {PROMISE_S} s on a machine that has nothing else to do)")


def _measured(environment: dict[str, str], home: Path, times: int) -> list[float]:
    found = json.loads((home / "client.json").read_text())
    headers = {"Authorization": f"Bearer {found['token']}"}
    api = httpx.Client(base_url=f"{found['url']}/api/v1/", headers=headers, trust_env=False)
    shown = api.get("endpoints/large").raise_for_status().json()
    (name,) = (one["name"] for one in shown["deployments"])
    changed = api.patch(f"endpoints/large/deployments/{name}", json={"autoscale": POLICY})
    changed.raise_for_status()
    keys = json.loads(_shoal(environment, "endpoint", "get-credentials", "large", "-o", "json"))
    caller = httpx.Client(
        headers={"Authorization": f"Bearer {next(iter(keys.values()))}"},
        trust_env=False,
        timeout=120.0,
    )
    tensor = {"name": "x", "shape": [1, SIDE], "datatype": "FP32", "data": [0.5] * SIDE}
    url = f"{shown['plain_uri']}v2/models/large/infer"
    takes = []
    for _ in range(times):
        while not _is_idle(api):
            time.sleep(0.5)
        at, began = time.time(), time.monotonic()
        caller.post(url, json={"inputs": [tensor]}).raise_for_status()
        takes.append(time.monotonic() - began)
        print(f"{takes[-1]:6.2f} s: {_stages(api, at)}; load {os.getloadavg()[0]:.1f}", flush=True)
    return takes


def _is_idle(api: httpx.Client) -> bool:
    shown = api.get("endpoints/large").raise_for_status().json()
    return shown["serving_state"] == "Idle" and not shown["deployments"][0]["replicas"]


def _stages(api: httpx.Client, at: float) -> str:
    """When each stage of the operation ended, from the request on."""
    (row,) = api.get("endpoints/large").raise_for_status().json()["deployments"]
    operation = api.get(f"operations/{row['operation']}").raise_for_status().json()
    ends = {one["name"]: _seconds(one["ended_at"], at) for one in operation["stages"]}
    return ", ".join(f"{name} until {ends[name]}" for name in STAGES if name in ends)


def _seconds(moment: str | None, at: float) -> str:
    if moment is None:
        return "later"
    return f"{datetime.fromisoformat(moment).timestamp() - at:.2f} s"


def _shoal(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "shoal", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def _model_write(path: Path) -> None:
    matrix: Any = np.random.default_rng(0).standard_normal((SIDE, SIDE), dtype=np.float32)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, SIDE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, SIDE])],
        [numpy_helper.from_array(matrix, "w")],
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9  # as ONNX Runtime reads it
    onnx.save(model, path)


if __name__ == "__main__":
    main()
