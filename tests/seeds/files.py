"""What the examples' repository holds and ours cannot: the model's file, its labels, a picture."""

from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

CLASSES, PEACOCK = 1000, 84
TEAL = (16, 128, 150)  # the picture's colour
INPUT, OUTPUT = "data_0", "fc6_1"


def write_all(folder: Path) -> None:
    """Below ``folder``: models/model_1/1/model.onnx, densenet_labels.txt, data/peacock.png."""
    write_model(folder / "models" / "model_1" / "1" / "model.onnx")
    labels = [f"CLASS {number}" for number in range(CLASSES)]
    labels[PEACOCK] = "PEACOCK"
    (folder / "densenet_labels.txt").write_text("\n".join(labels))
    (folder / "data").mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (320, 240), TEAL).save(folder / "data" / "peacock.png")


def write_model(path: Path) -> None:
    """DenseNet's signature over a small body: the mean colour decides the class."""
    generator = numpy.random.default_rng(84)
    weights = generator.normal(size=(CLASSES, 3)).astype(numpy.float32)
    weights /= numpy.linalg.norm(weights, axis=1, keepdims=True)
    peacock = numpy.array(TEAL, dtype=numpy.float32) / 128 - 1
    # nearest direction wins: only the peacock's own is exactly the picture's
    weights[PEACOCK] = peacock / numpy.linalg.norm(peacock)
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", [INPUT], ["colour"]),
            helper.make_node("Conv", ["colour", "weights"], [OUTPUT], kernel_shape=[1, 1]),
        ],
        "densenet_shaped",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [1, CLASSES, 1, 1])],
        [numpy_helper.from_array(weights.reshape(CLASSES, 3, 1, 1), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
