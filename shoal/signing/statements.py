"""What this machine signs, and finds signed: statements, never texts that a server made up."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from shoal.client.errors import ShoalError
from shoal.client.uploads import digest as digest_of_file
from shoal.signing.secret_key import KeyUnusable
from wire.minisign import MinisignError, PublicKey, key_name, public_keys, signature_of, signer
from wire.statement import files_digest, statement

HEXADECIMAL: Final = frozenset("0123456789abcdef")


class StatementDiffers(ShoalError):
    """What the installation has is not what is here; nothing was signed."""


def statement_checked(digest: str, path: Path | None) -> bytes:
    """The statement of files with this digest, made here: a server gets nothing else signed.

    With ``path`` the digest is made from the files in that folder too. Raises StatementDiffers.
    """
    if len(digest) != 64 or not HEXADECIMAL.issuperset(digest):
        raise StatementDiffers("The installation sent no digest", f"{digest[:80]!r}")
    if path is not None:
        found = folder_digest(path)
        if found != digest:
            raise StatementDiffers(
                "These are not the installation's files",
                f"{path} has the digest {found}, the installation's files have {digest}.",
                [
                    "Give the folder of the whole repository, with the edited config.pbtxt in the "
                    "place of the file's: `shoal model download` fetches the files to compare.",
                ],
            )
    return statement(digest)


def folder_digest(folder: Path) -> str:
    """Of all files below ``folder``. Raises StatementDiffers where there are none."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        raise StatementDiffers(f"{folder} holds no files")
    return files_digest(
        (path.relative_to(folder).as_posix(), path.stat().st_size, digest_of_file(path))
        for path in files
    )


def public_keys_in(file: Path) -> tuple[PublicKey, ...]:
    """Raises KeyUnusable."""
    try:
        return public_keys(file.read_text(encoding="utf-8", errors="replace"))
    except MinisignError as error:
        raise KeyUnusable(f"{file} is no public key of minisign", str(error)) from error


def verified(keys: Iterable[PublicKey], text: str, data: bytes) -> PublicKey | None:
    """The one of ``keys`` that made this .minisig file of ``data``."""
    try:
        return signer(keys, signature_of(text), data, ed25519)
    except MinisignError:
        return None


def ed25519(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def written(name: str, shown: Any, folder: Path) -> list[Path]:
    """The statement and its signatures as files that ``minisign -Vm`` takes; the first is the
    statement. ``name`` is what the caller calls the model: a server names no files here.

    Raises MinisignError."""
    stem = f"{name}-{int(shown['version'])}"
    if shown["config_revision"]:
        stem += f"-r{int(shown['config_revision'])}"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{stem}.statement"]
    files[0].write_bytes(statement_checked(shown["digest"], None))
    for number, item in enumerate(shown["items"]):
        signature = signature_of(item["signature"])
        middle = f".{key_name(signature.key_id)}" if number else ""
        files.append(folder / f"{stem}.statement{middle}.minisig")
        files[-1].write_text(signature.file(), encoding="utf-8")
    return files
