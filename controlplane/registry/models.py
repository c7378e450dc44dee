"""What can be served: uploads, drafts, content-addressed blobs, models and immutable versions."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from controlplane.accounts.models import OfProject, Scoped
from controlplane.core.models import Stamped
from controlplane.registry.code import CodeReason
from controlplane.registry.states import UploadState
from controlplane.registry.types import FileEntry

JSON = models.JSONField()


class Blob(models.Model):
    """Bytes stored once under their SHA-256, whatever number of versions uses them."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()  # last stored or asked for; young blobs are never collected

    def __str__(self) -> str:
        return self.sha256[:12]


class File(models.Model):
    """A file by its path, its size in bytes, and the SHA-256 of its content: the blob."""

    path = models.TextField()  # with slashes, relative
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        abstract = True
        ordering = ["id"]  # as ingest, or whoever announced them, sorted them

    def __str__(self) -> str:
        return self.path


class Upload(Stamped, OfProject):
    """A resumable upload and what ingest made of it."""

    State = UploadState  # it changes by registry.states.UPLOADS

    id = models.CharField(max_length=32, primary_key=True)  # uuid4().hex
    filename = models.CharField(max_length=255)
    size = models.BigIntegerField()
    offset = models.BigIntegerField(default=0)
    sha256_expected = models.CharField(max_length=64, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=16, choices=UploadState, default=UploadState.UPLOADING)
    steps = models.JSONField(default=list)  # [{name, status, detail, started_at, ended_at}]
    digest = models.CharField(max_length=64, blank=True)  # of its files, once unpacked
    inspection = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)  # {code, message, detail, hints}
    # of an import: types.Lineage
    lineage = models.JSONField(default=dict, blank=True, db_default=models.Value({}, JSON))
    # its address, until its bytes are here
    sealed_source = models.TextField(blank=True, default="", db_default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    expires_at = models.DateTimeField()
    # Ingest belongs to whoever holds the claim; one that stopped beating may be taken over.
    claim = models.CharField(max_length=32, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.id} {self.filename} {self.state}"

    def manifest(self) -> list[FileEntry]:
        """Every file once it is unpacked: a query with a row for each."""
        return file_entries(self.unpacked)


class AnnouncedFile(File, Scoped):
    """A file of an upload that is a list of files. A path that ends with a slash is a folder."""

    project_paths: ClassVar[tuple[str, ...]] = ("upload__project",)

    upload = models.ForeignKey(
        Upload, on_delete=models.CASCADE, related_name="announced", db_index=False
    )
    arrived = models.BigIntegerField(default=0)  # bytes; the same for all files of one content

    class Meta(File.Meta):
        indexes = [models.Index(fields=["sha256", "upload"], name="announcedfile_sha256")]
        constraints = [
            models.UniqueConstraint(fields=["upload", "path"], name="one_row_per_announced_file")
        ]


class UnpackedFile(File, Scoped):
    """A file of the repository that ingest made of an upload."""

    project_paths: ClassVar[tuple[str, ...]] = ("upload__project",)

    upload = models.ForeignKey(
        Upload, on_delete=models.CASCADE, related_name="unpacked", db_index=False
    )

    class Meta(File.Meta):
        indexes = [models.Index(fields=["sha256", "upload"], name="unpackedfile_sha256")]
        constraints = [
            models.UniqueConstraint(fields=["upload", "path"], name="one_row_per_unpacked_file")
        ]


class Draft(Stamped):
    """A deployment that somebody is still writing: what the studio's wizard holds between two
    visits. ``data`` is the wizard's own; the server keeps it and does not act on it."""

    id = models.CharField(max_length=32, primary_key=True)  # uuid4().hex
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts"
    )
    title = models.CharField(max_length=255, blank=True)
    # why no foreign key: an upload may expire, and what was typed is worth keeping all the same
    upload_id = models.CharField(max_length=32, blank=True)
    data = models.JSONField(default=dict)
    revision = models.PositiveIntegerField(default=1)  # compare-and-set of every save

    class Meta:
        db_table = "drafts_draft"  # from when drafts were an app of their own

    def __str__(self) -> str:
        return f"{self.title or self.id} of {self.owner}"


class Model(Stamped, OfProject):
    """A registered model: a name with numbered versions."""

    name = models.CharField(max_length=255, unique=True)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=dict)
    latest_version = models.PositiveIntegerField(default=0)
    archived = models.BooleanField(default=False)

    # Filled in by selectors.
    latest: "ModelVersion | None"
    used_by: list[str]

    def __str__(self) -> str:
        return self.name


