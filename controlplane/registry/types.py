"""Values of the registry: limits, the steps of ingest, and what an inspection says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NotRequired, TypedDict

from controlplane.registry.code import CodeReason
from wire.statement import files_digest

CHUNK_BYTES: Final = 8 * 2**20  # what we suggest
MAX_CHUNK_BYTES: Final = 16 * 2**20  # what we accept

LIMIT_FILES: Final = 20_000
EMPTY_SHA256: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

# What seals the address of an import until its bytes are here: a part of it may be a secret.
SOURCE_PURPOSE: Final = "shoal import source"
FETCH: Final = "fetch"  # a step of imports alone
STEP_TITLES: Final = {
    FETCH: "Fetch the files",
    "verify": "Check the bytes",
    "unpack": "Unpack",
    "inspect": "Read the model",
}


class FileEntry(TypedDict):
    path: str
    size: int
    sha256: str


class FileProgress(FileEntry):
    offset: int  # bytes that have arrived


class Lineage(TypedDict):
    """Where the files of a version come from. What is not known is left out."""

    kind: str  # url, hub, s3, mlflow
    address: str  # without what may be a secret
    by: str
    at: str
    revision: NotRequired[str]  # as it was asked for: a branch, a tag
    commit: NotRequired[str]
    etag: NotRequired[str]
    repository: NotRequired[str]
    run: NotRequired[str]
    experiment: NotRequired[str]
    dataset: NotRequired[str]


class Step(TypedDict):
    name: str
    title: str
    status: str
    detail: str
    started_at: str | None
    ended_at: str | None


class Proposal(TypedDict):
    """A config.pbtxt that would do; ``certain`` unless something in it was guessed."""

    text: str
    certain: bool


class InspectedModel(TypedDict):
    name: str
    backend: str
    platform: str
    versions: list[int]
    max_batch_size: int
    decoupled: NotRequired[bool]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    config_text: str
    config_effective: str
    graph: dict[str, Any] | None
    files: list[str]
    warnings: list[str]
    code: list[CodeReason]  # of its configuration
    proposal: NotRequired[Proposal | None]


class InspectionProblem(TypedDict):
    scope: NotRequired[str]  # "config": another config.pbtxt mends it
    fix: NotRequired[dict[str, str] | None]  # {label, text}: the whole corrected text
    severity: str
    model: str | None
    code: str
    message: str
    plain: NotRequired[str]  # one sentence that says what message says in Triton's words
    detail: str | None
    hints: list[str]


class Inspection(TypedDict):
    code: list[CodeReason]  # of the files
    models: list[InspectedModel]
    problems: list[InspectionProblem]


@dataclass(frozen=True)
class ModelConfigProblem:
    """One finding about a config.pbtxt, as the inspection program words it."""

    severity: str
    code: str
    message: str


def steps_new(*, fetch: bool = False) -> list[Step]:
    """``fetch``: the bytes are somewhere else."""
    return [
        Step(name=name, title=title, status="pending", detail="", started_at=None, ended_at=None)
        for name, title in STEP_TITLES.items()
        if fetch or name != FETCH
    ]


def config_files(configs: Mapping[str, str]) -> dict[str, str]:
    """Path -> text of edited configurations: the files of a repository that they stand for."""
    return {f"{model}/config.pbtxt": str(text) for model, text in configs.items()}


def manifest_digest(manifest: list[FileEntry], texts: Mapping[str, str] | None = None) -> str:
    """SHA-256 over path, size and hash of every file; ``texts`` (path -> text) stand over files."""
    files = ((entry["path"], entry["size"], entry["sha256"]) for entry in manifest)
    return files_digest(files, texts)
