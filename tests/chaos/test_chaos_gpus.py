"""GPUs whose memory runs out: nodes whose GPUs are told by a file, models that raise as PyTorch."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chaos.load import BODY, Load
from tests.chaos.studio import (
    GPU_FULL,
    LEAKING_GPU_MEMORY,
    TOO_LARGE_FOR_GPU,
    python_model,
    until,
)
from tests.chaos.system import Node, System
from tests.chaos.table import Case

GIB = 2**30
WITH_GPUS = """
import json, os, pathlib, runpy
from wire.messages import GpuInfo
from node_agent import gpus, machine
told = pathlib.Path(os.environ["SHOAL_HOME"]) / "gpus.json"
def told_of(visible):
    found = [GpuInfo(**gpu) for gpu in json.loads(told.read_text())]
    return tuple(gpu for gpu in found if visible is None or gpu.uuid in visible.split(","))
gpus.gpus = machine.gpus = told_of
runpy.run_module("node_agent", run_name="__main__")
"""


def gpu(node: Node, used: int) -> None:
    """The node's only GPU has 16 GiB, and so much of it is used by others."""
    told = {
        "index": 0,
        "uuid": f"GPU-{node.name}",
        "name": "Simulated T4",
        "memory_total_bytes": 16 * GIB,
        "memory_used_bytes": used,
    }
    node.home.mkdir(parents=True, exist_ok=True)
    temporary = node.home / "gpus.new"
    temporary.write_text(json.dumps([told]))
    temporary.replace(node.home / "gpus.json")


@pytest.fixture
def gpu_nodes(system: System, tmp_path: Path) -> Iterator[dict[str, str]]:
    """g1 with a free GPU, g2 with one that others fill; the labels that only they have."""
    for name, used in (("g1", GIB), ("g2", 16 * GIB)):
        # why a fresh folder: the credential of a node that was removed is worth nothing
        node = system.new_node(name, home=tmp_path / name)
        node.program = ("-c", WITH_GPUS)
        gpu(node, used)
        node.start()
        system.online(name)
    try:
        system.studio.http.post("/instance-types", json={"name": "one-gpu", "gpu_count": 1})
        yield system.label("gpus", "g1", "g2")
    finally:
        system.studio.http.delete("/endpoints/leaky")
        for name in ("g1", "g2"):
            system.remove_node(name)


def test_gpu_memory_runs_out_while_serving(
    system: System, gpu_nodes: dict[str, str], case: Case
) -> None:
    """GPU out of memory while serving, again and again (simulated GPUs)."""
    studio = system.studio
    leaking, too_large = (
        str(studio.register("leaky", python_model("leaky", code), "leaky.zip"))
        for code in (LEAKING_GPU_MEMORY, TOO_LARGE_FOR_GPU)
    )
    wanted = {"node_labels": gpu_nodes, "instance_type": "one-gpu", "version": leaking}
    studio.succeeded(studio.deploy("leaky", "leaky", **wanted))
    first = replica(system)
    assert (first["node"], first["gpus"]) == ("g1", ["GPU-g1"])

    with case.under(system.load("leaky", "leaky")) as load:
        began = fill(system)
        until(lambda: replica(system)["generation"] == 2, "it is started again")
        until(lambda: well(system), "it is ready again")
        until(lambda: asked(system, BODY) == 200, "the gateway has heard of it")
        healed = time.monotonic() - began
        load.more(40)
    restarted = [event for event in events(system) if event["verb"] == "replica.restarted"]
    assert "ran out of GPU memory" in restarted[0]["message"]
    lost = load.lost

    with case.under(system.load("leaky", "leaky")) as load:
        fill(system)
        error = until(lambda: studio.deployment("leaky")["error"], "it says why it stays")
        assert error["code"] == "GpuOutOfMemory", error
        assert "g2: has not 1 GPU" in error["detail"], error
        assert "the replica ran out of memory on Simulated T4" in error["detail"], error
        assert replica(system)["id"] == first["id"], "it serves on where it is"
        began = time.monotonic()
        gpu(system.nodes["g2"], GIB)
        moved = until(lambda: moved_to(system, "g2"), "it moves")
        took = time.monotonic() - began
        load.more(40)
    assert moved["gpus"] == ["GPU-g2"]
    assert studio.deployment("leaky")["error"] is None
    assert only_the_models_words(load), load.explain()

    footprint_is_remembered(system, too_large)
    assert str(studio.deployment("leaky")["version"]) == leaking
    case.saw(
        f"started again, serving after {healed:.1f} s ({lost} lost); again: stays and says why; "
        f"a GPU became free: its twin there served after {took:.1f} s, and but for the model's own "
        f"errors ({load.lost}) nothing was lost; what failed to load is not placed there again"
    )