class ModelVersion(Stamped, Scoped):
    """One immutable Triton model repository."""

    project_paths: ClassVar[tuple[str, ...]] = ("model__project",)

    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    type = models.CharField(max_length=32, default="triton_model")
    digest = models.CharField(max_length=64)  # SHA-256 of the sorted manifest
    # of its files, which never change
    size = models.BigIntegerField()
    file_count = models.PositiveIntegerField()
    source_filename = models.CharField(max_length=255, blank=True)
    # of its upload, if that was an import: never changed
    lineage = models.JSONField(default=dict, blank=True, db_default=models.Value({}, JSON))
    # what somebody says of its origin that no import found: lineage.LONGEST, by, at
    stated_lineage = models.JSONField(default=dict, blank=True, db_default=models.Value({}, JSON))
    description = models.TextField(blank=True)
    tags = models.JSONField(default=dict)
    declared = models.JSONField(default=dict, blank=True)  # kept and given back, not acted on
    warnings = models.JSONField(default=list)
    # why its files run code, [{file, kind, value, message}]; null: not assessed yet
    code = models.JSONField(null=True, blank=True)
    archived = models.BooleanField(default=False)
    created_by = models.CharField(max_length=150)

    # Filled in by selectors.
    used_by: list[str]  # endpoint names
    code_reasons: list[CodeReason]
    approval: "CodeApproval | None"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "version"], name="one_row_per_model_version")
        ]
        indexes = [models.Index(fields=["digest"], name="modelversion_digest")]

    def __str__(self) -> str:
        return f"{self.model.name}:{self.version}"

    def manifest(self) -> list[FileEntry]:
        """Every file: a query with a row for each."""
        return file_entries(self.files)


class ModelFile(File, Scoped):
    """A file of a version's repository."""

    project_paths: ClassVar[tuple[str, ...]] = ("version__model__project",)

    version = models.ForeignKey(
        ModelVersion, on_delete=models.CASCADE, related_name="files", db_index=False
    )

    class Meta(File.Meta):
        indexes = [models.Index(fields=["sha256", "version"], name="modelfile_sha256")]
        constraints = [
            models.UniqueConstraint(fields=["version", "path"], name="one_row_per_model_file")
        ]


class ModelAlias(Stamped, Scoped):
    """A name for a version that may move to another: `champion`. `latest` is told, not kept."""

    project_paths: ClassVar[tuple[str, ...]] = ("model__project",)

    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="aliases")
    name = models.CharField(max_length=64)
    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="aliases")
    set_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "name"], name="one_row_per_model_alias")
        ]

    def __str__(self) -> str:
        return f"{self.model.name}@{self.name}"


class CodeApproval(Stamped):
    """Somebody who may said yes to the code in files of this digest, under whatever name."""

    digest = models.CharField(max_length=64, unique=True)
    reasons = models.JSONField()  # [{file, kind, value, message}] as they were shown then
    approved_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"{self.digest[:12]} by {self.approved_by}"


class SigningKey(Stamped):
    """A public key of minisign whose signatures count here. The secret one is never seen."""

    key_id = models.CharField(max_length=16, unique=True)  # as minisign prints it
    public = models.CharField(max_length=56)  # the second line of its .pub file
    comment = models.CharField(max_length=128)
    added_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"{self.key_id} ({self.comment})"


class ModelSignature(Stamped):
    """A signature of files by their digest, under whatever name; kept when its key is removed."""

    digest = models.CharField(max_length=64)  # of all that would run: see wire.statement
    key_id = models.CharField(max_length=16)
    text = models.TextField()  # the .minisig file
    uploaded_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest", "key_id"], name="one_signature_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.digest[:12]} by {self.key_id}"


class RepoModel(Scoped):
    """A Triton model inside a version: what clients name in their URLs."""

    project_paths: ClassVar[tuple[str, ...]] = ("model_version__model__project",)

    model_version = models.ForeignKey(
        ModelVersion, on_delete=models.CASCADE, related_name="repo_models"
    )
    name = models.CharField(max_length=255)
    backend = models.CharField(max_length=64)
    platform = models.CharField(max_length=64, blank=True)
    max_batch_size = models.IntegerField(default=0)
    decoupled = models.BooleanField(default=False)
    inputs = models.JSONField()  # [{name, datatype, shape, optional}] without the batch axis
    outputs = models.JSONField()  # [{name, datatype, shape, labels?}]
    versions = models.JSONField()  # Triton's numeric version directories
    config_text = models.TextField(blank=True)  # config.pbtxt verbatim, empty if there is none
    config_effective = models.TextField()  # complete pbtxt after auto-complete
    graph = models.JSONField(null=True, blank=True)  # the file's own inputs and outputs
    code = models.JSONField(null=True, blank=True)  # as on ModelVersion, of config_text

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model_version", "name"], name="one_row_per_repo_model")
        ]

    def __str__(self) -> str:
        return self.name


class ConfigRevision(Stamped, Scoped):
    """Edited config.pbtxt texts over a version; the version itself never changes."""

    project_paths: ClassVar[tuple[str, ...]] = ("model_version__model__project",)

    model_version = models.ForeignKey(
        ModelVersion, on_delete=models.CASCADE, related_name="config_revisions"
    )
    number = models.PositiveIntegerField()
    configs = models.JSONField()  # repo model name -> config.pbtxt text, verbatim
    code = models.JSONField(null=True, blank=True)  # repo model name -> as on ModelVersion
    base = models.PositiveIntegerField(default=0)  # the revision that was edited, 0: the files
    message = models.CharField(max_length=255, blank=True)
    author = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["model_version", "number"], name="one_row_per_config_revision"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model_version} r{self.number}"


def file_entries(
    files: "models.Manager[ModelFile] | models.Manager[UnpackedFile]",
) -> list[FileEntry]:
    return [
        FileEntry(path=path, size=size, sha256=sha256)
        for path, size, sha256 in files.values_list("path", "size", "sha256")
    ]
