"""From blobs that a client sent to what is registered: models, and the code of deployments.

All of it goes through an upload, its ingest and the registry's own rules: what is code, and who
may bring it, is found there.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import yaml

from controlplane.accounts.models import User
from controlplane.azure.errors import AssetNotFound, AzureInvalid, BlobNotFound
from controlplane.azure.selectors import code_folder, folder_get, folder_of
from controlplane.azure.services import folders
from controlplane.environments.models import EnvironmentVersion
from controlplane.registry import layout, storage
from controlplane.registry.errors import ModelNotFound
from controlplane.registry.models import AnnouncedFile, ModelVersion, Upload
from controlplane.registry.selectors import version_named
from controlplane.registry.services import growing_lists
from controlplane.registry.services.upload_progress import files_of, part_name
from controlplane.registry.services.uploads import upload_delete
from controlplane.registry.stores import blob_store
from wire import conda, scoring

LARGEST_LIST_BYTES = 2**18
LARGEST_SCRIPT_BYTES = 2**20


@dataclass(frozen=True)
class Parts:
    """A model for scripts, by where each file of it comes from."""

    name: str
    texts: Mapping[str, str]  # place in the model's folder -> what is written
    sent: Mapping[str, AnnouncedFile]  # the same of files that were sent
    registered: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # SHA-256, size

    def digest(self) -> str:
        texts = {place: text.encode() for place, text in self.texts.items()}
        rows = [
            *((place, hashlib.sha256(text).hexdigest()) for place, text in texts.items()),
            *((place, row.sha256) for place, row in self.sent.items()),
            *((place, sha256) for place, (sha256, _) in self.registered.items()),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps([self.name, *sorted(rows)]).encode()).hexdigest()


def model_upload(
    *, user: User, place: str, path: str, name: str, kind: str, project: str
) -> Upload:
    """The upload, handed to ingest, of what was sent to ``place`` as ``path``, a folder or a file.

    ``kind``: Azure's type of the model. What nothing serves by itself is wrapped for scripts, what
    MLflow saved for MLflow. Raises BlobNotFound, AzureInvalid, and what ingest's begin raises.
    """
    folder = folder_get(user, place)
    if folder.upload.state != Upload.State.UPLOADING:
        return folder.upload
    rows = {
        row.path: row
        for row in files_of(folder.upload_id)
        if row.path == path or row.path.startswith(f"{path}/")
    }
    if not rows:
        raise BlobNotFound(f"Nothing was sent to {place}/{path[:120]}.")
    beside = {part.partition("/")[0] for part in (row.removeprefix(f"{path}/") for row in rows)}
    if scoring.is_mlflow(beside):
        script = f"{scoring.MODELS}/{path}/{scoring.MLMODEL}"
        listed = _mlflow_list(rows, path)
        texts = scoring.wrapping(
            script=script, texts={"requirements.txt": listed} if listed else {}
        )
    elif kind == "custom_model" and not layout.serves_itself(rows):
        texts = scoring.wrapping()
    else:
        return growing_lists.growing_list_complete(upload_id=folder.upload_id, actor=user.username)
    sent = {f"1/{scoring.MODELS}/{part}": row for part, row in rows.items()}
    return made(user, Parts(name, texts, sent), project)


def _mlflow_list(rows: Mapping[str, AnnouncedFile], path: str) -> str:
    """What its environment needs, as MLflow wrote it beside the model."""
    for name in ("requirements.txt", "conda.yaml"):
        row = rows.get(f"{path}/{name}")
        if row is None:
            continue
        if row.size > LARGEST_LIST_BYTES:
            raise AzureInvalid(f"{name} has more than {LARGEST_LIST_BYTES} bytes.")
        text = storage.part_path(part_name(row.upload_id, row.sha256)).read_text("utf-8", "replace")
        return text if name == "requirements.txt" else packages_of(conda_read(text)).text
    return ""


class _Plain(yaml.SafeLoader):
    """Without aliases: some lines of them are gigabytes where they are written out."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call] # yaml's
            raise yaml.YAMLError(f"line {line} has an alias (*name), which is not read")
        return super().compose_node(parent, index)


def conda_read(text: str) -> dict[str, Any]:
    """Raises AzureInvalid."""
    if len(text) > LARGEST_LIST_BYTES:
        raise AzureInvalid(
            f"condaFile has {len(text)} characters, expected at most {LARGEST_LIST_BYTES}.",
            field="condaFile",
        )
    loader = _Plain(text)
    try:
        found = loader.get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        told = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise AzureInvalid(f"condaFile is not YAML: {told}", field="condaFile") from error
    finally:
        loader.dispose()
    if not isinstance(found, dict):
        raise AzureInvalid("condaFile: expected `dependencies:` with a list.", field="condaFile")
    return found


