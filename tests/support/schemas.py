"""What a database is made of, as the database itself says it."""

import re

from django.db.backends.base.base import BaseDatabaseWrapper

# What has no name is named after table and columns, and keeps that when the table is renamed: by
# Django with a digest, by PostgreSQL with what it is.
GIVEN = re.compile(r"\b\w+_(?:[0-9a-f]{8}(?:_(?:like|fk|uniq)\w*)?|pkey|check)\b")
POSTGRES = (
    "SELECT 'column', table_name, column_name, data_type, character_maximum_length, is_nullable,"
    " column_default, is_identity FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT 'constraint', conrelid::regclass, conname, contype, condeferrable, condeferred,"
    " pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
    "SELECT 'index', tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT 'trigger', tgrelid::regclass, pg_get_triggerdef(oid) FROM pg_trigger"
    " WHERE NOT tgisinternal",
    "SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
)


def schema(database: BaseDatabaseWrapper) -> list[tuple[str, ...]]:
    """Columns with type, null and default; indexes, constraints with deferral, triggers; sorted.

    The order of columns is left out: one that was added later stands last.
    """
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            rows = []
            for question in POSTGRES:
                cursor.execute(question)
                rows += cursor.fetchall()
        else:
            cursor.execute("SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
            rows = [part for row in cursor.fetchall() for part in _parts(*row)]
    return sorted(tuple(GIVEN.sub("given", str(value)) for value in row) for row in rows)


def _parts(kind: str, table: str, sql: str) -> list[tuple[str, str, str]]:
    """Of a table each column and constraint; else the whole."""
    if kind != "table":
        return [(kind, table, sql)]
    parts, depth = [""], 0
    for sign in sql[sql.index("(") + 1 : sql.rindex(")")]:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [(kind, table, part.strip()) for part in parts]
