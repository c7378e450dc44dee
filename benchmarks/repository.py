"""Makes and caches the Triton repository of each workload, and the input data for its load."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.workloads import Workload

ROOT = Path(__file__).parents[1]
BUILD = ROOT / ".build"
CORES = len(os.sched_getaffinity(0))


def prepared(workload: Workload) -> Path:
    """The repository's folder. The graph is made once; the config follows this machine's cores."""
    repository = BUILD / "bench-models" / workload.key
    for name in workload.parts:
        version = repository / name / "1"
        version.mkdir(parents=True, exist_ok=True)
        graph = version / "model.onnx"
        if not graph.exists():
            subprocess.run(
                [sys.executable, "-m", "benchmarks.networks", workload.key, str(graph)],
                cwd=ROOT,
                check=True,
            )
        (repository / name / "config.pbtxt").write_text(_config(workload, name))
    if workload.steps > 1:
        (repository / workload.model / "1").mkdir(parents=True, exist_ok=True)
        (repository / workload.model / "config.pbtxt").write_text(_ensemble(workload))
    return repository


def graph_path(workload: Workload) -> Path:
    return prepared(workload) / workload.parts[0] / "1" / "model.onnx"


def sample(workload: Workload, batch: int) -> dict[str, np.ndarray]:
    """Seeded inputs with the batch axis in front."""
    rng = np.random.default_rng(0)
    feeds: dict[str, np.ndarray] = {}
    for tensor in workload.inputs:
        shape = (batch, *tensor.shape)
        if tensor.datatype == "FP32":
            feeds[tensor.name] = rng.random(shape, np.float32)
        else:
            dtype = np.int32 if tensor.datatype == "INT32" else np.int64
            feeds[tensor.name] = rng.integers(0, tensor.top, shape, dtype)
    return feeds


def input_data_file(workload: Workload) -> Path:
    """The sample in perf_analyzer's JSON form: random token ids would leave the vocabulary."""
    path = BUILD / "bench-models" / f"{workload.key}.json"
    values = {name: array[0].ravel().tolist() for name, array in sample(workload, 1).items()}
    path.write_text(json.dumps({"data": [values]}))
    return path


def _config(workload: Workload, name: str) -> str:
    lines = [f'name: "{name}"', 'backend: "onnxruntime"', *_tensors(workload)]
    instances = CORES if workload.instance_per_core else 1
    lines.append(f"instance_group [{{ count: {instances} kind: KIND_CPU }}]")
    if workload.dynamic_batching:
        lines.append("dynamic_batching { }")
    return "\n".join(lines) + "\n"


def _ensemble(workload: Workload) -> str:
    """The steps behind one another."""
    first = [tensor.name for tensor in workload.inputs]
    last = [name for name, _, _ in workload.outputs]
    lines = [f'name: "{workload.model}"', 'platform: "ensemble"', *_tensors(workload)]
    lines.append("ensemble_scheduling {")
    taken = first
    for number, part in enumerate(workload.parts, 1):
        given = last if number == workload.steps else [f"{name}_{number}" for name in last]
        maps = [_pair("input_map", *pair) for pair in zip(first, taken, strict=True)]
        maps += [_pair("output_map", *pair) for pair in zip(last, given, strict=True)]
        lines.append(f'  step {{ model_name: "{part}" model_version: -1 {" ".join(maps)} }}')
        taken = given
    return "\n".join([*lines, "}"]) + "\n"


def _tensors(workload: Workload) -> list[str]:
    return [
        f"max_batch_size: {workload.max_batch_size}",
        *(_tensor("input", item.name, item.datatype, item.shape) for item in workload.inputs),
        *(_tensor("output", *item) for item in workload.outputs),
    ]


def _tensor(kind: str, name: str, datatype: str, shape: tuple[int, ...]) -> str:
    dims = ", ".join(map(str, shape))
    return f'{kind} [{{ name: "{name}" data_type: TYPE_{datatype} dims: [{dims}] }}]'


def _pair(kind: str, key: str, value: str) -> str:
    return f'{kind} {{ key: "{key}" value: "{value}" }}'
