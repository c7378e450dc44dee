"""What can go wrong with uploads, drafts and models. Texts are for people, shown as they are."""

from typing import Final

from controlplane.core.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    PayloadTooLarge,
    Unavailable,
)


class UploadNotFound(NotFound):
    code = "UploadNotFound"
    tries = ("It has expired or was deleted: upload again.",)


class FileNotAnnounced(NotFound):
    code = "FileNotAnnounced"
    tries = ("Only files of the list that the upload was created with can be sent.",)


class UploadOffsetConflict(Conflict):
    code = "UploadOffsetConflict"
    tries = ("Continue from `offset`.",)


class UploadIncomplete(Conflict):
    code = "UploadIncomplete"
    tries = ("Send the rest from `offset`, then complete again.",)


class UploadStateConflict(Conflict):
    code = "UploadStateConflict"
    tries = ("Read the upload: its `state` says what can follow.",)


class UploadTooLarge(PayloadTooLarge):
    code = "UploadTooLarge"
    tries = ("Send chunks of at most 16 MiB; SHOAL_MAX_UPLOAD_BYTES limits the whole.",)


class UploadQuotaExceeded(PayloadTooLarge):
    code = "UploadQuotaExceeded"
    tries = ("Register, finish or delete some of your uploads.",)


class TooManyUploads(Conflict):
    code = "TooManyUploads"
    tries = ("Finish or delete some of your unfinished uploads.",)


class ChecksumMismatch(Invalid):
    code = "ChecksumMismatch"
    tries = ("Send the bytes again.",)


# What to try where an import failed, by its code.
IMPORT_HINTS: Final[dict[str, tuple[str, ...]]] = {
    "ImportAddressRefused": (
        "Name an address that is public; an administrator may allow others: SHOAL_IMPORT_NETWORKS.",
    ),
    "ImportFailed": ("Correct the address, or what answers there, then import again.",),
    "ImportNothingFound": ("Names are spelled as the source shows them, and case counts.",),
    "ImportRedirects": ("Name the address that it leads to in the end.",),
    "ImportTooLarge": ("Name one file of it, or a folder with fewer.",),
    "ImportTooSlow": ("Import again when the source is quicker, or upload the file.",),
    "ImportUnreachable": ("Import again in a while; does the address answer in a browser?",),
}


class IngestFailed(Invalid):
    """Ingest ends here; ``code`` says why, ``detail`` holds verbatim evidence."""

    code = "IngestFailed"
    tries = ("Correct what is said here, then upload again.",)

    def __init__(
        self, message: str, *, code: str, detail: str = "", hints: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code=code, hints=hints)
        self.detail = detail


class ImportFailed(IngestFailed):
    """As it ends while the bytes are still elsewhere."""

    code = "ImportFailed"
    tries = ("Correct the address, or what answers there, then import again.",)

    def __init__(
        self, message: str, *, code: str, detail: str = "", hints: tuple[str, ...] = ()
    ) -> None:
        super().__init__(
            message, code=code, detail=detail, hints=hints or IMPORT_HINTS.get(code, ())
        )


class InspectorUnavailable(Unavailable):
    code = "InspectorUnavailable"
    tries = ("Send the request again in a moment; the log of the worker has the cause.",)


class ModelNotFound(NotFound):
    code = "ModelNotFound"
    tries = ("`GET /api/v1/models?archived=all` lists those that there are.",)


class NameInvalid(Invalid):
    code = "NameInvalid"
    tries = ("Begin with a letter or a digit; then also `.`, `_` and `-`.",)


class NameTaken(Conflict):
    code = "NameTaken"
    tries = ("Choose another name.",)


class ModelArchived(Conflict):
    code = "ModelArchived"
    tries = ("Restore it first.",)


class ModelVersionImmutable(Conflict):
    code = "ModelVersionImmutable"
    tries = ("Register it as the next version.",)


class TensorsDiffer(Conflict):
    """The newest version takes or gives other tensors, and only the same ones were to be taken."""

    code = "TensorsDiffer"
    tries = (
        "Register another model under another name; where it is the next version of this one, "
        "leave `same_tensors` out.",
    )


class CodeNotAllowed(Forbidden):
    """This installation runs no models that bring code."""

    code = "CodeNotAllowed"
    tries = ("Export the model to a format without code of its own, such as ONNX.",)


class CodeNotApproved(Conflict):
    """Nobody who may has said yes to this code yet."""

    code = "CodeNotApproved"
    tries = ("Ask somebody who may approve code; `needed_role` says who.",)


class SignatureRequired(Conflict):
    """This installation runs signed files only, and no key that it trusts signed these."""

    code = "SignatureRequired"
    tries = ("Sign it with `shoal model sign`; an administrator says which keys are trusted.",)


class SignatureInvalid(Invalid):
    code = "SignatureInvalid"
    tries = ("Send the whole text of the .minisig file that `minisign -S` wrote.",)


class SigningKeyInvalid(Invalid):
    code = "SigningKeyInvalid"
    tries = ("Send the text of the .pub file that `minisign -G` wrote.",)


class SigningKeyNotFound(NotFound):
    code = "SigningKeyNotFound"
    tries = ("`GET /api/v1/signing-keys` lists those that are trusted.",)


class AliasInvalid(Invalid):
    code = "AliasInvalid"
    tries = ("Begin with a letter; `latest` and numbers stand for themselves.",)


class AliasNotFound(NotFound):
    code = "AliasNotFound"
    tries = ("`GET /api/v1/models/{name}` lists its aliases.",)


class RevisionNotFound(NotFound):
    code = "ConfigRevisionNotFound"
    tries = ("`GET .../config-revisions` lists those of this version.",)


class FileMissing(NotFound):
    code = "FileNotFound"
    tries = ("`GET .../files` lists those of this version.",)


class ConfigInvalid(Invalid):
    code = "ConfigInvalid"
    tries = ("Mend the `problems`; some bring a `fix` with the whole corrected text.",)


class InUse(Conflict):
    code = "InUse"
    tries = ("Delete what uses it first; `used_by` names it.",)


class DraftNotFound(NotFound):
    code = "DraftNotFound"
    tries = ("`GET /api/v1/drafts` lists yours.",)


class DraftChanged(Conflict):
    """``extra["revision"]`` is the one that is kept."""

    code = "DraftChanged"
    tries = ("Read it again, then save with the `revision` that is kept.",)


class TooManyDrafts(Invalid):
    code = "TooManyDrafts"
    tries = ("Delete one that you do not need.",)
