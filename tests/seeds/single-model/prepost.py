"""A picture as the model takes it, and a class as a person reads it."""

import io
from pathlib import Path

import numpy
from numpy.typing import NDArray
from PIL import Image

LABELS = Path(__file__).parent / "densenet_labels.txt"


def preprocess(content: bytes) -> NDArray[numpy.float32]:
    """FP32 [1, 3, 224, 224] in -1..1."""
    image = Image.open(io.BytesIO(content)).convert("RGB").resize((224, 224))
    values = numpy.asarray(image, dtype=numpy.float32) / 128 - 1
    return numpy.ascontiguousarray(values.transpose(2, 0, 1)[None])


def postprocess(number: int) -> str:
    return f"{number} : {LABELS.read_text().splitlines()[number]}"
