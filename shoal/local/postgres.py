"""The database of an installation, saved and put back by PostgreSQL's own programs."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from shoal.local.archive import BackupError

if TYPE_CHECKING:
    import psycopg

# Where packages of several versions lie beside one another: Debian's, and Red Hat's.
PLACES: Final = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
# From this version on the programs say settings to a server that an older one refuses.
STRICT: Final = 17
LOCK_WAIT_MS: Final = 60_000  # for a table that a migration changes
TABLES: Final = """
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    ORDER BY 1
"""
# What those of other users are, PostgreSQL tells superusers alone; its own workers have no user.
OTHERS: Final = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND pid <> pg_backend_pid() AND coalesce(backend_type, 'client backend') = 'client backend'
    AND usesysid IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Dumped:
    about: dict[str, str]  # for the manifest
    blobs: dict[str, int]  # those that the same moment's database names, and their sizes


class Postgres:
    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        """``url`` is that of SHOAL_DATABASE_URL; a password may come from PGPASSFILE instead.

        Raises BackupError.
        """
        from psycopg import Error, pq  # noqa: PLC0415 # only where it is used

        try:
            options = pq.Conninfo.parse(url.encode())
        except Error:
            # why not the error's own text: it repeats the URL, with the password
            raise BackupError(
                "SHOAL_DATABASE_URL cannot be read: expected postgresql://user:password@host/name, "
                "with special characters as %40 and the like."
            ) from None
        said = {option.keyword.decode(): option for option in options if option.val}
        self._url = url
        self._said = {name: (option.val or b"").decode() for name, option in said.items()}
        # why the environment: everybody on the machine reads command lines
        self._environment = dict(environment)
        for name, option in said.items():
            if option.envvar:
                self._environment[option.envvar.decode()] = self._said[name]

    def __str__(self) -> str:
        host = self._said.get("host", "this machine")
        return f"the database {self._said.get('dbname', '')} at {host}"

    def dump(self, target: Path) -> Dumped:
        """Write the whole database, as one moment saw it, to ``target``. Raises BackupError."""
        with self._connected() as connection:
            server = _server(connection)
            major = _major(server)
            program, tool = _program("pg_dump", major, major, f"PostgreSQL {server}")
            # why one snapshot: the blobs that are saved are those of the rows that are saved
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            snapshot = _one(connection, "SELECT pg_export_snapshot()")
            rows = connection.execute("SELECT sha256, size FROM registry_blob ORDER BY sha256")
            blobs = {str(sha256): int(size) for sha256, size in rows}
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with self._started(
                program, "--format=custom", "--no-owner", "--no-privileges",
                f"--snapshot={snapshot}", f"--lock-wait-timeout={LOCK_WAIT_MS}", f"--file={target}",
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            ):  # fmt: skip
                pass
        return Dumped({"engine": "postgresql", "server": server, "pg_dump": tool}, blobs)

    def ready(self, about: Mapping[str, str], *, replace: bool) -> None:
        """Raises BackupError where a dump of ``about`` cannot be put back, or something is there
        that nobody allowed to replace."""
        with self._connected() as connection:
            server = _server(connection)
            if _major(server) < _major(about["server"]):
                raise BackupError(
                    f"{self} is PostgreSQL {server}, the backup is of {about['server']}: restore "
                    f"it into {_major(about['server'])} or newer."
                )
            _restorer(about, server)
            tables = connection.execute(TABLES).fetchall()
            if tables and not replace:
                raise BackupError(
                    f"{self} has {len(tables)} tables already. Name an empty database in "
                    "SHOAL_DATABASE_URL, or drop what is there with --replace."
                )
            if tables and (others := int(_one(connection, OTHERS))):
                raise BackupError(
                    f"{others} other connections use {self}: stop web, workers, beat and agents "
                    "first, or they would go on with half of each."
                )

    def restore(self, dump: Path, about: Mapping[str, str]) -> None:
        """Drop every table that is there and put ``dump`` in; all of it, or nothing of it.

        pg_restore has no transaction that drops other tables than its own, so it writes what psql
        reads: all in one transaction, whose end it writes once it has read all of the dump.
        """
        with self._connected() as connection:
            program = _restorer(about, _server(connection))
            name = connection.info.dbname  # which the URL may leave to a service file
            tables = [name for (name,) in connection.execute(TABLES).fetchall()]
        drop = f"DROP TABLE {', '.join(tables)} CASCADE;\n" if tables else ""
        with self._started(
            program.with_name("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
            f"--dbname={name}", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        ) as psql:  # fmt: skip
            script = _pipe(psql.stdin)
            try:
                script.write(f"BEGIN;\n{drop}".encode())
                # why its own end: without, each large object begins and ends a transaction, ours
                with self._started(
                    program, "--no-owner", "--no-privileges", "--single-transaction", "--file=-",
                    str(dump), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                ) as restored:  # fmt: skip
                    shutil.copyfileobj(_pipe(restored.stdout), script)
                script.close()
            except BrokenPipeError:  # psql has ended, and says why
                with suppress(BrokenPipeError):
                    script.close()

    @contextmanager
    def _connected(self) -> Iterator["psycopg.Connection[Any]"]:
        import psycopg  # noqa: PLC0415 # only where it is used

        try:
            with psycopg.connect(self._url, autocommit=True, connect_timeout=10) as connection:
                yield connection
        except psycopg.Error as error:
            raise BackupError(f"{self}: {str(error).strip()}") from error

    @contextmanager
    def _started(
        self, program: Path, *words: str, stdin: int, stdout: int
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """``program``, which is waited for; killed where something else went wrong meanwhile.

        Raises BackupError where it fails.
        """
        # why a file: what it says may be more than a pipe takes that nobody reads yet
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                [str(program), "--no-password", *words],
                env=self._environment, stdin=stdin, stdout=stdout, stderr=errors,
            ) as process,
        ):  # fmt: skip
            try:
                yield process
            except BaseException:
                process.kill()
                raise
            if process.wait():
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                told = "\n".join(said[-5:])
                raise BackupError(f"{program.name} failed at {self}:\n{told}")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("The process was started without this pipe.")
    return stream


def _restorer(about: Mapping[str, str], server: str) -> Path:
    tool = about["pg_dump"]
    return _program("pg_restore", _major(tool), _major(server), f"a dump of pg_dump {tool}")[0]


def _server(connection: "psycopg.Connection[Any]") -> str:
    return str(_one(connection, "SHOW server_version")).split()[0]


def _one(connection: "psycopg.Connection[Any]", query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    if row is None:
        raise BackupError(f"PostgreSQL gave no row for {query!r}.")
    return row[0]


def _major(version: str) -> int:
    return int(version.split(".", maxsplit=1)[0])


def _program(name: str, least: int, server: int, why: str) -> tuple[Path, str]:
    """The oldest ``name`` that is new enough for ``why``, and its version. Raises BackupError."""
    folders = [folder for place in PLACES for folder in Path("/").glob(place.lstrip("/"))]
    on_path = shutil.which(name)
    paths = [Path(on_path)] if on_path else []
    paths += [folder / name for folder in folders if (folder / name).exists()]
    versions = {path: _version(path) for path in paths}
    fitting = [
        path
        for path, found in versions.items()
        if _major(found) >= least and (_major(found) <= server or _major(found) < STRICT)
    ]
    if not fitting:
        found = ", ".join(f"{path} is {version}" for path, version in versions.items())
        raise BackupError(
            f"{why} needs {name} of version {least}; {found or 'there is none here'}. "
            f"Install postgresql-client-{least} (Debian, Ubuntu) or postgresql{least} (Red Hat), "
            "from PostgreSQL's own repository where the system has another."
        )
    best = min(fitting, key=lambda path: _major(versions[path]))
    return best, versions[best]


def _version(program: Path) -> str:
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)*", done.stdout)
    return found.group() if found else "0"
