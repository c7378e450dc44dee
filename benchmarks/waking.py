"""How long the first request of a deployment at zero takes, and where the time goes.

``python -m benchmarks.waking [waves] [--each N] [--only KIND]``: all of `shoal up`, a model of
100 MB whose files are on the node, policies with ``min: 0``. Deployments take turns: N whose
runtimes are forked, and N with a variable of their own, whose runtimes are not. Each wave waits
until all are idle (20 s), and sends one request to each, a second after the answer to the one
before: by then all is still.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.idle import PORTS, installation
from benchmarks.repository import ROOT
from tests.support import reaper

SIDE: Final = 5000  # of a square matrix of FP32: 100 MB
PROMISE_S: Final = 0.5
BETWEEN_S: Final = 1.0
POLICY: Final = {"min": 0, "max": 1, "idle": {"after_s": 20}}
KINDS: Final[dict[str, dict[str, str]]] = {"forked": {}, "ordinary": {"ORDINARY": "1"}}
STAGES: Final = ("download", "load", "warm")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waking")
    parser.add_argument("waves", type=int, nargs="?", default=10)
    parser.add_argument("--each", type=int, default=1, help="deployments of each kind (default: 1)")
    parser.add_argument("--only", choices=KINDS, help="deployments of one kind")
    options = parser.parse_args()
    reaper.guard()
    kinds = [options.only] if options.only else list(KINDS)
    names = [f"{kind}-{number}" for number in range(options.each) for kind in kinds]
    with tempfile.TemporaryDirectory(prefix="shoal-waking-") as folder:
        home, model = Path(folder) / "home", Path(folder) / "large.onnx"
        model_write(model)
        free = dict.fromkeys(PORTS, "0")
        environment = {**reaper.clean_environment(), **free, "SHOAL_HOME": str(home)}
        with installation(environment, home):
            for name in names:
                _shoal(environment, "deploy", str(model), "--name", name)
            takes = _measured(environment, home, names, options.waves)
    for kind, seconds in takes.items():
        middle, late = np.percentile(seconds, (50, 99))
        print(
            f"{kind}: {len(seconds)} wakes: median {middle:.3f} s, p99 {late:.3f} s, "
            f"longest {max(seconds):.3f} s"
        )
    print(f"(promised: p99 of {PROMISE_S} s on a machine that has nothing else to do)")


def _measured(
    environment: dict[str, str], home: Path, names: Sequence[str], waves: int
) -> dict[str, list[float]]:
    """Seconds of each wake, by kind."""
    found = json.loads((home / "client.json").read_text())
    headers = {"Authorization": f"Bearer {found['token']}"}
    api = httpx.Client(base_url=f"{found['url']}/api/v1/", headers=headers, trust_env=False)
    callers = {name: _caller(environment, api, name) for name in names}
    tensor = {"name": "x", "shape": [1, SIDE], "datatype": "FP32", "data": [0.5] * SIDE}
    body = {"inputs": [tensor]}
    takes: dict[str, list[float]] = {_kind(name): [] for name in names}
    for _ in range(waves):
        while not all(_is_idle(api, name) for name in names):
            time.sleep(0.5)
        for name, caller in callers.items():
            time.sleep(BETWEEN_S)
            at, began = time.time(), time.monotonic()
            caller.post(f"v2/models/{name}/infer", json=body).raise_for_status()
            takes[_kind(name)].append(time.monotonic() - began)
            said = f"{_stages(api, name, at)}; load {os.getloadavg()[0]:.1f}"
            print(f"{name:12} {takes[_kind(name)][-1]:6.3f} s: {said}", flush=True)
    return takes


def _kind(name: str) -> str:
    return name.partition("-")[0]


def _caller(environment: dict[str, str], api: httpx.Client, name: str) -> httpx.Client:
    """Of an endpoint whose deployment goes to zero from now on."""
    shown = api.get(f"endpoints/{name}").raise_for_status().json()
    (row,) = shown["deployments"]
    changes = {"autoscale": POLICY, "environment": KINDS[_kind(name)]}
    api.patch(f"endpoints/{name}/deployments/{row['name']}", json=changes).raise_for_status()
    keys = json.loads(_shoal(environment, "endpoint", "get-credentials", name, "-o", "json"))
    return httpx.Client(
        base_url=shown["plain_uri"],
        headers={"Authorization": f"Bearer {next(iter(keys.values()))}"},
        trust_env=False,
        timeout=120.0,
    )


def _is_idle(api: httpx.Client, name: str) -> bool:
    shown = api.get(f"endpoints/{name}").raise_for_status().json()
    return shown["serving_state"] == "Idle" and not shown["deployments"][0]["replicas"]


def _stages(api: httpx.Client, name: str, at: float) -> str:
    """When each stage of the operation ended, from the request on."""
    (row,) = api.get(f"endpoints/{name}").raise_for_status().json()["deployments"]
    operation = api.get(f"operations/{row['operation']}").raise_for_status().json()
    ends = {one["name"]: _seconds(one["ended_at"], at) for one in operation["stages"]}
    return ", ".join(f"{stage} until {ends[stage]}" for stage in STAGES if stage in ends)


def _seconds(moment: str | None, at: float) -> str:
    if moment is None:
        return "later"
    return f"{datetime.fromisoformat(moment).timestamp() - at:.2f} s"


def _shoal(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "shoal", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def model_write(path: Path) -> None:
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
