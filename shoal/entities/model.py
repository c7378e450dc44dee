"""Models: what is registered, and how files refer to it."""

import os
import re
from dataclasses import dataclass
from typing import Any

from shoal.entities.base import Entity


@dataclass(kw_only=True)
class Model(Entity):
    """``path``: a file, a folder or an archive; relative to the file that names it."""

    version: str | None = None
    type: str | None = None
    path: str | os.PathLike[str] | None = None
    stage: str | None = None
    flavors: dict[str, dict[str, Any]] | None = None
    job_name: str | None = None
    datastore: str | None = None
    # where it comes from: address, run, run_url, commit, dataset
    lineage: dict[str, Any] | None = None
    project: str | None = None  # of a new one; versions go where their model is

    def __post_init__(self) -> None:
        super().__post_init__()
        self.version = None if self.version is None else str(self.version)
        self.type = self.type or "custom_model"
        if self.path is not None:
            self.path = os.fspath(self.path)
        self.creation_context: dict[str, Any] | None = None
        self.shown: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A registered model: by number, or by label (``latest``, an alias)."""

    name: str
    version: str | None = None
    label: str | None = None


_SHORT = re.compile(r"(?:azureml:)?(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:[:@](?P<end>[^:@/]+))?")
_LONG = re.compile(r"/models/(?P<name>[^/]+)/versions/(?P<version>[^/]+)/?$")
REGISTRY_PREFIX = "azureml://registries/"


def model_reference(text: str) -> ModelReference | None:
    """``azureml:name:3``, ``azureml:name@latest``, ``name:3`` or an id; None for anything else."""
    if found := _LONG.search(text):
        return ModelReference(found["name"], version=found["version"])
    found = _SHORT.fullmatch(text)
    if found is None:
        return None
    if found["end"] is None:
        return ModelReference(found["name"], label="latest")
    by_label = "@" in text
    return ModelReference(
        found["name"],
        version=None if by_label else found["end"],
        label=found["end"] if by_label else None,
    )
