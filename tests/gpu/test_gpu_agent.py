"""What a node's agent starts, in its sandbox, reaches the card: by its fork server, and without."""

import dataclasses
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.support import gpu_models as gm
from tests.support import onnx_models as om
from tests.support.agent_node import DEADLINE_S, Node
from tests.support.fake_control_plane import FakeControlPlane
from tests.support.gpu_device import Device
from wire.messages import DesiredReplica, ObservedReplica

TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
ROWS = 100


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    control_plane = FakeControlPlane()
    with control_plane.serve(), Node(tmp_path / "home", control_plane) as node:
        node.home.mkdir()
        yield node


@pytest.fixture
def runs_on(device: Device) -> Device:
    """Without a card the agent's runtimes are no doubles: their models run on the CPU."""
    return Device(device.name)


def replica(node: Node, folder: Path, runs_on: Device, replica_id: str) -> DesiredReplica:
    """Models of both backends, made in ``folder``."""
    from tests.support.gpu_modules import Lookup

    if not folder.exists():
        folder.mkdir()
        text = gm.config("onnxruntime", runs_on, *TENSORS, batch=8)
        om.save(folder, "product", gm.onnx_product(3), text)
        text = gm.config("pytorch", runs_on, "x:FP32:1 index:INT64:1", "y:FP32:1")
        gm.save_torch(folder, "lookup", Lookup(ROWS), text)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return DesiredReplica(
        replica_id=replica_id,
        generation=1,
        endpoint="cards",
        deployment="blue",
        files=tuple(
            node.control_plane.file(str(path.relative_to(folder)), path.read_bytes())
            for path in files
        ),
        models=("lookup", "product"),
        load_timeout_s=DEADLINE_S,
    )


def product(seen: ObservedReplica) -> None:
    array = gm.rows_of(5, 4)
    tensor = {"name": "x", "datatype": "FP32", "shape": list(array.shape), "data": array.tolist()}
    found = ask(seen, "product", tensor)
    np.testing.assert_array_equal(found, (array @ gm.weights(3)).reshape(-1))


def lookup(seen: ObservedReplica, index: int) -> list[float]:
    return ask(
        seen,
        "lookup",
        {"name": "x", "datatype": "FP32", "shape": [1], "data": [1.0]},
        {"name": "index", "datatype": "INT64", "shape": [1], "data": [index]},
    )


def ask(seen: ObservedReplica, model: str, *tensors: dict[str, Any]) -> list[float]:
    url = f"http://127.0.0.1:{seen.http_port}/v2/models/{model}/infer"
    answer = httpx.post(url, json={"inputs": tensors}, timeout=30).raise_for_status().json()
    return list(answer["outputs"][0]["data"])


def test_replicas_in_their_sandbox_compute_on_the_card(
    node: Node, runs_on: Device, tmp_path: Path, figures: Any
) -> None:
    forked = replica(node, tmp_path / "models", runs_on, "r1")
    other = replica(node, tmp_path / "models", runs_on, "r2")
    other = dataclasses.replace(other, environment={"OWN": "1"})  # those are not forked
    node.control_plane.desire(forked, other)
    began = time.monotonic()
    node.start()
    for replica_id, how in (("r1", True), ("r2", False)):
        seen = node.ready(replica_id)
        product(seen)
        assert lookup(seen, 7) == [8]
        notes = node.folder(replica_id).agent_log.read_text()
        assert (", a fork\n" in notes) is how, notes
    report = node.control_plane.reports[-1].node
    sys.stdout.write(f"{report.sandbox}\n{node.folder('r1').runtime_log.read_text()[-4000:]}\n")
    held = sorted(name for name, kept in report.sandbox.items() if kept)
    figures(both_ready_s=time.monotonic() - began, gpus=len(report.gpus), sandbox=" ".join(held))
    assert bool(report.gpus) == runs_on.is_gpu


def test_a_replica_that_lost_its_card_is_started_again(
    node: Node, runs_on: Device, tmp_path: Path, card: str, figures: Any
) -> None:
    node.control_plane.desire(replica(node, tmp_path / "models", runs_on, "r1"))
    node.start()
    first = node.ready("r1")
    assert lookup(first, 7) == [8]
    began = time.monotonic()
    with pytest.raises(httpx.HTTPStatusError):
        lookup(first, 1 << 40)
    again = node.wait_for("r1", lambda seen: seen.state == "ready" and seen.pid != first.pid)
    figures(back_s=time.monotonic() - began)
    assert lookup(again, 7) == [8]
    product(again)