def test_gpu_memory_runs_out_where_another_one_serves(
    system: System, gpu_nodes: dict[str, str], case: Case
) -> None:
    """GPU out of memory while serving, one of two replicas (simulated GPUs)."""
    studio = system.studio
    gpu(system.nodes["g2"], GIB)
    until(lambda: room_on(system, "g2"), "g2 reports its free GPU")
    version = studio.register("leaky", python_model("leaky", LEAKING_GPU_MEMORY), "leaky.zip")
    wanted = {"node_labels": gpu_nodes, "instance_type": "one-gpu", "instance_count": 2}
    studio.succeeded(studio.deploy("leaky", "leaky", version=str(version), **wanted))
    with case.under(system.load("leaky", "leaky")) as load:
        began = fill(system)
        until(lambda: generations(system) == [1, 2], "the leaking one is started again")
        until(lambda: all_well(system), "both serve again")
        took = time.monotonic() - began
        load.more(40)
    assert only_the_models_words(load), load.explain()
    assert generations(system) == [1, 2], "the other one was left alone"
    case.saw(
        f"out of traffic, then started again, both ready after {took:.1f} s; but for the model's "
        f"own errors ({load.lost}) nothing was lost"
    )


def footprint_is_remembered(system: System, version: str) -> None:
    """This version needs 20 GiB: known after its first load, and told when asked again."""
    studio = system.studio
    update = "/endpoints/leaky/deployments/blue/update"
    ended = studio.finished(studio.send("POST", update, {"version": version})["id"])
    assert ended["error"]["code"] == "GpuOutOfMemory", ended["error"]
    again = studio.finished(studio.send("POST", update, {"version": version})["id"])
    assert again["error"]["code"] == "OutOfCapacity", again["error"]
    assert "with less it could not be loaded on" in again["error"]["detail"], again["error"]
    asked = {"model": "leaky", "version": version, "instance_type": "one-gpu"}
    verdicts = {
        item["node"]: item for item in studio.send("POST", "/placement/preview", asked)["items"]
    }
    for name in ("g1", "g2"):
        assert "1 GPU with 21.5 GB free" in verdicts[name]["reason"], verdicts[name]


def asked(system: System, body: Any) -> int:
    """The status of one request through the gateway."""
    headers = {"Authorization": f"Bearer {system.studio.key('leaky')}"}
    url = system.studio.infer_url("leaky", "leaky")
    return httpx.post(url, headers=headers, json=body, trust_env=False, timeout=30).status_code


def fill(system: System) -> float:
    """One request after which the model leaks; when it was sent."""
    began = time.monotonic()
    leak = {"inputs": [{**BODY["inputs"][0], "data": [-1, 0, 0, 0]}]}
    assert asked(system, leak) != 503, "no replica took it"
    return began


def replica(system: System) -> Any:
    return system.studio.replicas("leaky")[0]


def well(system: System) -> bool:
    seen = replica(system)
    return seen["state"] == "ready" and seen["error"] is None


def all_well(system: System) -> bool:
    found = system.studio.replicas("leaky")
    return all((item["state"], item["error"]) == ("ready", None) for item in found)


def generations(system: System) -> list[int]:
    return sorted(item["generation"] for item in system.studio.replicas("leaky"))


def room_on(system: System, node: str) -> bool:
    gpus = system.studio.node(node)["info"]["gpus"]
    return bool(gpus) and gpus[0]["memory_used_bytes"] == GIB


def moved_to(system: System, node: str) -> Any:
    """The only replica, once it is this node's and serves."""
    found = system.studio.replicas("leaky")
    there = [item for item in found if (item["node"], item["state"]) == (node, "ready")]
    return there[0] if there and len(found) == 1 else None


def events(system: System) -> list[Any]:
    return list(system.studio.get("/events?subject=endpoint/leaky&limit=200")["items"])


def only_the_models_words(load: Load) -> bool:
    return all(GPU_FULL in words for words in load.words)
