"""Model repositories for tests of the lifecycle, and what a manager says about them."""

import asyncio
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

from worker_runtime.core.manager import Manager

IDENTITY = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
"""
GROUP = "instance_group { count: %d kind: KIND_CPU }\n"
WRONG = IDENTITY.replace('"OUTPUT0"', '"OUT"')
ENSEMBLE = """
platform: "ensemble"
input { name: "A" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "B" data_type: TYPE_FP32 dims: [ 4 ] }
ensemble_scheduling { step { model_name: "%s" model_version: -1
  input_map { key: "INPUT0" value: "A" } output_map { key: "OUTPUT0" value: "B" } } }
"""
_TICKS = count(1)
Make = Callable[..., Manager]


def put(root: Path, name: str, config: str = IDENTITY, versions: tuple[int, ...] = (1,)) -> Path:
    """Write a model; every write has another time than the one before."""
    path = root / name
    for version in versions:
        (path / str(version)).mkdir(parents=True, exist_ok=True)
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.pbtxt").write_text(config)
    stamp(path / "config.pbtxt")
    return path


def stamp(path: Path) -> None:
    now = 1_000_000_000_000 + next(_TICKS)
    os.utime(path, ns=(now, now))


def states(manager: Manager) -> dict[str, str]:
    """``model/version: STATE reason`` of everything in the index."""
    found = {}
    for row in manager.index():
        key = "/".join(filter(None, (row["name"], row.get("version", ""))))
        found[key] = " ".join(filter(None, (row.get("state", ""), row.get("reason", ""))))
    return found


async def settled(manager: Manager) -> dict[str, str]:
    while "UNLOADING" in str(states(manager)):
        await asyncio.sleep(0.005)
    return states(manager)
