"""Registered model versions with real blobs, without uploading anything."""

import hashlib
import tempfile
from pathlib import Path

from controlplane.registry.models import Model, ModelFile, ModelVersion, RepoModel
from controlplane.registry.stores import blob_store
from controlplane.registry.types import FileEntry, manifest_digest

CONFIG = 'name: "digits"\nbackend: "onnxruntime"\n'


def model_register(
    name: str = "digits", *, content: bytes = b"weights " * 8, backend: str = "onnxruntime"
) -> ModelVersion:
    """The next version of ``name``: one repository model of the same name."""
    model, _ = Model.objects.get_or_create(name=name)
    number = model.latest_version + 1
    Model.objects.filter(pk=model.pk).update(latest_version=number)
    manifest = [
        _file(f"{name}/1/model.onnx", content),
        _file(f"{name}/config.pbtxt", CONFIG.encode()),
    ]
    version = ModelVersion.objects.create(
        model=model,
        version=number,
        digest=manifest_digest(manifest),
        size=sum(entry["size"] for entry in manifest),
        file_count=len(manifest),
        created_by="dora",
        code=[],
    )
    ModelFile.objects.bulk_create(ModelFile(version=version, **entry) for entry in manifest)
    RepoModel.objects.create(
        model_version=version,
        name=name,
        backend=backend,
        max_batch_size=8,
        inputs=[{"name": "image", "datatype": "FP32", "shape": [1, 8, 8]}],
        outputs=[{"name": "a/b:0", "datatype": "FP32", "shape": [-1, 10]}],
        versions=[1],
        config_text=CONFIG,
        config_effective=CONFIG,
        code=[],
    )
    return version


def files_add(version: ModelVersion, *files: FileEntry) -> None:
    """As if they had been registered with it."""
    ModelFile.objects.bulk_create(ModelFile(version=version, **entry) for entry in files)
    manifest = version.manifest()
    version.file_count, version.digest = len(manifest), manifest_digest(manifest)
    version.save(update_fields=["file_count", "digest"])


def _file(path: str, content: bytes) -> FileEntry:
    sha256 = hashlib.sha256(content).hexdigest()
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(content)
    blob_store().put(Path(file.name), sha256)
    return FileEntry(path=path, size=len(content), sha256=sha256)
