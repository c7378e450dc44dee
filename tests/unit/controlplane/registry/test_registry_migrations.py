"""What an older version of Shoal kept is still there after the upgrade."""

import hashlib
from typing import Any

from django.db import connection
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.registry import storage
from controlplane.registry.models import CodeApproval, ModelVersion, Upload
from controlplane.registry.services.upload_progress import files_missing, part_name
from controlplane.registry.signature_state import version_digest
from controlplane.registry.types import FileEntry, manifest_digest
from tests.support.migrations import Migrate

DRAFTS = "drafts_draft"


def test_drafts_of_the_time_when_they_were_an_app_are_kept(
    migrate: Migrate, deployer: User
) -> None:
    migrate("registry", "0007_signatures")
    now = timezone.now()
    with connection.cursor() as cursor:
        assert DRAFTS in connection.introspection.table_names(cursor)
        cursor.execute(
            f"INSERT INTO {DRAFTS} (created_at, updated_at, id, title, upload_id, data, revision,"
            " owner_id) VALUES (%s, %s, 'd1', 'digits', 'u1', %s, 3, %s)",
            [now, now, '{"endpoint": "digits"}', deployer.pk],
        )
    apps = migrate("registry", "0008_drafts")
    (kept,) = apps.get_model("registry", "Draft").objects.all()
    assert (kept.pk, kept.title, kept.upload_id, kept.revision) == ("d1", "digits", "u1", 3)
    assert (kept.data, kept.owner_id) == ({"endpoint": "digits"}, deployer.pk)


def test_an_installation_from_before_drafts_gets_their_table(migrate: Migrate) -> None:
    migrate("registry", "0007_signatures")
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {DRAFTS}")
    apps = migrate("registry", "0008_drafts")
    assert not apps.get_model("registry", "Draft").objects.exists()


def entry(path: str, content: bytes) -> FileEntry:
    sha256 = hashlib.sha256(content).hexdigest()
    return FileEntry(path=path, size=len(content), sha256=sha256)


# Not in the order of plain text, and one content twice: both must come out as they went in.
FILES = [
    entry("net/1/model.onnx", b"graph"),
    entry("net/config.pbtxt", b""),
    entry("net-2/1/model.onnx", b"graph"),
]
ANNOUNCED = [*FILES, entry("all/1/", b""), entry("net/labels.txt", b"cat\ndog\n")]


def test_manifests_become_rows_and_keep_their_digests(migrate: Migrate, deployer: User) -> None:
    before = migrate("registry", "0008_drafts")
    old = before.get_model("registry", "ModelVersion")
    now = timezone.now()
    digest = manifest_digest(FILES)
    model = before.get_model("registry", "Model").objects.create(name="net", latest_version=2)
    for number, manifest in ((1, FILES), (2, [])):
        old.objects.create(
            model=model,
            version=number,
            digest=manifest_digest(manifest),
            manifest=manifest,
            size=10,
            created_by="dora",
        )
    before.get_model("registry", "CodeApproval").objects.create(
        digest=digest, reasons=[], approved_by="ada"
    )
    uploads = before.get_model("registry", "Upload").objects
    told: dict[str, Any] = {"size": 18, "created_by_id": deployer.pk, "expires_at": now}
    uploads.create(id="ready", state="ready", manifest=FILES, files=[], **told)
    uploads.create(id="growing", state="uploading", files=ANNOUNCED, manifest=[], **told)
    # one content is a blob, of another three bytes lie on the disk
    before.get_model("registry", "Blob").objects.create(
        sha256=FILES[0]["sha256"], size=5, seen_at=now
    )
    part = storage.part_path(part_name("growing", ANNOUNCED[-1]["sha256"]))
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(b"cat")

    migrate("registry", "0014_stated_lineage")
    first, empty = ModelVersion.objects.order_by("version")
    assert (first.manifest(), first.file_count, first.size) == (FILES, 3, 10)
    assert (empty.manifest(), empty.file_count) == ([], 0)
    assert manifest_digest(first.manifest()) == digest == first.digest
    assert CodeApproval.objects.get(digest=version_digest(first, None)).approved_by == "ada"
    ready, growing = Upload.objects.get(pk="ready"), Upload.objects.get(pk="growing")
    assert (ready.manifest(), ready.digest) == (FILES, digest)
    assert not ready.announced.exists()
    assert (growing.manifest(), growing.digest) == ([], "")
    assert list(growing.announced.values("path", "size", "sha256")) == ANNOUNCED
    (missing,) = files_missing("growing")
    assert (missing["path"], missing["offset"]) == ("net/labels.txt", 3)
    assert growing.offset == growing.size - 5

    again = migrate("registry", "0008_drafts")
    kept = again.get_model("registry", "ModelVersion").objects.get(version=1)
    assert (kept.manifest, kept.digest) == (FILES, digest)
    listed = again.get_model("registry", "Upload").objects.get(pk="growing")
    assert (listed.files, listed.manifest) == (ANNOUNCED, [])
