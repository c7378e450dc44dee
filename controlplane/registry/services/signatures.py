"""Signatures of what would run: keys that are trusted, signatures that come in, and the policy."""

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction

from controlplane.core import events
from controlplane.core.errors import Conflict
from controlplane.core.models import Event
from controlplane.registry.errors import (
    SignatureInvalid,
    SignatureRequired,
    SigningKeyInvalid,
    SigningKeyNotFound,
)
from controlplane.registry.models import (
    ConfigRevision,
    ModelSignature,
    ModelVersion,
    SigningKey,
    Upload,
)
from controlplane.registry.signature_state import (
    ed25519,
    signatures_of,
    trusted,
    version_digest,
)
from controlplane.registry.types import config_files, manifest_digest
from wire.minisign import MinisignError, key_name, public_keys, signature_of, signer
from wire.statement import FIRST_LINE, statement


def version_signature_check(
    version: ModelVersion,
    revision: ConfigRevision | None,
    texts: Mapping[str, str] | None = None,
) -> None:
    """Whether somebody trusted signed what would start. ``texts`` are configurations that are not
    saved. Raises SignatureRequired."""
    name, number = version.model.name, version.version
    edited = revision.number if revision else 0
    how = f"--name {name} --version {number} --config-revision {edited} --key FILE"
    how = f"Run: shoal model sign {how}"
    if texts:
        how = "Save the edited configuration as a revision, and have that signed."
    _signed_check(
        f"{version}" + (f" with configuration revision {edited}" if edited else ""),
        lambda: version_digest(version, revision, texts),
        how,
        {"model": name, "version": number, "config_revision": edited},
    )


def upload_signature_check(upload: Upload, texts: Mapping[str, str]) -> None:
    """The same for an upload that is no version yet. Raises SignatureRequired."""
    _signed_check(
        upload.filename,
        lambda: manifest_digest(upload.manifest(), config_files(texts)),
        "Register it as a version, and have that signed.",
        {},
    )


def _signed_check(what: str, digest_of: Callable[[], str], how: str, extra: dict[str, Any]) -> None:
    if settings.SHOAL_SIGNATURE_POLICY != "require":
        return
    digest = digest_of()
    if any(signature.counts for signature in signatures_of(digest)):
        return
    raise SignatureRequired(
        f"{what} is not signed by a key that this installation trusts. "
        f"The digest of its files is {digest}.",
        hints=(how, "An administrator adds keys: shoal signing-key add FILE.pub"),
        extra={**extra, "digest": digest},
    )


@transaction.atomic
def signature_add(
    *, version: ModelVersion, revision: ConfigRevision | None, text: str, actor: str
) -> str:
    """Keep a .minisig file, if a trusted key made it of just what would run; returns the digest.

    It replaces an earlier one by the same key. Raises SignatureInvalid.
    """
    digest = version_digest(version, revision)
    try:
        signature = signature_of(text)
    except MinisignError as error:
        raise SignatureInvalid(f"signature: {error}.", field="signature") from error
    name = key_name(signature.key_id)
    keys = trusted([name])
    if not keys:
        raise SignatureInvalid(
            f"signature: made by the key {name}, which this installation does not trust.",
            field="signature",
            hints=(
                "`GET /api/v1/signing-keys` lists the keys that are trusted.",
                "An administrator adds keys: shoal signing-key add FILE.pub",
            ),
        )
    key = signer(keys.values(), signature, statement(digest), ed25519)
    if key is None:
        raise SignatureInvalid(
            f"signature: the key {name} did not sign this statement: expected a signature of "
            f"{FIRST_LINE!r} with the digest {digest}.",
            field="signature",
            hints=("`GET .../signatures` has the `statement`: sign these bytes, no others.",),
        )
    ModelSignature.objects.update_or_create(
        digest=digest, key_id=name, defaults={"text": signature.file(), "uploaded_by": actor}
    )
    number = revision.number if revision else 0
    events.record(
        actor=actor,
        verb="model.signed",
        subject=f"model/{version.model.name}",
        message=f"{version} is signed by {key.comment} ({name})",
        data={
            "version": version.version,
            "config_revision": number,
            "digest": digest,
            "key_id": name,
        },
    )
    return digest


@transaction.atomic
def signing_key_add(*, text: str, comment: str, actor: str) -> SigningKey:
    """Trust the key in the text of a .pub file. Adding it again changes its comment.

    Raises SigningKeyInvalid, Conflict for another key with the same ID.
    """
    try:
        found = public_keys(text)
    except MinisignError as error:
        raise SigningKeyInvalid(f"public_key: {error}.", field="public_key") from error
    if len(found) != 1:
        raise SigningKeyInvalid(
            f"public_key: {len(found)} keys, expected one.",
            field="public_key",
            hints=("Add them one by one, each with its comment.",),
        )
    key = found[0]
    existing = SigningKey.objects.select_for_update().filter(key_id=key.name).first()
    if existing is not None and existing.public != key.line():
        raise Conflict(
            f"Another key with the ID {key.name} is trusted already: {existing.comment}.",
            field="public_key",
            hints=("Remove that one first, or make a new key.",),
        )
    row, _ = SigningKey.objects.update_or_create(
        key_id=key.name,
        defaults={"public": key.line(), "comment": comment, "added_by": actor},
    )
    events.record(
        actor=actor,
        verb="signing_key.added",
        subject=f"signing-key/{row.key_id}",
        message=f"Signatures of the key {row} count from now on",
        data={"public_key": row.public},
    )
    return row


@transaction.atomic
def signing_key_remove(*, key_id: str, actor: str) -> None:
    """Its signatures count no more, what they let run runs on. Raises SigningKeyNotFound."""
    row = SigningKey.objects.select_for_update().filter(key_id=key_id.upper()).first()
    if row is None:
        raise SigningKeyNotFound(f"No trusted key has the ID {key_id!r}.")
    row.delete()
    events.record(
        actor=actor,
        verb="signing_key.removed",
        subject=f"signing-key/{row.key_id}",
        message=f"Signatures of the key {row} count no more",
        severity=Event.Severity.WARNING,
        data={"public_key": row.public},
    )
