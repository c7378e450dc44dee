"""Blobs as objects of one bucket, through django-storages: AWS S3, MinIO, Ceph and their like.

    s3://bucket/prefix?endpoint=http://minio:9000&region=us-east-1&addressing=path&downloads=direct

Credentials come the way AWS's own tools find them: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a
profile, or the machine's role.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from controlplane.core.errors import Unavailable

OPTIONS: Final = frozenset({"endpoint", "region", "addressing", "downloads"})
ADDRESS_S: Final = 900  # how long a direct download may take to begin
AT_ONCE: Final = 16  # questions after missing objects
ABSENT: Final = frozenset({"404", "NoSuchKey", "NotFound"})


class S3Store:
    def __init__(self, url: str) -> None:
        """Raises ImproperlyConfigured; the bucket is not asked for yet."""
        from botocore.config import Config  # noqa: PLC0415 # half a second that others need not pay
        from storages.backends.s3 import S3Storage  # noqa: PLC0415

        parts = urlsplit(url)
        said = dict(parse_qsl(parts.query))
        if parts.scheme != "s3" or not parts.netloc or not set(said) <= OPTIONS:
            raise ImproperlyConfigured(
                f"SHOAL_BLOB_URL={url!r}: expected s3://bucket/prefix, and of "
                f"{', '.join(sorted(OPTIONS))} what is needed"
            )
        self._prefix = unquote(parts.path).strip("/")
        self._direct = said.get("downloads") == "direct"
        self._storage: Any = S3Storage(
            bucket_name=parts.netloc,
            endpoint_url=said.get("endpoint"),
            region_name=said.get("region"),
            default_acl=None,
            client_config=Config(
                signature_version="s3v4",
                s3={"addressing_style": said.get("addressing", "auto")},
                # why: servers that are not Amazon's often know no newer checksums
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                connect_timeout=5,
                read_timeout=60,
                retries={"max_attempts": 3, "mode": "standard"},
            ),
        )

    def size(self, sha256: str) -> int | None:
        try:
            with self._reached(sha256):
                answer = self._client.head_object(**self._at(sha256))
        except FileNotFoundError:
            return None
        return int(answer["ContentLength"])

    def missing(self, hashes: Iterable[str]) -> set[str]:
        wanted = sorted(set(hashes))
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            sizes = pool.map(self.size, wanted)
            return {sha256 for sha256, size in zip(wanted, sizes, strict=True) if size is None}

    def put(self, source: Path, sha256: str) -> None:
        if self.size(sha256) != source.stat().st_size:
            with self._reached(sha256):
                at = self._at(sha256)
                self._client.upload_file(str(source), at["Bucket"], at["Key"])
        source.unlink()

    def open(self, sha256: str, first: int = 0) -> BinaryIO:
        options = {"Range": f"bytes={first}-"} if first else {}
        with self._reached(sha256):
            body: BinaryIO = self._client.get_object(**self._at(sha256), **options)["Body"]
        return body

    def place(self, sha256: str, target: Path) -> None:
        with self._reached(sha256):
            at = self._at(sha256)
            self._client.download_file(at["Bucket"], at["Key"], str(target))

    def remove(self, sha256: str) -> None:
        with self._reached(sha256):
            self._client.delete_object(**self._at(sha256))

    def names(self) -> Iterator[str]:
        with self._reached(""):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._storage.bucket_name, Prefix=f"{self._prefix}/" if self._prefix else ""
            )
            for page in pages:
                yield from (item["Key"].rpartition("/")[2] for item in page.get("Contents", ()))

    def address(self, sha256: str) -> str | None:
        if not self._direct:
            return None
        url: str = self._client.generate_presigned_url(
            "get_object", Params=self._at(sha256), ExpiresIn=ADDRESS_S
        )
        return url

    @property
    def _client(self) -> Any:
        # why asked each time: django-storages keeps one connection per thread
        return self._storage.connection.meta.client

    def _at(self, sha256: str) -> dict[str, str]:
        key = "/".join(filter(None, (self._prefix, sha256[:2], sha256)))
        return {"Bucket": self._storage.bucket_name, "Key": key}

    @contextmanager
    def _reached(self, sha256: str) -> Iterator[None]:
        """Raises Unavailable for what the bucket, or the way to it, refuses; FileNotFoundError."""
        from boto3.exceptions import Boto3Error  # noqa: PLC0415 # as above
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        try:
            yield
        except ClientError as error:
            if _is_absent(error):
                raise FileNotFoundError(sha256) from error
            raise self._unavailable(error) from error
        except (BotoCoreError, Boto3Error) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"The bucket {self._storage.bucket_name} cannot be used: {error}",
            code="StorageUnavailable",
            hints=("Check SHOAL_BLOB_URL, the credentials, and that the bucket exists.",),
        )


def _is_absent(error: Any) -> bool:
    return str(error.response.get("Error", {}).get("Code", "")) in ABSENT
