"""The files of minisign, as texts: public keys and signatures, read strictly and written.

Standard library only: what Ed25519 must say yes to is handed out as pairs of signature and message
(``Signature.proofs``), and whoever trusts keys asks a library (``Verify``).
https://jedisct1.github.io/minisign/ describes the format.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

UNTRUSTED: Final = "untrusted comment: "
TRUSTED: Final = "trusted comment: "
LEGACY: Final = b"Ed"  # signs the bytes themselves; also the algorithm of every key
PREHASHED: Final = b"ED"  # signs their BLAKE2b-512
LONGEST: Final = 16 * 1024  # characters of a signature's file; minisign writes at most 10 KiB

Verify = Callable[[bytes, bytes, bytes], bool]  # (public key, signature, message)


class MinisignError(ValueError):
    """A file that is not minisign's; the text names the line, and what was expected."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """``key_id`` has 8 bytes, ``public`` 32."""

    key_id: bytes
    public: bytes
    comment: str = ""

    @property
    def name(self) -> str:
        return key_name(self.key_id)

    def line(self) -> str:
        """What stands in its file, and is taken by ``minisign -P``."""
        return _encoded(LEGACY + self.key_id + self.public)

    def file(self) -> str:
        return f"{UNTRUSTED}minisign public key {self.name}\n{self.line()}\n"


@dataclass(frozen=True, slots=True)
class Signature:
    """``global_signature`` is over ``signature`` and ``trusted_comment``."""

    algorithm: bytes
    key_id: bytes
    signature: bytes
    trusted_comment: str
    global_signature: bytes
    untrusted_comment: str = "signature of shoal"

    def file(self) -> str:
        return (
            f"{UNTRUSTED}{self.untrusted_comment}\n"
            f"{_encoded(self.algorithm + self.key_id + self.signature)}\n"
            f"{TRUSTED}{self.trusted_comment}\n"
            f"{_encoded(self.global_signature)}\n"
        )

    def proofs(self, data: bytes) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """(signature, message) of both: of ``data``, and of the trusted comment. Both must hold."""
        message = data if self.algorithm == LEGACY else prehash(data)
        comment = self.signature + self.trusted_comment.encode()
        return (self.signature, message), (self.global_signature, comment)


def key_name(key_id: bytes) -> str:
    """As minisign prints it: 16 hexadecimal digits."""
    return f"{int.from_bytes(key_id, 'little'):016X}"


def prehash(data: bytes) -> bytes:
    return hashlib.blake2b(data).digest()


def signer(
    keys: Iterable[PublicKey], signature: Signature, data: bytes, verify: Verify
) -> PublicKey | None:
    """The one of ``keys`` that made this signature of ``data``."""
    for key in keys:
        if key.key_id == signature.key_id and all(
            verify(key.public, made, message) for made, message in signature.proofs(data)
        ):
            return key
    return None


def public_keys(text: str) -> tuple[PublicKey, ...]:
    """Those in a text of one or more ``.pub`` files, or of their second lines alone.

    Lines that begin with ``#`` are left out. Raises MinisignError.
    """
    found: list[PublicKey] = []
    comment = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith(UNTRUSTED.strip()):
            comment = _printable(line.removeprefix(UNTRUSTED.strip()).strip(), f"line {number}")
        elif line and not line.startswith("#"):
            raw = _decoded(line, 42, f"line {number}, a public key")
            if raw[:2] != LEGACY:
                raise MinisignError(f"line {number}: no Ed25519 key: it begins with {raw[:2]!r}")
            found.append(PublicKey(raw[2:10], raw[10:], comment))
            comment = ""
    if not found:
        raise MinisignError("no public key in it: expected the text of minisign's .pub file")
    return tuple(found)


def signature_of(text: str) -> Signature:
    """The signature in the text of a ``.minisig`` file. Raises MinisignError."""
    if len(text) > LONGEST:
        raise MinisignError(f"{len(text)} characters, expected at most {LONGEST}")
    lines = text.removesuffix("\n").replace("\r\n", "\n").split("\n")
    if len(lines) != 4:
        raise MinisignError(f"{len(lines)} lines, expected the four of a .minisig file")
    untrusted = _after(lines[0], UNTRUSTED, "line 1")
    raw = _decoded(lines[1], 74, "line 2, the signature")
    if raw[:2] not in (LEGACY, PREHASHED):
        raise MinisignError(f"line 2: the algorithm is {raw[:2]!r}, expected b'ED' or b'Ed'")
    return Signature(
        algorithm=raw[:2],
        key_id=raw[2:10],
        signature=raw[10:],
        trusted_comment=_after(lines[2], TRUSTED, "line 3"),
        global_signature=_decoded(lines[3], 64, "line 4, the signature of the comment"),
        untrusted_comment=untrusted,
    )


def _after(line: str, start: str, where: str) -> str:
    if not line.startswith(start):
        raise MinisignError(f"{where}: {line[:40]!r}, expected {start!r} and a text")
    return _printable(line.removeprefix(start), where)


def _printable(text: str, where: str) -> str:
    """Comments are shown in terminals; minisign's own have tabs."""
    if not text.replace("\t", " ").isprintable():
        raise MinisignError(f"{where}: a comment with characters that cannot be printed")
    return text


def _decoded(text: str, size: int, where: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MinisignError(f"{where}: not Base64: {error}") from error
    # why encoded again: Base64 has spellings of the same bytes, and only one is written
    if len(raw) != size or _encoded(raw) != text:
        raise MinisignError(f"{where}: {len(raw)} bytes, expected {size} in plain Base64")
    return raw


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
