"""Models: registered from files, listed, archived, restored."""

import hashlib
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shoal.client.client import Client
from shoal.client.errors import Problem, ShoalError, UnusableSource
from shoal.client.file_uploads import Listed, listed
from shoal.client.packing import Package
from shoal.client.types import ModelVersion
from shoal.display.watcher import Watcher
from shoal.entities import Model
from shoal.entities.loading import REMOTE, resolved
from shoal.sdk.mlflow_signature import AS_JSON
from shoal.sdk.scoring_files import WAITS, model_package
from shoal.sdk.shapes import MODEL_FIELDS, declared, model_of, texts, version_number

# What Python's reader raises over an archive that is damaged or encrypted.
TORN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)
VIEWS = {"activeonly": "active", "archivedonly": "archived", "all": "all"}
INSPECTION_S = 900.0
# What the server fetches itself; datastores and registries of Azure are none of it.
IMPORTED = re.compile(r"(?:https?|hf|s3)://|runs:/", re.IGNORECASE)


class ModelOperations:
    """``ml_client.models``."""

    def __init__(self, client: Client, watcher: Watcher) -> None:
        self._client, self._watcher = client, watcher

    def create_or_update(self, model: Model, *, same_tensors: bool = False) -> Model:
        """Register what ``model.path`` holds; the same content again is the version that it was.

        A path that is an address (``https://…``, ``hf://…``, ``s3://…``, ``runs:/…``) is fetched by
        the server. With ``same_tensors``, which is not in Azure's SDK, a model is refused whose
        inputs and outputs are not those of the newest version of that name (``TensorsDiffer``).
        Raises UnusableSource, Problem (``ModelVersionImmutable``, ...), OperationFailed when the
        files cannot be fetched or served.
        """
        if model.path is not None and IMPORTED.match(str(model.path)):
            return model_of(self._import(model, str(model.path), same_tensors=same_tensors))
        return model_of(self.register(model, same_tensors=same_tensors))

    def _import(self, model: Model, address: str, *, same_tensors: bool) -> ModelVersion:
        number = version_number(model.version)
        if not model.name:
            raise UnusableSource("The model has no name", "what is imported needs one: name")
        given, tags = self._given(model), texts(model.tags)
        upload = self._client.import_model(
            address, on_change=self._watcher.upload, project=model.project or ""
        )
        return self._made(
            self._client.register_model(
                model.name,
                upload["id"],
                version=number,
                description=model.description,
                tags=tags,
                declared=given,
                lineage=lineage_given(model),
                same_tensors=same_tensors,
            )
        )

    def _given(self, model: Model) -> dict[str, Any]:
        """What is kept of it without effect."""
        given = declared(model._to_dict(), MODEL_FIELDS)
        if given.get("type") in ("custom_model", "triton_model"):
            del given["type"]  # everything is served as Triton serves it
        return given

    def register(self, model: Model, *, same_tensors: bool = False) -> ModelVersion:
        number = version_number(model.version)
        if model.path is None:
            if model.name and model.version:
                return self._update(model)
            raise UnusableSource("The model has no path", "path: the file or folder to register")
        given = self._given(model)
        with package_of(model) as package:
            if package.note.endswith((WAITS, AS_JSON)):
                self._watcher.note(package.note)
            files = listed(package, self._client.concurrency, self._watcher.hashing)
            return self.register_files(
                package,
                files,
                # as in Azure: a model without a name is called by its content
                name=model.name or _content(package, files),
                number=number if model.name else None,
                description=model.description,
                tags=texts(model.tags),
                declared=given,
                lineage=lineage_given(model),
                project=model.project or "",
                same_tensors=same_tensors,
            )

    def register_files(
        self,
        package: Package,
        files: Sequence[Listed],
        *,
        name: str,
        number: int | None = None,
        project: str = "",
        **fields: Any,
    ) -> ModelVersion:
        """As ``create_or_update``, for files that have been hashed. ``fields`` are REST's."""
        known = self.known_files(name, package, files, number)
        if known is not None:
            self._watcher.note(f"Model {name}:{known['version']} has this content already")
            if fields.get("lineage"):
                self._watcher.note("Its lineage stays as it is: `shoal model update` changes it")
            return self._back(known)
        upload = self._client.upload_package(
            package,
            files,
            timeout_s=INSPECTION_S,
            on_bytes=self._watcher.sending,
            on_change=self._watcher.upload,
            project=project,
        )
        return self._made(self._client.register_model(name, upload["id"], version=number, **fields))

    def _made(self, version: ModelVersion) -> ModelVersion:
        for warning in version.get("warnings", []):
            self._watcher.note(f"Note: {warning}")
        return self._back(version)

    def _back(self, version: ModelVersion) -> ModelVersion:
        """Who registers what is archived wants it back."""
        if version.get("archived"):
            self._client.set_model_archived(version["model"], version["version"], archived=False)
            self._watcher.note(f"Model {version['model']}:{version['version']} was archived")
        return version

    def check(self, model: Model) -> None:
        """Whether its files could be sent. Raises UnusableSource, ShoalError."""
        version_number(model.version)
        with package_of(model):
            pass

    def known(self, model: Model) -> ModelVersion | None:
        """The version that has the content of ``model.path`` already, if there is one."""
        with package_of(model) as package:
            files = listed(package, self._client.concurrency)
            name = model.name or _content(package, files)
            return self.known_files(name, package, files, version_number(model.version))

    def get(self, name: str, version: str | int | None = None, label: str | None = None) -> Model:
        """``label``: latest, or an alias. Raises Problem when there is none."""
        if version is not None and label is not None:
            raise ShoalError("Give a version or a label, not both", f"{version}, {label}")
        return model_of(self._client.get_model_version(name, str(version or label or "latest")))

    def list(
        self,
        name: str | None = None,
        stage: str | None = None,
        *,
        list_view_type: Any = "ActiveOnly",
    ) -> Iterator[Model]:
        """The newest version of every model, or with ``name`` all versions of that one."""
        view = VIEWS[str(getattr(list_view_type, "value", list_view_type)).lower().replace("_", "")]
        if name is None:
            found = self._client.list_models(archived=view)
            versions = [model["latest"] for model in found if model["latest"]]
        else:
            wanted = {"active": (False,), "archived": (True,), "all": (False, True)}[view]
            versions = [
                version
                for version in self._client.list_model_versions(name)
                if version["archived"] in wanted
            ]
        models = map(model_of, versions)
        return (model for model in models if stage is None or model.stage == stage)

    def archive(
        self, name: str, version: str | int | None = None, label: str | None = None, **_: Any
    ) -> None:
        self._client.set_model_archived(name, self._which(name, version, label), archived=True)

    def restore(
        self, name: str, version: str | int | None = None, label: str | None = None, **_: Any
    ) -> None:
        self._client.set_model_archived(name, self._which(name, version, label), archived=False)

    def download(self, name: str, version: str | int, download_path: str | Path = ".") -> None:
        """Into ``download_path``/``name``, as the repository that was registered."""
        target = Path(download_path) / name
        self._client.download_model(name, version, target, on_bytes=self._watcher.receiving)

    def share(self, *_: Any, **__: Any) -> Model:
        raise ShoalError("Models cannot be shared", "this installation is its own registry")

    def package(self, *_: Any, **__: Any) -> None:
        raise ShoalError(
            "Models need no package", "the runtime serves a registered model as it is",
            ["Deploy it: `shoal online-deployment create`, or `shoal deploy`."],
        )  # fmt: skip

    def _update(self, model: Model) -> ModelVersion:
        fields: dict[str, Any] = {"tags": texts(model.tags)}
        if model.description is not None:
            fields["description"] = model.description
        given = declared(model._to_dict(), MODEL_FIELDS | {"type"})
        if given:
            fields["declared"] = given
        if (lineage := lineage_given(model)) is not None:
            fields["lineage"] = lineage
        return self._client.update_model_version(str(model.name), str(model.version), **fields)

    def _which(self, name: str, version: Any, label: str | None) -> str | int | None:
        if label is None:
            return version  # type: ignore[no-any-return]  # a text or a number
        return self._client.get_model_version(name, label)["version"]

    def known_files(
        self,
        name: str,
        package: Package,
        listed_files: Sequence[Listed],
        number: int | None = None,
    ) -> ModelVersion | None:
        """The version that holds the very same files, so that nothing needs to be sent."""
        try:
            versions = self._client.list_model_versions(name)
        except Problem as problem:
            if not problem.is_not_found:
                raise
            return None
        files = _files(package, listed_files) if versions else []
        for version in versions:
            if number not in (None, version["version"]) or version["file_count"] != len(files):
                continue
            shown = self._client.get_model_version(name, version["version"])
            manifest = sorted((entry["path"], entry["sha256"]) for entry in shown["manifest"])
            hashes = sorted(sha256 for _, sha256 in manifest)
            if manifest == files or (len(files) == 1 and hashes == [files[0][1]]):
                return shown
        return None


