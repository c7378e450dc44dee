"""The one way from an encoded image to the numbers that the classifier was trained on.

Training imports this file as well: what differs between the two would cost accuracy unseen.
"""

import io

import numpy as np
from PIL import Image

SIDE = 64


def decode(encoded: bytes) -> np.ndarray:
    """Float32 [3, 64, 64] from 0 to 1 of a JPEG, PNG or whatever Pillow reads. Raises OSError."""
    with Image.open(io.BytesIO(encoded)) as image:
        small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.asarray(small, dtype=np.float32).transpose(2, 0, 1) / np.float32(255)
