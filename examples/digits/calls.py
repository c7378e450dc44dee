"""Logits of many images, asked for in the batches that the model takes."""

import numpy as np
from shared.calls import Caller, Target

BATCH = 4  # what Triton allows a model whose config.pbtxt does not say otherwise


def in_batches(target: Target, protocol: str, images: np.ndarray) -> np.ndarray:
    """Logits [n, 10] of images [n, 1, 8, 8]."""
    with Caller(target, protocol) as caller:
        logits = [
            caller.infer({"image": images[start : start + BATCH]}, "logits")
            for start in range(0, len(images), BATCH)
        ]
    return np.concatenate(logits)
