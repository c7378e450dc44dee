"""The words of the model repository: keys of models, states of their versions, what a load brings.

A key tells models apart: a name or, with --model-namespacing, a repository and a name. Names have
no slash, so the last one parts the two.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field


def key_of(name: str, namespace: str = "") -> str:
    return f"{namespace}/{name}" if namespace else name


def name_of(key: str) -> str:
    return key.rpartition("/")[2]


def namespace_of(key: str) -> str:
    return key.rpartition("/")[0]


def display_name(key: str) -> str:
    """For people, as Triton writes it."""
    namespace = namespace_of(key)
    return f"{namespace}::{name_of(key)}" if namespace else key


class ModelState(StrEnum):
    """The life of a model version, in the words of the repository index."""

    LOADING = "LOADING"
    READY = "READY"
    UNLOADING = "UNLOADING"
    UNAVAILABLE = "UNAVAILABLE"


UNLOADED = "unloaded"  # the reason that Triton gives after an unload through the API


class LoadOverride(Struct, frozen=True):
    """What a load request brings with it instead of what lies in the repository.

    ``config`` is JSON text; ``files`` are contents by path below the model, ``1/model.onnx``.

    A front end hands on the text and the decoded bytes, the paths without the ``file:`` of the
    protocol; whether they make sense is decided where models are loaded.
    """

    config: str | None = None
    files: Mapping[str, bytes | memoryview] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.config is not None or bool(self.files)
