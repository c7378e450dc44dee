"""What somebody who helps from afar asks of an installation, and no secret among it."""

import platform
from datetime import datetime
from typing import Any, Final

import psutil
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.recorder import MigrationRecorder

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
        "settings": settings.SHOAL_SETTINGS_SHOWN,
        "databases": {alias: _database(alias) for alias in sorted(settings.DATABASES)},
        "process": _process(),
    }


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
