"""What the log of compose's `setup` container shows: the link, until somebody has signed in."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
URL = "http://studio.example:8080"


def prepare(home: Path) -> str:
    """Its standard output."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "DJANGO_"))}
    done = subprocess.run(
        [sys.executable, "-m", "shoal.local.prepare", home / "setup.json", "--announce"],
        cwd=ROOT,
        env={
            **inherited,
            "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
            "SHOAL_HOME": str(home),
            "SHOAL_SECRET_KEY": "test-only",
            "SHOAL_GATEWAY_TOKEN": "test-only",
            "SHOAL_PUBLIC_URL": URL,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_link_is_shown_until_somebody_has_signed_in(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    first = prepare(tmp_path)
    kept = json.loads((tmp_path / "setup.json").read_text())
    assert f"{URL}/setup#{kept['setup_token']} " in first
    assert kept["admin_password"] not in first
    again = prepare(tmp_path)
    assert re.findall(r"setup#(\S+)", again) == [kept["setup_token"]]

    with sqlite3.connect(tmp_path / "db" / "main.db") as database:
        database.execute("DELETE FROM accounts_setuptoken")  # as finishing the set-up does
    database.close()
    done = prepare(tmp_path)
    assert URL in done
    assert "setup#" not in done
    assert "setup_token" not in json.loads((tmp_path / "setup.json").read_text())
