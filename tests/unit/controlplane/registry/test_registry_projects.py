"""Models and projects: where a version goes, what a quota counts, what a digest gives."""

import hashlib
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, Project, User
from controlplane.accounts.scope import within
from controlplane.core.errors import Invalid
from controlplane.registry.errors import ChecksumMismatch
from controlplane.registry.models import Blob, Model, Upload
from controlplane.registry.selectors import projects_bytes
from controlplane.registry.services import file_lists, upload_progress
from controlplane.registry.states import UploadState
from controlplane.registry.stores import blob_store
from tests.support.people import make_user
from tests.support.registered_models import model_register

pytestmark = pytest.mark.django_db


@pytest.fixture
def vision(db: None) -> Project:
    return Project.objects.create(name="vision", created_by="ada")


def ready(owner: User, *, project: str, digest: str = "1" * 64) -> Upload:
    """An upload that has been inspected, of no file."""
    return Upload.objects.create(
        id=f"{project}-ready",
        filename="m.zip",
        size=30,
        digest=digest,
        project_id=project,
        state=UploadState.READY,
        inspection={"models": [], "problems": [], "code": []},
        created_by=owner,
        expires_at=timezone.now() + timedelta(days=1),
    )


def register(api: APIClient, name: str, upload: Upload) -> Any:
    return api.post("/api/v1/models", {"name": name, "upload_id": upload.pk})


def test_a_new_model_is_of_the_project_of_its_upload(
    api: APIClient, deployer: User, vision: Project
) -> None:
    answer = register(api, "eyes", ready(deployer, project="vision"))
    assert (answer.status_code, answer.json()["project"]) == (201, "vision")
    assert api.get("/api/v1/models?project=vision").json()["total"] == 1
    assert api.get("/api/v1/models?project=default").json()["total"] == 0


def test_the_next_version_is_of_the_model_s_project(
    api: APIClient, deployer: User, vision: Project
) -> None:
    Model.objects.create(name="eyes", project=vision)
    answer = register(api, "eyes", ready(deployer, project="default"))
    assert (answer.status_code, answer.json()["project"]) == (201, "vision")


def test_the_quota_counts_versions_and_uploads_that_are_no_versions(
    deployer: User, vision: Project
) -> None:
    Model.objects.create(name="eyes", project=vision)
    size = model_register("eyes").size
    ready(deployer, project="vision")
    assert projects_bytes(["vision", "default"]) == {"vision": size + 30, "default": 0}


def test_an_upload_counts_as_large_as_it_is_unpacked(deployer: User, vision: Project) -> None:
    """Else archives that pack well, never registered, would hold the disk."""
    upload = ready(deployer, project="vision")
    for number in range(2):
        upload.unpacked.create(path=f"{number}", size=500, sha256="2" * 64)
    assert projects_bytes(["vision"]) == {"vision": 1000}
    for number in range(2):
        upload.pk = f"growing-{number}"
        upload.state = UploadState.UPLOADING
        upload.save(force_insert=True)
    assert projects_bytes(["vision"]) == {"vision": 1000 + 30 + 30}
    assert projects_bytes(["vision"], without="vision-ready") == {"vision": 60}


def test_uploads_and_versions_beyond_the_quota_are_refused_with_the_numbers(
    api: APIClient, deployer: User, vision: Project
) -> None:
    vision.max_bytes = 100
    vision.save()
    ready(deployer, project="vision")
    asked = {"filename": "m.zip", "size": 71, "project": "vision"}
    problem = api.post("/api/v1/uploads", asked).json()
    assert problem["code"] == "ProjectQuotaExceeded"
    numbers = [problem[name] for name in ("quota", "used", "wanted", "limit")]
    assert numbers == ["bytes", 30, 71, 100]
    assert api.post("/api/v1/uploads", {**asked, "size": 70}).status_code == 201
    # packed it was small enough
    unpacked = Upload.objects.get(pk="vision-ready")
    unpacked.unpacked.create(path="m/1/model.onnx", size=50, sha256="2" * 64)
    answer = register(api, "eyes", unpacked)
    assert (answer.status_code, answer.json()["used"], answer.json()["wanted"]) == (409, 70, 50)
    assert not Model.objects.exists()


