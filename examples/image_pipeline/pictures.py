"""Real handwriting as JPEG files: scikit-learn's digits, drawn in many sizes and colours."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

QUALITY = 88


@dataclass(frozen=True, slots=True)
class Pictures:
    """JPEG files and what they show, 0 to 9."""

    train_files: list[bytes]
    train_labels: np.ndarray
    test_files: list[bytes]
    test_labels: np.ndarray


def load() -> Pictures:
    raw = load_digits()
    rng = np.random.default_rng(0)
    files = [draw(image, rng) for image in raw.images]
    labels = raw.target.astype(np.int64)
    parts = train_test_split(files, labels, test_size=0.25, random_state=0, stratify=labels)
    return Pictures(parts[0], parts[2], parts[1], parts[3])


def draw(strokes: np.ndarray, rng: np.random.Generator) -> bytes:
    """One digit (8 x 8, 0 to 16) as a JPEG: dark ink on light paper, 96 to 240 pixels wide."""
    width, height = rng.integers(96, 241, 2).tolist()
    mask = Image.fromarray((strokes * 255 / 16).astype(np.uint8))
    paper = Image.new("RGB", (width, height), tuple(rng.integers(190, 256, 3).tolist()))
    ink = Image.new("RGB", (width, height), tuple(rng.integers(0, 90, 3).tolist()))
    paper.paste(ink, mask=mask.resize((width, height), Image.Resampling.BICUBIC))
    file = io.BytesIO()
    paper.save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
