"""A look at each neighbour of the web process. None of them raises: not to answer is an answer."""

import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connections

from controlplane.gateway import authority

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
    """Of an authority that callers of endpoints trust."""

    name: str
    ends_at: datetime
    fingerprint: str = ""  # SHA-256, in pairs
    path: str = ""  # on this machine, if it is there
    supplied: bool = False
    signs_from: datetime | None = None  # of one that is yet to
    error: str = ""  # why it cannot sign


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


def authorities(now: datetime) -> list[CertificateCheck]:
    """None where no gateway has asked for a certificate. For while the database answers."""
    file = settings.SHOAL_TLS_DIR / "ca.pem"
    path = str(file) if file.is_file() else ""
    try:
        found = authority.trusted(now)
    except authority.SuppliedAuthorityUnusable as error:
        return [CertificateCheck("Endpoints' authority", now, error=error.message)]
    return [
        CertificateCheck(
            name="Supplied authority" if one.supplied else "Endpoints' authority",
            ends_at=one.certificate.not_valid_after_utc,
            fingerprint=one.sha256,
            path=path,
            supplied=one.supplied,
            signs_from=one.signs_from,
        )
        for one in found
    ]


def disk(path: Path) -> DiskCheck | None:
    """None when there is no such folder yet."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return DiskCheck(str(path), usage.total, usage.free)
