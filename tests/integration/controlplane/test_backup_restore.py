"""An installation on PostgreSQL and a bucket moves by one file, taken while it serves; a support
bundle of it has none of its secrets."""

import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest
from moto.server import ThreadedMotoServer

from shoal.local.backup import BackupError
from shoal.local.postgres import Postgres as Database
from tests.support.installation import ROOT, Installation
from tests.support.postgres import PROGRAMS, Postgres, own_postgres
from tests.support.runtime_process import wait_until

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # botocore's and moto's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
CONTENT = b"weights " * 300_000
SHA = hashlib.sha256(CONTENT).hexdigest()
PASSWORD = "a:b/c@d?e"  # what a URL must quote
SIGNING = "how the receiver knows us"
HOOK = "https://x.test/hooks/a1B2c3D4e5F6g7H8i9J0k1"
PUT_BACK = "The event log was put back to an earlier state: backup shoal.tar of "
REGISTER = f"""
import django
django.setup()
from django.utils import timezone
from controlplane.registry.models import Blob
from tests.support.registered_models import model_register
version = model_register(content=b"weights " * {len(CONTENT) // 8})
for file in version.manifest():
    Blob.objects.create(sha256=file["sha256"], size=file["size"], seen_at=timezone.now())
"""
# What happened so far goes to an archive, but for the last of it.
ARCHIVE = """
import django
django.setup()
from datetime import timedelta
from django.conf import settings
from django.utils import timezone
from controlplane.core import audit
from controlplane.events import services
audit.seal()
settings.SHOAL_EVENT_RETENTION_DAYS = 365
assert services.events_archive(now=timezone.now() + timedelta(days=400)) > 0
"""
LOOK = """
import django, json
django.setup()
from controlplane.accounts.models import User
from controlplane.alerts.models import Channel
from controlplane.alerts.services.sending import SECRET_PURPOSE
from controlplane.core import vault
from controlplane.core.models import Event
print(json.dumps({
    "signing": vault.unseal(SECRET_PURPOSE, Channel.objects.get().secret),
    "users": sorted(row.username for row in User.objects.filter(username__startswith="user")),
    "told": sorted(row.subject.partition("/")[2] for row in Event.objects.filter(
        verb="user.created", subject__startswith="user/user")),
    "restored": list(Event.objects.filter(verb="audit.restored").values_list("message", flat=True)),
}))
"""

# Secrets where people and programs put them, each with a mark of its own.
PLANT = """
import django, json, time
django.setup()
from controlplane.accounts.models import User
from controlplane.accounts.services import token_create
from controlplane.core import events
from controlplane.metrics.models import LogLine
vera = User.objects.create_user(username="vera", password="planted-password-1", role="viewer")
events.record(actor="vera", verb="model.registered", subject="model/digits",
    message="fetched with Authorization: Bearer planted-bearer-2 for vera@planted-mail.test",
    data={"token": "planted-data-3"})
LogLine.objects.create(endpoint="digits", deployment="blue", replica_id="r", stream="stderr",
    seq=1, at=time.time(), text="GET http://me:planted-url-4@db/x api_key=planted-key-5 went wrong")
print(token_create(user=vera, name="planted", actor="vera")[1])
"""
LOGGED = """
2026-11-27 12:00:00 INFO headers {'authorization': 'Bearer planted-header-6', 'accept': 'x'}
2026-11-27 12:00:01 ERROR cannot reach postgresql://shoal:planted-url-7@db/shoal
-----BEGIN PRIVATE KEY-----
planted-pem-8
-----END PRIVATE KEY-----
2026-11-27 12:00:02 INFO a line that helps
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with own_postgres() as found:
        # why a role: what is dumped belongs to who may not be superuser
        found.server.psql(
            f"CREATE ROLE shoal LOGIN CREATEDB PASSWORD '{PASSWORD}';"
            "ALTER DATABASE shoal OWNER TO shoal; ALTER DATABASE shoal_metrics OWNER TO shoal;"
        )
        yield found


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of an empty one at a real server of S3 (moto's)."""
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    server = f"http://{host}:{port}"
    try:
        login = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        client = boto3.client("s3", endpoint_url=server, region_name="us-east-1", **login)
        client.create_bucket(Bucket="models")
        yield f"s3://models/%s?endpoint={server}&region=us-east-1&addressing=path"
    finally:
        moto.stop()


