"""Valid names for models and endpoints, made from file names."""

import re
from pathlib import Path

PATTERN = re.compile(r"[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?")
MIN_LENGTH, MAX_LENGTH = 3, 32
RULE = (
    f"{MIN_LENGTH} to {MAX_LENGTH} letters, digits and hyphens, "
    "starting with a letter and not ending with a hyphen"
)


def is_valid(name: str) -> bool:
    return MIN_LENGTH <= len(name) <= MAX_LENGTH and PATTERN.fullmatch(name) is not None


def from_text(text: str) -> str:
    """The nearest valid name: ``ResNet 50_v1.2`` becomes ``ResNet-50-v1-2``."""
    name = re.sub(r"[^a-zA-Z0-9]+", "-", text).strip("-")
    if not name:
        return "model"
    if not name[0].isalpha():
        name = f"model-{name}"
    name = name[:MAX_LENGTH].rstrip("-")
    return name if len(name) >= MIN_LENGTH else f"{name}-model"


def from_path(path: Path) -> str:
    """The name that a file, folder or archive suggests."""
    path = path.resolve()
    return from_text(path.name if path.is_dir() else path.stem)
