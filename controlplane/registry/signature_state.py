"""Who signed what would run: reads over signatures and the keys that are trusted here.

A signature is checked each time that it is asked about: a row says nothing by itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controlplane.registry.models import ConfigRevision, ModelSignature, ModelVersion, SigningKey
from controlplane.registry.types import config_files, manifest_digest
from wire.minisign import PublicKey, public_keys, signature_of, signer
from wire.statement import statement


@dataclass(frozen=True, slots=True)
class KeptSignature:
    """``comment`` is that of the trusted key that made it; None where it does not count."""

    key_id: str
    comment: str | None
    trusted_comment: str
    uploaded_by: str
    uploaded_at: Any
    signature: str

    @property
    def counts(self) -> bool:
        return self.comment is not None


def ed25519(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def version_digest(
    version: ModelVersion,
    revision: ConfigRevision | None,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Of all files that would run; ``texts`` (model -> config.pbtxt) go over the revision's."""
    configs = {**(revision.configs if revision else {}), **(texts or {})}
    if not configs:
        return version.digest
    return manifest_digest(version.manifest(), config_files(configs))


def version_statement(digest: str) -> str:
    """What is to be signed for files of this digest."""
    return statement(digest).decode()


def signatures_of(digest: str) -> list[KeptSignature]:
    """All that were uploaded for files of this digest, the oldest first."""
    rows = list(ModelSignature.objects.filter(digest=digest).order_by("id"))
    keys = trusted([row.key_id for row in rows]) if rows else {}
    return [_kept(row, keys.get(row.key_id)) for row in rows]


def trusted(key_ids: Collection[str]) -> dict[str, PublicKey]:
    """Those of these keys that count here now."""
    return {row.key_id: public_key(row) for row in SigningKey.objects.filter(key_id__in=key_ids)}


def public_key(row: SigningKey) -> PublicKey:
    (found,) = public_keys(row.public)
    return PublicKey(found.key_id, found.public, row.comment)


def signatures_kept(digests: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The texts for a node, which trusts keys of its own: digest -> .minisig files."""
    found: dict[str, tuple[str, ...]] = {}
    rows = ModelSignature.objects.filter(digest__in=set(digests)).order_by("id")
    for digest, text in rows.values_list("digest", "text"):
        found[digest] = (*found.get(digest, ()), text)
    return found


def _kept(row: ModelSignature, key: PublicKey | None) -> KeptSignature:
    signature = signature_of(row.text)
    made_by = signer([key] if key else [], signature, statement(row.digest), ed25519)
    return KeptSignature(
        key_id=row.key_id,
        comment=made_by.comment if made_by else None,
        trusted_comment=signature.trusted_comment,
        uploaded_by=row.uploaded_by,
        uploaded_at=row.updated_at,
        signature=row.text,
    )
