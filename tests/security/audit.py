"""The event log in a database that somebody may write: forged, emptied, put back."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.e2e.product import ROOT
from tests.security.ground import Ground
from tests.security.tries import Try, held, refused
from tests.support.runtime_process import wait_until

PART = "audit"
ANCHOR_S = 150.0  # an anchor a minute, and the seal before it
Forge = Callable[[sqlite3.Connection], object]

_SLIPPED_IN = """
INSERT INTO core_event SELECT {columns} FROM core_event ORDER BY seq DESC LIMIT 1
"""


def tries(ground: Ground) -> Iterator[Try]:
    home = ground.product.home
    anchors = home / "audit" / "anchors.jsonl"
    with tempfile.TemporaryDirectory(prefix="shoal-security-") as folder:
        wait_until(anchors.exists, "the first anchor", ANCHOR_S)
        before = _copy(home, Path(folder) / "before")
        size = anchors.stat().st_size
        with ground.shoal("admin") as admin:
            admin.create_user("s-witness", "viewer")
        wait_until(lambda: anchors.stat().st_size > size, "another anchor", ANCHOR_S)
        told = _verified(_copy(home, Path(folder) / "as-it-is"))
        yield held(PART, "the log as it is", [] if told.returncode == 0 else [told.stderr[-300:]])
        for name, forge in FORGERIES.items():
            yield _forged(name, _copy(home, Path(folder) / name.replace(" ", "-")), forge)
        shutil.copy(anchors, before / "audit" / "anchors.jsonl")
        yield _judged("put an older database back", before)


def _slip_in(database: sqlite3.Connection) -> None:
    names = [row[1] for row in database.execute("PRAGMA table_info(core_event)")]
    changed = {"seq": "seq + 1", "link": "NULL", "message": "'nothing happened'"}
    columns = ", ".join(changed.get(name, name) for name in names)
    database.execute(_SLIPPED_IN.format(columns=columns))


def _empty(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM core_event")
    database.execute("DELETE FROM core_audithead")


FORGERIES: dict[str, Forge] = {
    "slip in a row without a link": _slip_in,
    "delete everything with the head": _empty,
    "change who did it": lambda database: database.execute(
        "UPDATE core_event SET actor = 'nobody' WHERE seq = (SELECT max(seq) - 2 FROM core_event)"
    ),
    "cut the end off": lambda database: database.execute(
        "DELETE FROM core_event WHERE seq > (SELECT max(seq) - 3 FROM core_event)"
    ),
    "delete one": lambda database: database.execute(
        "DELETE FROM core_event WHERE seq = (SELECT max(seq) - 2 FROM core_event)"
    ),
}


def _forged(name: str, home: Path, forge: Forge) -> Try:
    with sqlite3.connect(home / "db" / "main.db") as database:
        forge(database)
    database.close()
    return _judged(name, home)


def _judged(name: str, home: Path) -> Try:
    told = _verified(home)
    no = told.returncode == 1 and "The event log is broken" in told.stderr
    return refused(PART, name, no=no, answer=(told.stderr or told.stdout)[-300:])


def _copy(home: Path, target: Path) -> Path:
    """What a verification reads, as it is at one moment."""
    for name in ("secrets", "audit"):
        shutil.copytree(home / name, target / name)
    (target / "db").mkdir()
    with (
        sqlite3.connect(home / "db" / "main.db") as source,
        sqlite3.connect(target / "db" / "main.db") as copied,
    ):
        source.backup(copied)
    source.close()
    copied.close()
    return target


def _verified(home: Path) -> "subprocess.CompletedProcess[str]":
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "DJANGO_"))}
    secrets = {
        f"SHOAL_{name.upper()}_FILE": str(home / "secrets" / name)
        for name in ("secret_key", "gateway_token")
    }
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "audit", "verify"],
        env={**kept, **secrets, "SHOAL_HOME": str(home)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
