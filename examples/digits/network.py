"""A small convolutional network for scikit-learn's 8 x 8 digits, and its way to ONNX."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

EPOCHS, BATCH = 30, 64


@dataclass(frozen=True, slots=True)
class Digits:
    """Images are float32 [n, 1, 8, 8] from 0 to 1, labels int64 [n]."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load() -> Digits:
    raw = load_digits()
    images = (raw.images / 16.0).astype(np.float32)[:, None]
    parts = train_test_split(
        images, raw.target.astype(np.int64), test_size=0.25, random_state=0, stratify=raw.target
    )
    return Digits(parts[0], parts[2], parts[1], parts[3])


def train(digits: Digits) -> nn.Module:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # why: so small a network only gets slower with more
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 16, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    images, labels = torch.from_numpy(digits.train_images), torch.from_numpy(digits.train_labels)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


def export(model: nn.Module, path: Path) -> None:
    """One input ``image`` and one output ``logits``, both with a free batch axis."""
    with warnings.catch_warnings():
        # why: the classic exporter warns that it is; the new one needs a further package
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.zeros(2, 1, 8, 8),),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=["image"],
            output_names=["logits"],
            dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
        )
