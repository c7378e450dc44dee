"""Where the bytes of blobs lie: on a local disk, or in a bucket that speaks S3."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from controlplane.registry.stores.base import BlobStore
from controlplane.registry.stores.local import LocalStore
from controlplane.registry.stores.s3 import S3Store

__all__ = ["BlobStore", "blob_store"]


def blob_store() -> BlobStore:
    """The store that ``SHOAL_BLOB_URL`` names, else the folder ``SHOAL_BLOB_DIR``."""
    return _made(settings.SHOAL_BLOB_URL, Path(settings.SHOAL_BLOB_DIR))


@lru_cache(maxsize=8)
def _made(url: str, folder: Path) -> BlobStore:
    return S3Store(url) if url else LocalStore(folder)
