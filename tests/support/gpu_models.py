"""Small models for tests/gpu whose right answers are whole numbers: exact in FP32, and in TF32."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from tests.support import onnx_models as om
from tests.support.gpu_device import Device

WIDTH = 16
GRAPHS = (
    "optimization { execution_accelerators { gpu_execution_accelerator "
    '{ name: "cuda" parameters { key: "enable_cuda_graph" value: "1" } } } }'
)
Array = np.ndarray[Any, Any]


def weights(seed: int, width: int = WIDTH) -> Array:
    """Whole numbers below 8: a product with numbers below 1,000 is exact."""
    return np.random.default_rng(seed).integers(-7, 8, (width, width)).astype(np.float32)


def config(
    backend: str,
    device: Device,
    inputs: str,
    outputs: str,
    *,
    count: int = 1,
    batch: int = 0,
    extra: str = "",
) -> str:
    """A configuration; tensors as ``name:type:dims`` with dims joined by commas."""
    lines = [f'backend: "{backend}"', f"max_batch_size: {batch}"]
    for kind, items in (("input", inputs), ("output", outputs)):
        for item in items.split():
            name, datatype, dims = item.split(":")
            lines.append(f'{kind} {{ name: "{name}" data_type: TYPE_{datatype} dims: [{dims}] }}')
    lines.append(f"instance_group {{ count: {count} kind: {device.kind} }}")
    return "\n".join([*lines, extra, ""])


def save_torch(root: Path, name: str, module: Any, text: str) -> None:
    """Script the module into a model of the repository ``root``."""
    import torch

    folder = root / name / "1"
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch advises torch.export
        script: Any = torch.jit.script(module.eval())
    script.save(str(folder / "model.pt"))
    (root / name / "config.pbtxt").write_text(text)


def torch_product(seed: int, width: int = WIDTH) -> Any:
    """y = x @ weights(seed)"""
    from tests.support.gpu_modules import Product

    return Product(weights(seed, width))


def onnx_product(seed: int, width: int = WIDTH) -> Any:
    """y = x @ weights(seed)"""
    body = om.graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [om.tensor("x", om.FP32, "N", width)],
        [om.tensor("y", om.FP32, "N", width)],
    )
    body.initializer.append(numpy_helper.from_array(weights(seed, width), "w"))
    return body


def onnx_doubled() -> Any:
    """y = x + x, of any length"""
    body = [om.tensor("x", om.FP32, "N")], [om.tensor("y", om.FP32, "N")]
    return om.graph([helper.make_node("Add", ["x", "x"], ["y"])], *body)


def onnx_heavy(size: int) -> Any:
    """y = x + the sum of nothing of ``size`` bytes of zeros, which lie where the model runs."""
    columns = 1 << 20
    rows = size // 4 // columns
    body = om.graph(
        [
            helper.make_node("Gather", ["w", "index"], ["row"]),
            helper.make_node("ReduceSum", ["row"], ["nothing"], keepdims=0),
            helper.make_node("Add", ["x", "nothing"], ["y"]),
        ],
        [om.tensor("x", om.FP32, 1), om.tensor("index", 7, 1)],
        [om.tensor("y", om.FP32, 1)],
    )
    body.initializer.append(numpy_helper.from_array(np.zeros((rows, columns), np.float32), "w"))
    return body


def onnx_repeated(kind: int = om.FP32) -> Any:
    """y has so many times x as ``count`` says."""
    return om.graph(
        [helper.make_node("Expand", ["x", "count"], ["y"])],
        [om.tensor("x", kind, 1), om.tensor("count", 7, 1)],
        [om.tensor("y", kind, "M")],
    )


def onnx_sum_of_many() -> Any:
    """y is the sum of so many times x as ``count`` says, which first are all made."""
    return om.graph(
        [
            helper.make_node("Expand", ["x", "count"], ["all"]),
            # why Sin: ReduceSum of what was expanded may be fused, and the memory never asked for
            helper.make_node("Sin", ["all"], ["waves"]),
            helper.make_node("ReduceSum", ["waves"], ["y"], keepdims=1),
        ],
        [om.tensor("x", om.FP32, 1), om.tensor("count", 7, 1)],
        [om.tensor("y", om.FP32, 1)],
    )


def rows_of(number: int, rows: int, width: int = WIDTH) -> Array:
    """The tensor of request ``number``, unlike every other's: whole numbers below 1,000."""
    found = np.random.default_rng(number).integers(0, 1000, (rows, width)).astype(np.float32)
    found[:, 0], found[:, 1] = number % 1000, number // 1000 % 1000
    found[:, 2] = np.arange(rows)
    return found


def ensemble(root: Path, name: str, steps: Sequence[str], batch: int) -> None:
    """The models of ``steps``, one after the other: x goes in, y comes out of each."""
    lines = ['platform: "ensemble"', f"max_batch_size: {batch}"]
    lines += [
        f'{kind} {{ name: "{tensor}" data_type: TYPE_FP32 dims: [{WIDTH}] }}'
        for kind, tensor in (("input", "x"), ("output", "y"))
    ]
    names = ["x", *(f"between_{number}" for number in range(1, len(steps))), "y"]
    lines.append("ensemble_scheduling {")
    lines += [
        f'step {{ model_name: "{step}" model_version: -1 input_map {{ key: "x" value: "{taken}" }} '
        f'output_map {{ key: "y" value: "{given}" }} }}'
        for step, taken, given in zip(steps, names, names[1:], strict=False)
    ]
    (root / name / "1").mkdir(parents=True, exist_ok=True)
    (root / name / "config.pbtxt").write_text("\n".join([*lines, "}", ""]))
