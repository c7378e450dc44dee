"""Secret keys in minisign's files: made, read with their passwords, and used.

One line of Base64 holds: algorithms (2 bytes each: ``Ed``, ``Sc`` or zeros, ``B2``), scrypt's salt
(32), its two limits (8 each, little endian), and 104 bytes which the password hides: key ID (8),
seed (32), public key (32), BLAKE2b-256 of algorithm, ID and both (32).
"""

import base64
import binascii
import hashlib
import os
import secrets
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shoal.client.errors import ShoalError
from wire.minisign import LEGACY, PREHASHED, UNTRUSTED, PublicKey, Signature, prehash

SCRYPT: Final = b"Sc"
PLAIN: Final = b"\0\0"
CHECKSUM: Final = b"B2"
OPERATIONS: Final = 1 << 25  # of a new key, as minisign has it: about 3 s
MEMORY_BYTES: Final = 1 << 30
MOST_MEMORY_BYTES: Final = 2**31 - 1  # what hashlib.scrypt takes
HEAD: Final = struct.Struct("<2s2s2s32sQQ")
BODY_BYTES: Final = 104


class KeyUnusable(ShoalError):
    """A key's file cannot be read, written or opened with this password."""


@dataclass(frozen=True, slots=True)
class SecretKey:
    key_id: bytes
    seed: bytes

    @property
    def public(self) -> PublicKey:
        return PublicKey(self.key_id, self._private().public_key().public_bytes_raw())

    def sign(self, data: bytes, *, file: str, now: float | None = None) -> Signature:
        """As ``minisign -S`` does; ``file`` goes into the trusted comment."""
        private = self._private()
        made = private.sign(prehash(data))
        at = int(time.time() if now is None else now)
        comment = f"timestamp:{at}\tfile:{file}\thashed"
        return Signature(
            algorithm=PREHASHED,
            key_id=self.key_id,
            signature=made,
            trusted_comment=comment,
            global_signature=private.sign(made + comment.encode()),
        )

    def file(
        self, password: str, *, operations: int = OPERATIONS, memory_bytes: int = MEMORY_BYTES
    ) -> str:
        """The text of its file; without a password its bytes stand there in clear."""
        body = self.key_id + self.seed + self.public.public
        body += _checksum(body)
        if not password:
            head = HEAD.pack(LEGACY, PLAIN, CHECKSUM, bytes(32), 0, 0)
        else:
            salt = secrets.token_bytes(32)
            head = HEAD.pack(LEGACY, SCRYPT, CHECKSUM, salt, operations, memory_bytes)
            body = _hidden(body, password, salt, operations, memory_bytes)
        line = base64.b64encode(head + body).decode()
        return f"{UNTRUSTED}minisign encrypted secret key\n{line}\n"

    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)


def new_key() -> SecretKey:
    return SecretKey(secrets.token_bytes(8), secrets.token_bytes(32))


def is_encrypted(text: str) -> bool:
    """Whether this secret key needs a password. Raises KeyUnusable."""
    return _parts(text)[0] == SCRYPT


def secret_key(text: str, password: str = "") -> SecretKey:
    """The key in the text of a file. Raises KeyUnusable."""
    hiding, salt, operations, memory_bytes, body = _parts(text)
    if hiding == SCRYPT:
        body = _hidden(body, password, salt, operations, memory_bytes)
        if _checksum(body[:72]) != body[72:]:
            raise KeyUnusable("Wrong password", "It does not open this secret key.")
    key = SecretKey(key_id=body[:8], seed=body[8:40])
    if key.public.public != body[40:72]:
        raise KeyUnusable("The secret key is damaged", "Its two halves do not belong together.")
    return key


def write_pair(key: SecretKey, password: str, secret_file: Path, public_file: Path) -> None:
    """Raises KeyUnusable where one of the files is there already, OSError."""
    for file in (secret_file, public_file):
        if file.exists():
            raise KeyUnusable(f"{file} is there already", hints=["Give another name."])
    text = key.file(password)
    handle = os.open(secret_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    public_file.write_text(key.public.file())


def _parts(text: str) -> tuple[bytes, bytes, int, int, bytes]:
    """(how it is hidden, salt, operations, memory in bytes, body)"""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != 2 or not lines[0].startswith(UNTRUSTED.strip()):
        raise _no_key("expected two lines, as `minisign -G` writes them")
    try:
        raw = base64.b64decode(lines[1], validate=True)
    except (binascii.Error, ValueError) as error:
        raise _no_key(f"its second line is not Base64: {error}") from error
    if len(raw) != HEAD.size + BODY_BYTES:
        raise _no_key(f"{len(raw)} bytes, expected {HEAD.size + BODY_BYTES}")
    algorithm, hiding, checksum, salt, operations, memory_bytes = HEAD.unpack_from(raw)
    if algorithm != LEGACY or checksum != CHECKSUM or hiding not in (SCRYPT, PLAIN):
        raise _no_key(f"unknown algorithms {algorithm!r}, {hiding!r}, {checksum!r}")
    return hiding, salt, operations, memory_bytes, raw[HEAD.size :]


def _no_key(why: str) -> KeyUnusable:
    return KeyUnusable("This is no secret key of minisign", why)


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(LEGACY + body[:72], digest_size=32).digest()


def _hidden(body: bytes, password: str, salt: bytes, operations: int, memory_bytes: int) -> bytes:
    n, r, p = scrypt_costs(operations, memory_bytes)
    most = 128 * r * (n + p + 2)
    if most > MOST_MEMORY_BYTES:
        raise _no_key(f"opening it would take {most} bytes of memory")
    try:
        stream = hashlib.scrypt(
            password.encode(), salt=salt, n=n, r=r, p=p, maxmem=most, dklen=BODY_BYTES
        )
    except (ValueError, MemoryError) as error:
        raise KeyUnusable(
            "The password cannot be used here",
            f"scrypt wants {most >> 20} MiB of memory: {error}",
            ["Use a machine with more memory, or a key without a password."],
        ) from error
    return bytes(one ^ other for one, other in zip(body, stream, strict=True))


def scrypt_costs(operations: int, memory_bytes: int) -> tuple[int, int, int]:
    """(N, r, p) of scrypt for libsodium's two limits, as its documentation defines them."""
    operations, r = max(operations, 32768), 8
    if operations < memory_bytes // 32:
        return _power(operations // (r * 4)), r, 1
    n = _power(memory_bytes // (r * 128))
    return n, r, max(min(operations // 4 // n, 0x3FFFFFFF) // r, 1)


def _power(most: int) -> int:
    """The smallest power of two above half of ``most``; at least 2."""
    return max(2, 1 << (most // 2).bit_length())
