"""What can go wrong with uploads and models. Texts are for people and are shown as they are."""

from controlplane.core.errors import Conflict, Invalid, NotFound, PayloadTooLarge, Unavailable


class UploadNotFound(NotFound):
    code = "UploadNotFound"


class FileNotAnnounced(NotFound):
    code = "FileNotAnnounced"


class UploadOffsetConflict(Conflict):
    code = "UploadOffsetConflict"


class UploadIncomplete(Conflict):
    code = "UploadIncomplete"


class UploadStateConflict(Conflict):
    code = "UploadStateConflict"


class UploadTooLarge(PayloadTooLarge):
    code = "UploadTooLarge"


class ChecksumMismatch(Invalid):
    code = "ChecksumMismatch"


class IngestFailed(Invalid):
    """Ingest ends here; ``code`` says why, ``detail`` holds verbatim evidence."""

    code = "IngestFailed"

    def __init__(
        self, message: str, *, code: str, detail: str = "", hints: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code=code, hints=hints)
        self.detail = detail


class InspectorUnavailable(Unavailable):
    code = "InspectorUnavailable"


class ModelNotFound(NotFound):
    code = "ModelNotFound"


class NameInvalid(Invalid):
    code = "NameInvalid"


class ModelArchived(Conflict):
    code = "ModelArchived"


class ModelVersionImmutable(Conflict):
    code = "ModelVersionImmutable"


class AliasInvalid(Invalid):
    code = "AliasInvalid"


class AliasNotFound(NotFound):
    code = "AliasNotFound"


class RevisionNotFound(NotFound):
    code = "ConfigRevisionNotFound"


class FileMissing(NotFound):
    code = "FileNotFound"


class ConfigInvalid(Invalid):
    code = "ConfigInvalid"


class InUse(Conflict):
    code = "InUse"
