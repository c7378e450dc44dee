"""Models around Azure ML's scoring scripts, as the client lays them out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wire.scoring import WRAPPER, Batching, wrapping

CPU = "instance_group { count: 1 kind: KIND_CPU }\n"


def add(
    root: Path,
    name: str,
    script: str,
    *,
    files: Mapping[str, bytes] | None = None,
    batching: Batching | None = None,
    **parameters: str,
) -> Path:
    """Write a model whose script is ``score.py``; ``files`` by their path in the version."""
    version = root / name / "1"
    written = {
        "azureml-app/score.py": script.encode(),
        "model.py": WRAPPER.encode(),
        **(files or {}),
    }
    for path, data in written.items():
        (version / path).parent.mkdir(parents=True, exist_ok=True)
        (version / path).write_bytes(data)
    given = {"AZUREML_ENTRY_SCRIPT": "azureml-app/score.py", **parameters}
    config = (
        wrapping(batching=batching)["config.pbtxt"]
        + CPU
        + "".join(
            f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
            for key, value in given.items()
        )
    )
    (root / name / "config.pbtxt").write_text(config)
    return version


def text(value: str) -> "np.ndarray[Any, Any]":
    """One BYTES element."""
    return np.array([value.encode()], dtype=np.object_)
