"""What the name of a file tells, before it is opened."""

import re
from pathlib import PurePosixPath
from typing import Final

from worker_runtime.types.code import ENVIRONMENT, LIBRARY, PACKAGES, PICKLE, PYTHON, UNKNOWN

_PYTHON = frozenset({".py", ".pyc", ".pyo", ".pyw", ".pyx", ".pyz"})
_PICKLES = frozenset({".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle"})
_LIBRARY = re.compile(r"\.(so(\.\d+)*|pyd|dll|dylib|exe|cubin|ptx|fatbin)$", re.IGNORECASE)
_REQUIREMENTS = re.compile(r"(requirements|constraints)[\w.-]*\.(txt|in)$", re.IGNORECASE)
_PACKAGES = frozenset({".whl", ".egg"})
_PROJECTS = frozenset(
    {
        "pyproject.toml", "setup.cfg", "pip.conf", "pipfile", "pipfile.lock", "poetry.lock",
        "uv.lock", "conda.yaml", "conda.yml", "environment.yaml", "environment.yml",
    }
)  # fmt: skip
_ENVIRONMENTS = frozenset({"pb_exec_env_model.py.tar.gz", "pyvenv.cfg"})
# Names of data that no backend opens as anything else; what is in them is told by who reads them.
DATA: Final = frozenset(
    {
        ".onnx", ".ort", ".plan", ".engine", ".trt", ".xml", ".bin", ".data", ".weights", ".raw",
        ".safetensors", ".txt", ".json", ".jsonl", ".csv", ".tsv", ".pbtxt", ".md", ".vocab",
        ".merges", ".labels", ".names", ".ubj", ".tl", ".yaml", ".yml", ".toml", ".ini",
        ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".svg", ".wav", ".mp3", ".flac", ".ogg",
    }
)  # fmt: skip
DESCRIPTIONS: Final = {
    PYTHON: "is Python code",
    LIBRARY: "holds machine code, such as custom operators or plugins",
    PICKLE: "holds a pickle, which may run anything when it is opened",
    ENVIRONMENT: "is a Python environment that the model brings along",
    PACKAGES: "names or holds packages that pip would install",
    UNKNOWN: "is of a format that is not known to be mere data",
}


def kind_by_name(path: str) -> str:
    """The kind that the name alone tells, "" when it tells none."""
    name = PurePosixPath(path)
    suffix, lower = name.suffix.lower(), name.name.lower()
    if lower in _ENVIRONMENTS or suffix == ".conda":
        return ENVIRONMENT
    if suffix in _PYTHON:
        return PYTHON
    if _LIBRARY.search(name.name):
        return LIBRARY
    if suffix in _PICKLES:
        return PICKLE
    if suffix in _PACKAGES or lower in _PROJECTS or _REQUIREMENTS.match(name.name):
        return PACKAGES
    return ""


def is_data_by_name(path: str) -> bool:
    """A name under which only data is read; False where the content would have to tell."""
    name = PurePosixPath(path)
    lower = name.name.lower()
    return name.suffix.lower() in DATA or lower in {"xgboost.model", "labels", "license", "readme"}