def lineage_given(model: Model) -> dict[str, Any] | None:
    """What the model says of its origin; None where it says nothing at all."""
    if model.lineage is None and not model.job_name:
        return None
    job = {"run": model.job_name} if model.job_name else {}
    said = {name: value for name, value in (model.lineage or {}).items() if value is not None}
    return {**job, **said}


def package_of(model: Model) -> AbstractContextManager[Package]:
    """Raises UnusableSource."""
    serve_as = model.name if model.name and not model.name.isdigit() else None
    return model_package(located(model), serve_as, may_wait=model.type == "custom_model")


def located(model: Model) -> Path:
    """Where its path leads to. Raises UnusableSource where that is another machine."""
    where = resolved(str(model.path), model.base_path)
    if REMOTE.match(where):
        raise UnusableSource(
            "Only local paths can be registered",
            f"{where} names another place",
            ["Download it first, then give the local file or folder."],
        )
    return Path(where)


def _content(package: Package, files: Sequence[Listed]) -> str:
    """One digest of all that is in it."""
    if package.single is not None:
        return files[0].sha256
    rows = sorted(f"{file.sha256} {file.name}" for file in files)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _files(package: Package, files: Sequence[Listed]) -> list[tuple[str, str]]:
    """Paths and digests as a version's manifest has them."""
    packed = sorted((file.name, file.sha256) for file in files if not file.name.endswith("/"))
    if package.single is None:
        return packed
    found = []
    try:
        if not zipfile.is_zipfile(package.single):
            return packed
        with zipfile.ZipFile(package.single) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    with archive.open(info) as file:
                        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
                    found.append((info.filename, digest))
    except TORN:
        return packed  # it is no version's content; the server says what is wrong with it
    return sorted(found)
