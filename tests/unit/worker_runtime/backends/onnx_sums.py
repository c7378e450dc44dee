"""An ONNX model of sums and differences for tests of its backend, and configurations of it."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.support import onnx_models as om
from tests.support.tensors import load_spec
from worker_runtime.backends.base import LoadSpec
from worker_runtime.repository.pbtxt import parse

ROWS = np.random.default_rng(0).random((6, 16), np.float32)
PAIR = {"INPUT0": ROWS, "INPUT1": ROWS[::-1].copy()}


def sums_in(folder: Path) -> Path:
    """The folder, with the model in it."""
    (folder / "model.onnx").write_bytes(om.model_bytes(om.add_sub(kind=om.FP32)))
    return folder


def spec(folder: Path, text: str = "", **more: Any) -> LoadSpec:
    return load_spec(folder, 'backend: "onnxruntime"\n' + text, **more)


def accelerated(kind: str, *items: str) -> Any:
    blocks = "".join(f"{kind}_execution_accelerator {{ {item} }}" for item in items)
    return parse(f"optimization {{ execution_accelerators {{ {blocks} }} }}")


def entry(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}" value: "{value}" }}'