@contextmanager
def settled(
    home: Path, postgres: Postgres, blobs: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """New databases, a place in the bucket, programs of PostgreSQL; nothing is set up yet."""
    found = Installation(home)
    login = f"shoal:{PASSWORD.replace(':', '%3A').replace('/', '%2F').replace('@', '%40')}@"
    for name, url in postgres.environment.items():
        monkeypatch.setenv(name, url.replace("postgres:@", login).replace("?e@", "%3Fe@"))
    monkeypatch.setenv("SHOAL_BLOB_URL", blobs)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    try:
        found.settle()
        found.environment["PATH"] = f"{home.parent}:{PROGRAMS}:{os.environ['PATH']}"
        yield found
    finally:
        found.stop()


def shoal(there: Installation, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "shoal", *words], env=there.environment, cwd=ROOT,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def done(there: Installation, *words: str) -> dict[str, Any]:
    answer = shoal(there, *words, "-o", "json")
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def refused(there: Installation, *words: str) -> str:
    answer = shoal(there, *words)
    assert answer.returncode == 1, answer.stdout
    assert PASSWORD not in answer.stdout + answer.stderr
    return " ".join(answer.stderr.split())


def looked(there: Installation) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-c", LOOK], env=there.environment, cwd=ROOT, capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@contextmanager
def somebody_writes(there: Installation) -> Iterator[list[str]]:
    """Makes users, one after the other, while this is entered."""
    made: list[str] = []
    ended = threading.Event()

    def write() -> None:
        with there.client() as client:
            while not ended.is_set():
                name = f"user{len(made)}"
                client.post("/users", json={"username": name, "role": "viewer"}).raise_for_status()
                made.append(name)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        wait_until(lambda: len(made) > 2, "the writer")
        yield made
    finally:
        ended.set()
        thread.join()


def spy(folder: Path) -> Path:
    """A pg_dump that notes its command line and goes on as the real one."""
    noted, program = folder / "command-lines", folder / "pg_dump"
    program.write_text(f'#!/bin/sh\necho "$@" >> {noted}\nexec {PROGRAMS}/pg_dump "$@"\n')
    program.chmod(0o755)
    return noted


@pytest.fixture(scope="module")
def settled_first(
    postgres: Postgres, bucket: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("first") / "home"
    with pytest.MonkeyPatch.context() as patch:
        with settled(home, postgres, bucket % "first", patch) as found:
            found.set_up()
            found.python(REGISTER)
            found.python(ARCHIVE)
            found.start_web()
            with found.client() as client:
                client.post("/endpoints", json={"name": "digits"}).raise_for_status()
                body = {"name": "ops", "kind": "webhook", "url": HOOK, "secret": SIGNING}
                client.post("/channels", json=body).raise_for_status()
            yield found


@pytest.fixture
def first(settled_first: Installation) -> Installation:
    if not settled_first.is_running("web"):
        settled_first.start_web()
    return settled_first


def test_it_moves_while_somebody_writes(
    first: Installation,
    postgres: Postgres,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive = tmp_path / "shoal.tar"
    commands = spy(Path(first.environment["PATH"].partition(":")[0]))
    with first.client() as client:
        keys = client.post("/endpoints/digits/keys/list").json()
    with somebody_writes(first) as made:
        before = len(made)
        written = done(first, "backup", str(archive))
        assert len(made) > before
    short = done(first, "backup", str(tmp_path / "short.tar"), "--blobs", "reference")
    there = refused(first, "restore", str(archive), "--replace")
    assert "other connections use the database" in there

    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert (written["blobs"], written["referenced"]) == (3, 0)
    assert (short["blobs"], short["referenced"]) == (0, 3)
    assert short["referencedIn"] == "s3://models/first"
    assert PASSWORD not in commands.read_text()
    assert "--snapshot=" in commands.read_text()
    assert done(first, "restore", "--check", str(archive)) == written

    with settled(tmp_path / "second", postgres, bucket % "second", monkeypatch) as second:
        assert "is another than that of the backup" in refused(
            with_environment(second, SHOAL_SECRET_KEY="another " * 8), "restore", str(archive)
        )
        for name in ("SHOAL_SECRET_KEY", "SHOAL_GATEWAY_TOKEN"):
            del second.environment[name]  # the archive's come into the data folder
        missing = refused(second, "restore", str(tmp_path / "short.tar"))
        assert "s3://models/second: " in missing
        assert "is not there" in missing
        assert done(second, "restore", str(archive)) == written
        second.set_up()
        second.start_web()
        with second.client() as client:
            assert client.post("/endpoints/digits/keys/list").json() == keys
            file = client.get("/models/digits/versions/1/files/digits/1/model.onnx")
            assert file.content == CONTENT
            log = client.get("/events/verify").json()
        assert (log["ok"], log["restores"], log["archives"]) == (True, 1, 1)
        assert log["archived"] > 0
        assert log["anchors"] > 0
        found = looked(second)
        assert found["signing"] == SIGNING
        assert found["restored"] == [PUT_BACK + written["created"]]
        assert found["users"] == found["told"]
        assert before <= len(found["users"]) < len(made)

        assert "has " in (said := refused(second, "restore", str(archive)))
        assert "tables already" in said


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """One with all of its parts in its data folder, without a web process."""
    for name in ("SHOAL_DATABASE_URL", "SHOAL_METRICS_DATABASE_URL", "SHOAL_BLOB_URL"):
        monkeypatch.delenv(name, raising=False)
    found = Installation(tmp_path / "home")
    try:
        found.settle()
        found.set_up()
        yield found
    finally:
        found.stop()


def verified(there: Installation) -> str:
    answer = subprocess.run(
        [sys.executable, "manage.py", "audit", "verify"], env=there.environment, cwd=ROOT,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return answer.stdout + answer.stderr


def test_what_is_in_archives_of_events_is_in_a_backup(
    in_a_folder: Installation, tmp_path: Path
) -> None:
    in_a_folder.python(ARCHIVE)
    archive = tmp_path / "shoal.tar"
    assert done(in_a_folder, "backup", str(archive))["blobs"] == 1

    moved = with_environment(in_a_folder, SHOAL_HOME=str(tmp_path / "moved"))
    moved.home = tmp_path / "moved"
    done(moved, "restore", str(archive))
    moved.set_up()
    assert "The chain holds" in (said := verified(moved))
    assert "in 1 archives" in said
    assert "restored 1 times" in said
    (file,) = [path for path in (moved.home / "blobs").rglob("*") if len(path.name) == 64]
    file.unlink()
    assert "its file is gone" in verified(moved)


def test_a_filled_database_is_replaced_only_when_that_is_said(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("source", "target"):
        postgres.server.psql(f"CREATE DATABASE {name};")
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    source, target = (
        Database(postgres.server.get_uri(name), os.environ) for name in ("source", "target")
    )
    with psycopg.connect(postgres.server.get_uri("source"), autocommit=True) as connection:
        connection.execute("CREATE TABLE registry_blob (sha256 text PRIMARY KEY, size bigint)")
        connection.execute("INSERT INTO registry_blob VALUES ('abc', 3)")
        dumped = source.dump(tmp_path / "dump")
    assert dumped.blobs == {"abc": 3}
    assert stat.S_IMODE((tmp_path / "dump").stat().st_mode) == 0o600
    target.ready(dumped.about, replace=False)
    with psycopg.connect(postgres.server.get_uri("target"), autocommit=True) as connection:
        connection.execute('CREATE TABLE "of somebody" (x int)')
        with pytest.raises(BackupError, match="has 1 tables already"):
            target.ready(dumped.about, replace=False)
        with pytest.raises(BackupError, match="1 other connections use the database target"):
            target.ready(dumped.about, replace=True)
        connection.execute("CREATE ROLE another LOGIN")
        connection.execute('ALTER TABLE "of somebody" OWNER TO another')
        uri = postgres.server.get_uri("target").replace("//postgres:", "//another:")
        with pytest.raises(BackupError, match="1 other connections use the database target"):
            Database(uri, os.environ).ready(dumped.about, replace=True)
    with pytest.raises(BackupError, match=r"PostgreSQL 1\d.*, the backup is of 99\.1: restore"):
        target.ready({**dumped.about, "server": "99.1"}, replace=True)
    target.ready(dumped.about, replace=True)
    target.restore(tmp_path / "dump", dumped.about)
    with psycopg.connect(postgres.server.get_uri("target")) as connection:
        tables = connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
        assert tables == [("registry_blob",)]
        assert connection.execute("SELECT * FROM registry_blob").fetchall() == [("abc", 3)]
    # as a service file may name it, whose address has no name
    monkeypatch.setenv("PGDATABASE", "target")
    nameless = postgres.server.get_uri("target").replace("/target?", "/?")
    Database(nameless, os.environ).restore(tmp_path / "dump", dumped.about)
    with psycopg.connect(postgres.server.get_uri("target")) as connection:
        assert connection.execute("SELECT * FROM registry_blob").fetchall() == [("abc", 3)]


@pytest.mark.parametrize(
    ("program", "at"), [("pg_restore", "end"), ("psql", "counted"), ("psql", "late")]
)
def test_a_restore_that_fails_leaves_what_was_there(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, at: str
) -> None:
    source, target = f"source_{at}", f"target_{at}"
    for name in (source, target):
        postgres.server.psql(f"CREATE DATABASE {name};")
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    with psycopg.connect(postgres.server.get_uri(source), autocommit=True) as connection:
        connection.execute("CREATE TABLE registry_blob (sha256 text PRIMARY KEY, size bigint)")
        connection.execute(
            "INSERT INTO registry_blob SELECT n::text, n FROM generate_series(1, 50000) n"
        )
        connection.execute("CREATE SEQUENCE counted")
        connection.execute("SELECT lo_from_bytea(0, 'large')")
        connection.execute("CREATE INDEX late ON registry_blob (size)")  # behind what is large
        dumped = Database(postgres.server.get_uri(source), os.environ).dump(tmp_path / "dump")
    with psycopg.connect(postgres.server.get_uri(target), autocommit=True) as connection:
        connection.execute('CREATE TABLE "of somebody" AS SELECT 1 AS x')
        if program == "psql":  # no table, so nothing drops it, and the dump has one of that name
            connection.execute(f"CREATE SEQUENCE {at}")
    if program == "pg_restore":
        (tmp_path / "dump").write_bytes((tmp_path / "dump").read_bytes()[:-4000])
    database = Database(postgres.server.get_uri(target), os.environ)
    with pytest.raises(BackupError, match=f"{program} failed at the database {target}"):
        database.restore(tmp_path / "dump", dumped.about)
    with psycopg.connect(postgres.server.get_uri(target)) as connection:
        assert connection.execute('SELECT * FROM "of somebody"').fetchall() == [(1,)]
        (count,) = connection.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone() or ()
        assert count == 1


def unpacked(archive: Path) -> dict[str, str]:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    with tarfile.open(archive) as tar:
        return {
            one.name.removeprefix("shoal-support/"): (tar.extractfile(one) or io.BytesIO())
            .read()
            .decode()
            for one in tar
        }


def test_a_support_bundle_has_no_secret(first: Installation, tmp_path: Path) -> None:
    planted = subprocess.run(
        [sys.executable, "-c", PLANT], env=first.environment, cwd=ROOT, capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    viewers = planted.stdout.strip()
    with first.client() as client:
        blue = {"name": "blue", "model": "digits", "environment": {"A": "planted-variable-9"}}
        client.post("/endpoints/digits/deployments", json=blue).raise_for_status()
        keys = client.post("/endpoints/digits/keys/list").json()
    (first.home / "logs" / "worker.log").write_text(
        LOGGED + f"token {first.token} and {viewers}, and {PASSWORD} alone"
    )
    (first.home / "secrets").mkdir(exist_ok=True)
    (first.home / "secrets" / "redis_password").write_text("a word")
    secrets = [
        "planted-", PASSWORD, SIGNING, HOOK, HOOK[-10:], first.token, viewers, first.admin_password,
        first.environment["SHOAL_SECRET_KEY"], first.environment["SHOAL_GATEWAY_TOKEN"], "testing",
        "a%3Ab", *(text for name, text in keys.items() if name.endswith("Key")),
    ]  # fmt: skip
    assert len(secrets) > 12

    there = with_environment(first, SHOAL_URL=first.url, SHOAL_TOKEN=viewers)
    assert "Only administrators" in refused(there, "support-bundle", str(tmp_path / "viewers"))
    assert not (tmp_path / "viewers").exists()

    there = with_environment(first, SHOAL_URL=first.url, SHOAL_TOKEN=first.token)
    told = done(there, "support-bundle", str(tmp_path / "all.tar.gz"))
    held = unpacked(tmp_path / "all.tar.gz")
    assert [one["name"] for one in told["parts"]] == list(held)[1:]
    for name, text in held.items():
        assert not [secret for secret in secrets if secret in text], name
    assert told["missing"] == []
    facts = json.loads(held["server/facts.json"])
    assert facts["settings"]["SHOAL_DATABASE_URL"] == "postgresql://"
    assert facts["settings"]["SHOAL_SECRET_KEY"] == "[removed]"
    assert facts["settings"]["AWS_ACCESS_KEY_ID"] == "[removed]"
    assert facts["settings"]["SHOAL_AGENT_PORT"].isdecimal()
    tables = {one["name"]: one["bytes"] for one in facts["databases"]["default"]["tables"]}
    assert tables["registry_blob"] > 0
    assert any(one.startswith("registry.") for one in facts["databases"]["default"]["migrations"])
    endpoints = json.loads(held["server/endpoints.json"])
    assert [(one["name"], one["deployments"][0]["name"]) for one in endpoints] == [
        ("digits", "blue")
    ]
    assert "fetched with" in held["server/events.json"]
    assert "went wrong" in held["server/logs/digits.blue.txt"]
    assert "a line that helps" in held["logs/worker.log"]
    assert "shoal_build_info" in held["server/metrics.txt"]
    assert "controlplane" in held["processes.json"]

    first.kill("web")
    told = done(there, "support-bundle", str(tmp_path / "some.tar.gz"))
    held = unpacked(tmp_path / "some.tar.gz")
    for name, text in held.items():
        assert not [secret for secret in secrets if secret in text], name
    assert [one["name"] for one in told["missing"]] == ["server/"]
    assert "does not answer" in told["missing"][0]["why"]
    assert "server/: could not be had" in held["CONTENTS.txt"]
    assert json.loads(held["local/facts.json"])["databases"]["default"]["vendor"] == "postgresql"
    (first.home / "secrets" / "redis_password").unlink()
    (first.home / "secrets").rmdir()
    assert "cannot be read" in refused(there, "support-bundle", str(tmp_path / "nobodys"))


def with_environment(there: Installation, **more: str) -> Installation:
    return Installation(there.home, {**there.environment, **more})