def packages_of(listed: dict[str, Any]) -> conda.Requirements:
    """Raises AzureInvalid, naming what pip cannot install."""
    try:
        return conda.mapped(listed, None)
    except conda.Unmappable as error:
        raise AzureInvalid(str(error), field="condaFile", hints=error.hints) from error


def script_upload(
    *,
    user: User,
    name: str,
    script: str,
    code: tuple[str, str],
    model: ModelVersion | None,
    environment: EnvironmentVersion | None,
    variables: Mapping[str, str],
    project: str,
) -> Upload:
    """The upload, handed to ingest, of a scoring script with its model and its packages.

    ``code``: name and version of a code asset, or of a model that was made of one.
    """
    if fault := scoring.script_fault(script):
        raise AzureInvalid(
            f"scoringScript: {script[:120]!r}: {fault}.",
            field="properties.codeConfiguration.scoringScript",
        )
    try:
        workers = scoring.workers_of(variables)
    except ValueError as error:
        raise AzureInvalid(f"{scoring.WORKERS}: {error}.", field="environmentVariables") from error
    listed = environment.requirements if environment else ""
    place = f"{scoring.APP}/{PurePosixPath(script).as_posix()}"
    sent, registered = _code_files(user, code)
    if f"1/{place}" not in {*sent, *registered}:
        raise AzureInvalid(
            f"scoringScript: {script[:120]!r} is no file of that code.",
            field="properties.codeConfiguration.scoringScript",
        )
    try:
        batching = scoring.batching_of(_source(f"1/{place}", sent, registered))
    except ValueError as error:
        raise AzureInvalid(
            f"scoringScript: {error}.", field="properties.codeConfiguration.scoringScript"
        ) from error
    texts = scoring.wrapping(
        script=place,
        workers=workers,
        batching=batching,
        texts={"requirements.txt": listed} if listed else {},
    )
    if model is not None:
        registered |= _of_version(model, scoring.MODELS)
    return made(user, Parts(name, texts, sent, registered), project)


def _source(
    place: str, sent: Mapping[str, AnnouncedFile], registered: Mapping[str, tuple[str, int]]
) -> str:
    """The script's text; empty where it is longer than scripts are."""
    row = sent.get(place)
    sha256, size = (row.sha256, row.size) if row is not None else registered[place]
    if size > LARGEST_SCRIPT_BYTES:
        return ""
    if row is not None:
        return storage.part_path(part_name(row.upload_id, sha256)).read_text("utf-8", "replace")
    with blob_store().open(sha256) as file:
        return file.read().decode("utf-8", "replace")


def _code_files(
    user: User,
    code: tuple[str, str],
) -> tuple[dict[str, AnnouncedFile], dict[str, tuple[str, int]]]:
    name, version = code
    folder = code_folder(user, name, version)
    if folder is not None:
        rows = list(files_of(folder.upload_id))
        top = {PurePosixPath(row.path).parts[0] for row in rows}
        alone = len(top) == 1 and all("/" in row.path for row in rows)
        start = f"{top.pop()}/" if alone else ""  # the folder that was sent
        return {f"1/{scoring.APP}/{row.path.removeprefix(start)}": row for row in rows}, {}
    try:
        found = _of_version(version_named(name, version), scoring.APP)
    except ModelNotFound:
        found = {}
    if not found:
        raise AssetNotFound(f"There is no code {name[:60]}:{version[:60]}.")
    return {}, found


def _of_version(version: ModelVersion, part: str) -> dict[str, tuple[str, int]]:
    files = {row["path"]: (row["sha256"], row["size"]) for row in version.manifest()}
    chosen = scoring.chosen(files, part)
    return {f"1/{part}/{place}": files[path] for path, place in chosen.items()}


def made(user: User, parts: Parts, project: str) -> Upload:
    """An upload of these parts, handed to ingest; the same parts again are the same one."""
    place = f"made-{parts.digest()}"
    known = folder_of(user, place)
    if known is not None and known.upload.state != Upload.State.UPLOADING:
        return known.upload
    if known is not None:  # somebody stopped while it was put together
        upload_delete(upload_id=known.upload_id, actor=user.username)
    upload = folders.folder_begin(user, place, parts.name, project).upload
    for where, text in parts.texts.items():
        growing_lists.file_keep(
            upload_id=upload.pk, path=f"{parts.name}/{where}", source=io.BytesIO(text.encode())
        )
    for where, row in parts.sent.items():
        growing_lists.file_link(upload_id=upload.pk, path=f"{parts.name}/{where}", of=row)
    growing_lists.files_refer(
        upload_id=upload.pk,
        files=[(f"{parts.name}/{where}", *found) for where, found in parts.registered.items()],
    )
    return growing_lists.growing_list_complete(upload_id=upload.pk, actor=user.username)
