"""A small convolutional network, trained on JPEG files in seconds, and its way to TorchScript."""

import importlib.util
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from pictures import Pictures
from torch import nn

MODELS = Path(__file__).with_name("models")
EPOCHS, BATCH = 6, 64


def decoder() -> Callable[[bytes], np.ndarray]:
    """The preprocessor's own function, so that training sees what serving will see."""
    path = MODELS / "preprocessor" / "1" / "pixels.py"
    spec = importlib.util.spec_from_file_location("pixels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    decode: Callable[[bytes], np.ndarray] = module.decode
    return decode


def train(pictures: Pictures, decode: Callable[[bytes], np.ndarray]) -> nn.Module:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # why: so small a network only gets slower with more
    model = nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(64 * 16, 10),
    )
    images = torch.from_numpy(np.stack([decode(file) for file in pictures.train_files]))
    labels = torch.from_numpy(pictures.train_labels)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


def logits(
    model: nn.Module, files: Sequence[bytes], decode: Callable[[bytes], np.ndarray]
) -> np.ndarray:
    """PyTorch's own result [n, 10] on the same files."""
    with torch.inference_mode():
        return model(torch.from_numpy(np.stack([decode(file) for file in files]))).numpy()


def write_repository(model: nn.Module, folder: Path) -> None:
    """The three models below ``folder``: configurations and code from here, weights added."""
    shutil.copytree(
        MODELS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("classifier", "ensemble_model"):
        (folder / name / "1").mkdir(parents=True, exist_ok=True)
    torch.jit.script(model).save(str(folder / "classifier" / "1" / "model.pt"))
