"""Files to drop: of each kind, right and wrong, as exporters and people make them."""

import warnings
import zipfile
from pathlib import Path

import torch

from tests.e2e import tiny_model
from tests.support import onnx_models as om

PLANTED = """# ours, from the load test of March
name: "planted"
backend: "onnxruntime"
max_batch_size: 32
input [ { name: "scale_0.tmp_1" data_type: TYPE_INT64 dims: [ 4 ] } ]
output [ { name: "a/b:0" data_type: TYPE_FP32 dims: [ 3 ] } ]  # three classes
dynamic_batching {
  preferred_batch_size: [ 8, 16, 64 ]
  max_queue_delay_microseconds: 10000
}
model_transaction_policy { decoupled: false }
"""
ENSEMBLE = """name: "pipeline"
platform: "ensemble"
max_batch_size: 4
input [ { name: "RAW" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "SCORES" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "prepare"
      model_version: -1
      input_map { key: "x" value: "RAW" }
      output_map { key: "y" value: "clean" }
    },
    {
      model_name: "score"
      model_version: -1
      input_map { key: "x" value: "clean" }
      output_map { key: "y" value: "SCORES" }
    }
  ]
}
"""
# Right in itself; only a machine without a GPU finds out.
NEEDS_GPU = """name: "gpuonly"
backend: "onnxruntime"
max_batch_size: 4
input [ { name: "scale_0.tmp_1" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "a/b:0" data_type: TYPE_FP32 dims: [ 3 ] } ]
instance_group [
  {
    count: 1
    kind: KIND_GPU
    gpus: [ 0 ]
  }
]
dynamic_batching { }
"""


def one_model(folder: Path, name: str, config: str) -> Path:
    """`NAME.zip` of the tiny classifier with this configuration."""
    path = folder / f"{name}.zip"
    model = tiny_model.write(folder / "model.onnx")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/config.pbtxt", config)
        archive.write(model, f"{name}/1/model.onnx")
    return path


def ensemble(folder: Path) -> Path:
    """Two models, without configurations, and the ensemble of both."""
    path = folder / "pipeline.zip"
    identity = om.model_bytes(om.identity(om.FP32, "N", 4, source="x", target="y"))
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("prepare", "score"):
            archive.writestr(f"{name}/1/model.onnx", identity)
        archive.writestr("pipeline/config.pbtxt", ENSEMBLE)
        archive.writestr("pipeline/1/", "")
    return path


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def torchscript(folder: Path) -> Path:
    path = folder / "double.pt"
    with warnings.catch_warnings():  # PyTorch would rather have torch.export
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(Double()).save(str(path))
    return path


def weights_only(folder: Path) -> Path:
    path = folder / "weights.pt"
    torch.save(torch.nn.Linear(4, 3).state_dict(), path)
    return path
