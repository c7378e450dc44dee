"""A repository for the test console: a model per datatype, a stream, a sequence, a pipeline."""

import zipfile
from pathlib import Path

from tests.support import builtin_models, sequence_models
from tests.support.onnx_models import model_bytes

DATATYPES = (
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64",
    "FP16", "BF16", "FP32", "FP64", "BYTES",
)  # fmt: skip
REPEAT = "repeat"
PICTURE = "picture"
MATRIX = "matrix"
FREE = "free"
SEQUENCE = "running_total"
PIPELINE = "pipeline"

_SEQUENCE = (
    "max_batch_size: 4\ninstance_group { count: 1 kind: KIND_CPU }\n"
    'input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }\n'
    'output { name: "TOTAL" data_type: TYPE_INT32 dims: [ 1 ] }\n'
    # why a minute: after Triton's second of rest, a slow browser's next call would begin anew
    "sequence_batching { max_sequence_idle_microseconds: 60000000\n"
    f"oldest {{ max_candidate_sequences: 4 }} {sequence_models.STATE} }} }}\n"
)
PIPELINE_CONFIG = """
platform: "ensemble"
input { name: "text" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "answer" data_type: TYPE_FP32 dims: [ 2 ] }
ensemble_scheduling {
  step { model_name: "echo_fp32" model_version: -1
         input_map { key: "INPUT0" value: "text" } output_map { key: "OUTPUT0" value: "between" } }
  step { model_name: "echo_fp32" model_version: -1
         input_map { key: "INPUT0" value: "between" }
         output_map { key: "OUTPUT0" value: "answer" } }
}
"""


def echo(datatype: str, dims: str, *, more: str = "", batch: int = 0) -> str:
    kind = "TYPE_STRING" if datatype == "BYTES" else f"TYPE_{datatype}"
    return (
        f'backend: "identity"\nmax_batch_size: {batch}\n'
        f'input {{ name: "INPUT0" data_type: {kind} dims: [ {dims} ] }}\n'
        f'output {{ name: "OUTPUT0" data_type: {kind} dims: [ {dims} ] }}\n'
        f"instance_group {{ count: 1 kind: KIND_CPU }}\n{more}"
    )


def configurations() -> dict[str, str]:
    return {
        **{f"echo_{kind.lower()}": echo(kind, "2") for kind in DATATYPES},
        PICTURE: echo("UINT8", "32, 32, 3"),
        MATRIX: echo("FP32", "6, 40", batch=4),
        FREE: echo("FP32", "-1, -1"),
        REPEAT: builtin_models.REPEAT,
        SEQUENCE: _SEQUENCE,
        PIPELINE: PIPELINE_CONFIG,
    }


def write(path: Path) -> Path:
    """Returns ``path``, a zip."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in configurations().items():
            archive.writestr(f"{name}/config.pbtxt", text)
            archive.writestr(f"{name}/1/", "")
        archive.writestr(f"{SEQUENCE}/1/model.onnx", model_bytes(sequence_models.total()))
    return path
