"""The endpoint's answers beside PyTorch's own."""

from dataclasses import dataclass

import numpy as np
from pictures import Pictures
from shared.calls import Caller
from tritonclient.utils import InferenceServerException

BATCH = 4  # of the batched look: JPEGs of several lengths in one tensor


@dataclass(frozen=True, slots=True)
class Found:
    accuracy: float
    difference: float  # the largest between logits here and there
    other_labels: int
    pictures: int

    def good(self, tolerance: float, accuracy: float) -> bool:
        # why not ">": NaN must not pass
        near = self.difference <= tolerance
        return near and not self.other_labels and self.accuracy >= accuracy

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.4f} on {self.pictures} JPEGs never seen, logits within "
            f"{self.difference:.1e} of PyTorch's, {self.other_labels} other labels"
        )


def compare(caller: Caller, pictures: Pictures, expected: np.ndarray) -> Found:
    """``expected``: PyTorch's logits [n, 10] for the test files."""
    names = [pictured(caller, file) for file in pictures.test_files]
    classes = np.array([index for index, _ in names])
    raw = np.concatenate(
        [
            caller.infer({"RAW_IMAGE": padded(pictures.test_files[at : at + BATCH])}, "output__0")
            for at in range(0, len(pictures.test_files), BATCH)
        ]
    )
    return Found(
        accuracy=float((classes == pictures.test_labels).mean()),
        difference=float(np.abs(raw - expected).max()),
        other_labels=sum(
            (index, label) != (int(best), LABELS[int(best)])
            for (index, label), best in zip(names, expected.argmax(1), strict=True)
        ),
        pictures=len(names),
    )


LABELS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def pictured(caller: Caller, file: bytes) -> tuple[int, str]:
    """Number and label of what one JPEG shows, by the classification extension."""
    answer = caller.infer({"RAW_IMAGE": padded([file])}, "output__0", classes=1)
    _score, index, label = answer.reshape(-1)[0].decode().split(":")
    return int(index), label


def padded(files: list[bytes]) -> np.ndarray:
    """UINT8 [n, bytes of the longest]: decoders stop where an image ends."""
    rows = np.zeros((len(files), max(map(len, files))), dtype=np.uint8)
    for row, file in zip(rows, files, strict=True):
        row[: len(file)] = np.frombuffer(file, dtype=np.uint8)
    return rows


def refusal(caller: Caller) -> str:
    """What the pipeline says to bytes that are no image. Raises AssertionError without a word."""
    try:
        caller.infer({"RAW_IMAGE": padded([b"this is a text"])}, "output__0")
    except InferenceServerException as error:
        return error.message()
    raise AssertionError("bytes that are no image were classified")
