"""What versions and uploads kept as JSON becomes rows, a few versions or uploads at a time."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import migrations

Entry = dict[str, Any]  # path, size, sha256
AT_A_TIME = 8  # manifests in memory: each may have 20,000 files
ROWS = 1000  # of one INSERT


def digest_of(manifest: Iterable[Entry]) -> str:
    """As signatures and approvals are about it, whatever way the files are kept."""
    digest = hashlib.sha256()
    for path, size, sha256 in sorted((e["path"], e["size"], e["sha256"]) for e in manifest):
        digest.update(f"{path}\0{size}\0{sha256}\n".encode())
    return digest.hexdigest()


def kept(entry: Entry) -> Entry:
    return {name: entry[name] for name in ("path", "size", "sha256")}


def is_folder(entry: Entry) -> bool:
    return bool(entry["path"].endswith("/"))


def arrived(upload_id: str, contents: dict[str, int], stored: set[str]) -> dict[str, int]:
    """SHA-256 -> bytes: of blobs all, of the rest what lies on the disk."""
    found = {}
    for sha256, size in contents.items():
        part = Path(settings.SHOAL_UPLOAD_DIR) / f"{upload_id}.{sha256}.part"
        on_disk = part.stat().st_size if part.exists() else 0
        found[sha256] = size if sha256 in stored else min(on_disk, size)
    return found


def versions_to_rows(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    versions = apps.get_model("registry", "ModelVersion").objects
    file = apps.get_model("registry", "ModelFile")
    for pk, manifest in versions.values_list("pk", "manifest").iterator(chunk_size=AT_A_TIME):
        rows = [file(version_id=pk, **kept(entry)) for entry in manifest]
        file.objects.bulk_create(rows, batch_size=ROWS)
        versions.filter(pk=pk).update(file_count=len(rows))


def uploads_to_rows(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    uploads = apps.get_model("registry", "Upload").objects
    unpacked = apps.get_model("registry", "UnpackedFile")
    announced = apps.get_model("registry", "AnnouncedFile")
    blobs = apps.get_model("registry", "Blob").objects
    listed = uploads.values_list("pk", "state", "files", "manifest")
    for pk, state, files, manifest in listed.iterator(chunk_size=AT_A_TIME):
        rows = [unpacked(upload_id=pk, **kept(entry)) for entry in manifest]
        unpacked.objects.bulk_create(rows, batch_size=ROWS)
        if state == "ready":
            uploads.filter(pk=pk).update(digest=digest_of(manifest))
        contents = {e["sha256"]: e["size"] for e in files if not is_folder(e)}
        stored = set(blobs.filter(pk__in=contents).values_list("pk", flat=True))
        here = arrived(pk, contents, stored)
        rows = [
            announced(
                upload_id=pk,
                arrived=entry["size"] if is_folder(entry) else here[entry["sha256"]],
                **kept(entry),
            )
            for entry in files
        ]
        announced.objects.bulk_create(rows, batch_size=ROWS)
        if files:
            left = sum(contents.values()) - sum(here.values())
            uploads.filter(pk=pk).update(offset=sum(e["size"] for e in files) - left)


def versions_to_json(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    _to_json(apps, "ModelVersion", "manifest", "ModelFile", "version")


def uploads_to_json(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    _to_json(apps, "Upload", "manifest", "UnpackedFile", "upload")
    _to_json(apps, "Upload", "files", "AnnouncedFile", "upload")


def _to_json(apps: Any, model: str, field: str, file: str, owner: str) -> None:
    owners = apps.get_model("registry", model).objects
    files = apps.get_model("registry", file).objects.order_by("id")
    for pk in owners.values_list("pk", flat=True).iterator():
        found = files.filter(**{owner: pk}).values("path", "size", "sha256")
        owners.filter(pk=pk).update(**{field: list(found)})


class Migration(migrations.Migration):
    dependencies = [("registry", "0009_file_rows")]

    operations = [
        migrations.RunPython(versions_to_rows, versions_to_json),
        migrations.RunPython(uploads_to_rows, uploads_to_json),
    ]
