"""What somebody who helps from afar asks of an installation, and no secret among it.

Values of settings are shown by a list of those that hold none; of all others is said only whether
they are set. A new setting is so kept back until somebody puts it here.
"""

import os
import platform
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.recorder import MigrationRecorder

# Numbers, words of a fixed choice, switches, folders: by the names that an installation sets.
PLAIN: Final = (
    "SHOAL_AGENT_BIND", "SHOAL_AGENT_PORT", "SHOAL_AZURE_API", "SHOAL_BLOB_DIR",
    "SHOAL_CODE_POLICY", "SHOAL_CONTROL_TASK_LIMIT_S", "SHOAL_DATABASE_CONNECT_TIMEOUT_S",
    "SHOAL_DATABASE_LOCK_TIMEOUT_S", "SHOAL_DATABASE_POOL_SIZE",
    "SHOAL_DATABASE_STATEMENT_TIMEOUT_S", "SHOAL_DEBUG", "SHOAL_EMAIL_PORT", "SHOAL_EMAIL_TLS",
    "SHOAL_GATEWAY_PORT", "SHOAL_GATEWAY_TLS_PORT", "SHOAL_HOME", "SHOAL_IMPORTS_AT_ONCE",
    "SHOAL_IMPORT_TIMEOUT_S", "SHOAL_INGEST_TASK_LIMIT_S", "SHOAL_INSPECTION_TIMEOUT_S",
    "SHOAL_LOG_LEVEL", "SHOAL_MAX_UNPACKED_BYTES", "SHOAL_MAX_UPLOAD_BYTES",
    "SHOAL_NODE_LOST_AFTER_S", "SHOAL_NODE_NAME", "SHOAL_OPERATION_RETENTION_DAYS",
    "SHOAL_PASSWORDS", "SHOAL_SANDBOX", "SHOAL_SECOND_FACTOR_ROLES", "SHOAL_SERVICE_TOKEN_DAYS",
    "SHOAL_SERVICE_TOKEN_MAX_DAYS", "SHOAL_SIGNATURE_POLICY", "SHOAL_STUDIO_PORT",
    "SHOAL_TLS_DIR", "SHOAL_TRUSTED_PROXIES", "SHOAL_UPLOAD_DIR", "SHOAL_UPLOAD_OPEN_LIMIT",
    "SHOAL_UPLOAD_QUOTA_BYTES", "SHOAL_UPLOAD_RESERVE_BYTES", "SHOAL_UPLOAD_TTL_S",
    "SHOAL_WAVE_REPLICAS",
)  # fmt: skip
# Of these the scheme, the host, the port and for databases and buckets no more.
ADDRESSES: Final = (
    "SHOAL_AGENT_URL", "SHOAL_BLOB_URL", "SHOAL_CONTROL_URL", "SHOAL_DATABASE_URL",
    "SHOAL_GATEWAY_PLAIN_URL", "SHOAL_GATEWAY_URL", "SHOAL_HUB_URL", "SHOAL_METRICS_DATABASE_URL",
    "SHOAL_MLFLOW_URL", "SHOAL_PUBLIC_URL", "SHOAL_REDIS_URL",
)  # fmt: skip
KEPT_BACK: Final = "(set, not shown)"
# By name: what PostgreSQL's statistics and SQLite's pages know without reading tables.
TABLES: Final = {
    "postgresql": """
        SELECT c.relname, c.reltuples::bigint, pg_total_relation_size(c.oid)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname = ANY (current_schemas(false)) ORDER BY 1
    """,
    "sqlite": "SELECT name, NULL, NULL FROM sqlite_master WHERE type = 'table' ORDER BY 1",
}


def support_facts(now: datetime) -> dict[str, Any]:
    return {
        "at": now.isoformat(),
        "version": settings.SHOAL_VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "settings": settings_shown(os.environ),
        "databases": {alias: _database(alias) for alias in sorted(settings.DATABASES)},
        "process": _process(),
    }


def settings_shown(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that the environment sets, by name."""
    found = {}
    for name in sorted(environment):
        if not name.startswith(("SHOAL_", "AWS_", "PG")) or not environment[name]:
            continue
        if name in PLAIN:
            found[name] = environment[name]
        elif name in ADDRESSES:
            found[name] = _address(environment[name])
        else:
            found[name] = KEPT_BACK
    return found


def _address(url: str) -> str:
    parts = urlsplit(url)
    try:
        where = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:  # the port is no number: what stands there may be half of a password
        return KEPT_BACK
    return f"{parts.scheme}://{where}"


def _database(alias: str) -> dict[str, Any]:
    connection = connections[alias]
    try:
        with connection.cursor() as cursor:
            cursor.execute(TABLES[connection.vendor])
            tables = [
                {"name": name, "rows_about": rows, "bytes": size}
                for name, rows, size in cursor.fetchall()
            ]
            if connection.vendor == "sqlite":
                _sizes_of_sqlite(cursor, tables)
        applied = sorted(MigrationRecorder(connection).applied_migrations())
        return {
            "vendor": connection.vendor,
            "server": ".".join(map(str, connection.get_database_version())),
            "tables": tables,
            "migrations": [f"{app}.{name}" for app, name in applied],
        }
    except DatabaseError as error:
        return {"error": type(error).__name__}  # its text may name a user, or more


def _sizes_of_sqlite(cursor: Any, tables: list[dict[str, Any]]) -> None:
    for table in tables:
        cursor.execute(f'SELECT max(rowid) FROM "{table["name"]}"')  # noqa: S608 - of its own list
        table["rows_about"] = cursor.fetchone()[0] or 0


def _process() -> dict[str, Any]:
    process = psutil.Process()
    with process.oneshot():
        return {
            "started_at": process.create_time(),
            "memory_bytes": process.memory_info().rss,
            "threads": process.num_threads(),
            "open_files": process.num_fds(),
        }
