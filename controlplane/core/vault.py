"""Sealing what must be readable again: keys, secrets. One key per purpose, from one secret."""

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

__all__ = ["InvalidToken", "derived", "seal", "unseal"]


def derived(purpose: str) -> bytes:
    """32 bytes that only this installation and this purpose have."""
    return _derived(settings.SECRET_KEY, purpose)


@lru_cache(maxsize=64)
def _derived(secret: str, purpose: str) -> bytes:
    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode())
    return derive.derive(secret.encode())


def _vault(purpose: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derived(purpose)))


def seal(purpose: str, clear: str) -> str:
    return _vault(purpose).encrypt(clear.encode()).decode()


def unseal(purpose: str, sealed: str) -> str:
    """Raises InvalidToken when it was sealed with another secret."""
    return _vault(purpose).decrypt(sealed.encode()).decode()