def test_an_archived_project_takes_nothing_new(api: APIClient, vision: Project) -> None:
    vision.archived = True
    vision.save()
    for path, body in (
        ("uploads", {"filename": "m.zip", "size": 1}),
        ("endpoints", {"name": "eyes"}),
        ("environments", {"name": "eyes", "requirements": "numpy"}),
    ):
        answer = api.post(f"/api/v1/{path}", {**body, "project": "vision"})
        assert (answer.status_code, answer.json()["code"]) == (409, "ProjectArchived"), path


def test_what_was_begun_before_goes_into_no_archived_project_either(
    api: APIClient, deployer: User, vision: Project
) -> None:
    upload = ready(deployer, project="vision")
    Model.objects.create(name="known", project=vision)
    environment = {"name": "eyes", "requirements": "numpy", "project": "vision"}
    assert api.post("/api/v1/environments", environment).status_code == 201
    vision.archived = True
    vision.save()
    for path, body in (
        ("models", {"name": "eyes", "upload_id": upload.pk}),
        ("models/known/versions", {"upload_id": upload.pk}),
        ("environments", {**environment, "requirements": "torch"}),
    ):
        answer = api.post(f"/api/v1/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (409, "ProjectArchived"), path
    assert Model.objects.count() == 1
    # the same again is nothing new
    assert api.post("/api/v1/environments", environment).status_code == 200


def test_knowing_a_digest_gives_nobody_another_project_s_file(
    vision: Project, stores: object
) -> None:
    """Announced, it counts as missing; and other bytes than those are not believed."""
    secret = b"weights of the default project"
    version = model_register("secret", content=secret)
    sha256 = hashlib.sha256(secret).hexdigest()
    assert version.files.filter(sha256=sha256).exists()
    Blob.objects.create(sha256=sha256, size=len(secret), seen_at=timezone.now())
    user = make_user("mia", User.Role.MEMBER)
    Membership.objects.create(project=vision, user=user, role="deployer")
    listed: Any = [{"path": "m/1/model.onnx", "size": len(secret), "sha256": sha256}]
    with within(frozenset({"vision"})):
        upload = file_lists.file_list_create(filename="m", files=listed, user=user)
        assert [row["sha256"] for row in upload_progress.files_missing(upload.pk)] == [sha256]
        file_lists.file_append(
            upload_id=upload.pk, sha256=sha256, offset=0,
            source=io.BytesIO(b"x" * len(secret)), checksum=None,
        )  # fmt: skip
        assert upload_progress.files_missing(upload.pk) == []
    with pytest.raises(ChecksumMismatch):  # in the job, which sees all projects
        file_lists.files_verify(upload, tick=lambda _: None)
    # who may see the other project sends nothing twice
    everywhere = file_lists.file_list_create(filename="m", files=listed, user=user)
    assert upload_progress.files_missing(everywhere.pk) == []


def test_calling_a_file_empty_gives_nobody_its_content_either(vision: Project) -> None:
    """Of no byte nothing is missing, so that nothing would be sent, and nothing hashed."""
    sha256 = hashlib.sha256(b"weights of the default project").hexdigest()
    user = make_user("mia", User.Role.MEMBER)
    listed: Any = [{"path": "m/1/model.onnx", "size": 0, "sha256": sha256}]
    with within(frozenset({"vision"})), pytest.raises(Invalid) as refused:
        file_lists.file_list_create(filename="m", files=listed, user=user, project="vision")
    assert "m/1/model.onnx" in str(refused.value)
    assert refused.value.field == "files"


def test_who_sends_a_file_is_not_told_that_another_project_has_it(
    vision: Project, stores: object, tmp_path: Path
) -> None:
    content = b"weights that both have"
    sha256 = hashlib.sha256(content).hexdigest()
    (tmp_path / "theirs").write_bytes(content)
    blob_store().put(tmp_path / "theirs", sha256)
    listed: Any = [{"path": "m.onnx", "size": len(content), "sha256": sha256}]
    with within(frozenset({"vision"})):
        upload = file_lists.file_list_create(
            filename="m", files=listed, user=make_user("mia", User.Role.MEMBER)
        )
        file_lists.file_append(
            upload_id=upload.pk, sha256=sha256, offset=0,
            source=io.BytesIO(content), checksum=None,
        )  # fmt: skip
    said = file_lists.files_verify(upload, tick=lambda _: None)
    assert said == "1 file(s) hashed, 0 were here already."
