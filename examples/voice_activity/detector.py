"""Silero VAD as the library ships it, and as a model whose memory a server can keep.

The library's wrapper keeps two things between chunks of 512 samples: the recurrent state, batch
axis in the middle, and the last 64 samples, put before the next chunk. Both become inputs and
outputs with the batch axis first, so that sequences of many callers share a batch.
"""

import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from silero_vad import load_silero_vad

MODELS = Path(__file__).with_name("models")
RATE, CHUNK, CONTEXT = 16_000, 512, 64


def library(audio: np.ndarray) -> np.ndarray:
    """The library's own probabilities, one for each chunk of ``audio`` [chunks * 512]."""
    model = load_silero_vad(onnx=True)
    chunks = torch.from_numpy(audio.reshape(-1, CHUNK))
    return np.array([float(model(chunk, RATE)) for chunk in chunks], dtype=np.float32)


def write_repository(folder: Path) -> None:
    shutil.copytree(MODELS, folder, dirs_exist_ok=True)
    version = folder / "silero_vad" / "1"
    version.mkdir(parents=True, exist_ok=True)
    onnx.save(rearranged(_original()), version / "model.onnx")


def _original() -> Any:
    with resources.as_file(resources.files("silero_vad.data") / "silero_vad.onnx") as path:
        return onnx.load(path)


def rearranged(model: Any) -> Any:
    """The library's graph (input, state, sr to output, stateN) between a few nodes of ours."""
    constants = {"sr": RATE, "from": [-CONTEXT], "to": [CHUNK], "axis": [1]}
    before = [
        helper.make_node("Concat", ["CONTEXT", "AUDIO"], ["input"], axis=1),
        helper.make_node("Transpose", ["STATE"], ["state"], perm=[1, 0, 2]),
    ]
    after = [
        helper.make_node("Identity", ["output"], ["PROBABILITY"]),
        helper.make_node("Transpose", ["stateN"], ["STATE_NEXT"], perm=[1, 0, 2]),
        helper.make_node("Slice", ["AUDIO", "from", "to", "axis"], ["CONTEXT_NEXT"]),
    ]
    graph = helper.make_graph(
        [*before, *model.graph.node, *after],
        "silero_vad",
        [_tensor("AUDIO", CHUNK), _tensor("STATE", 2, 128), _tensor("CONTEXT", CONTEXT)],
        [
            _tensor("PROBABILITY", 1),
            _tensor("STATE_NEXT", 2, 128),
            _tensor("CONTEXT_NEXT", CONTEXT),
        ],
        [
            *model.graph.initializer,
            *(
                numpy_helper.from_array(np.array(value, dtype=np.int64), name)
                for name, value in constants.items()
            ),
        ],
    )
    made = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(made)
    return made


def _tensor(name: str, *dims: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *dims])
