"""A look at each neighbour of the web process. None of them raises: not to answer is an answer."""

import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from django.conf import settings
from django.db import DatabaseError, connections

REDIS_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    engine: str
    error: str = ""
    ms: float = 0.0
    bytes: int | None = None  # of the file, where it is one


@dataclass(frozen=True, slots=True)
class BrokerCheck:
    error: str = ""
    ms: float = 0.0
    server: str = ""  # its name and version
    memory_bytes: int = 0
    clients: int = 0
    uptime_s: int = 0
    depths: dict[str, int] | None = None  # queue -> jobs that wait; None when it did not answer


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    path: str
    fingerprint: str  # SHA-256, in pairs
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class DiskCheck:
    path: str
    total: int
    free: int


def database(alias: str) -> DatabaseCheck:
    connection = connections[alias]
    engine = connection.vendor
    began = time.perf_counter()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return DatabaseCheck(engine, error=str(error))
    ms = (time.perf_counter() - began) * 1000
    return DatabaseCheck(engine, ms=ms, bytes=_file_bytes(connection.settings_dict))


def _file_bytes(options: dict[str, Any]) -> int | None:
    path = Path(str(options["NAME"]))
    try:
        # why the log beside it: until a checkpoint it may hold most of what was written
        parts = (path, path.with_name(path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.is_file()) or None
    except OSError:
        return None


def broker(queues: list[str]) -> BrokerCheck:
    client = redis.Redis.from_url(
        settings.SHOAL_REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_S,
        socket_connect_timeout=REDIS_TIMEOUT_S,
    )
    began = time.perf_counter()
    try:
        client.ping()
        ms = (time.perf_counter() - began) * 1000
        info: dict[str, Any] = client.info()
        pipeline = client.pipeline(transaction=False)
        for queue in queues:
            pipeline.llen(queue)
        depths = [int(depth) for depth in pipeline.execute()]
    except redis.RedisError as error:
        return BrokerCheck(error=str(error) or type(error).__name__)
    finally:
        client.close()
    return BrokerCheck(
        ms=ms,
        server=_server(info),
        memory_bytes=int(info.get("used_memory", 0)),
        clients=int(info.get("connected_clients", 0)),
        uptime_s=int(info.get("uptime_in_seconds", 0)),
        depths=dict(zip(queues, depths, strict=True)),
    )


def _server(info: dict[str, Any]) -> str:
    """Valkey says the version of Redis that it is like, too."""
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info.get('redis_version', '')}".strip()


def certificate(path: Path) -> CertificateCheck | None:
    """None when there is no such certificate here: a gateway elsewhere may have its own."""
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return None
    digest = found.fingerprint(hashes.SHA256()).hex(":").upper()
    return CertificateCheck(str(path), digest, found.not_valid_after_utc)


def disk(path: Path) -> DiskCheck | None:
    """None when there is no such folder yet."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return DiskCheck(str(path), usage.total, usage.free)
