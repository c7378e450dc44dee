"""The version before this one: its code, its chart, and programs that run it."""

import os
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

from tests.production.containers import Release
from tests.support.helm_chart import ROOT

# why not simply the last commit: a migration is what an upgrade is most likely to break at
MIGRATIONS = ("controlplane/*/migrations/*.py",)
PROGRAMS = ("celery", "uvicorn")
LOCK = "requirements.lock"


class Missing(Exception):
    """There is no such version here, as in a clone without history: what upgrades fails then."""


def git(*arguments: str) -> str:
    """Raises Missing with what it said."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Missing(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def before_migrations(count: int) -> str:
    """The revision before the ``count`` newest commits that add a migration. Raises Missing."""
    added = ("--diff-filter=A", "--format=%H", "--", *MIGRATIONS)
    commits = git("log", f"-{count}", *added).splitlines()
    return git("rev-parse", "--verify", f"{commits[-1]}^{{commit}}^")


def same_packages(release: Release) -> bool:
    return (release.root / LOCK).read_bytes() == (ROOT / LOCK).read_bytes()


@cache
def previous(folder: Path) -> Release:
    """What is upgraded from: ``PROD_TEST_FROM``, or the one before the newest migration.

    Raises Missing.
    """
    named = os.environ.get("PROD_TEST_FROM")
    found = git("rev-parse", "--verify", f"{named}^{{commit}}") if named else before_migrations(1)
    return release_of(found, folder)


def release_of(revision: str, folder: Path) -> Release:
    """A version in ``folder``, with the packages that are installed here."""
    root = folder / f"shoal-{revision[:10]}"
    root.mkdir()
    archive = subprocess.run(
        ["git", "archive", revision], cwd=ROOT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(root)], input=archive, check=True)
    programs = root / ".programs"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(programs)], check=True)
    _share_packages(programs, root)
    return Release(root, programs / "bin")


def _share_packages(programs: Path, root: Path) -> None:
    """Its own code first, then what is installed here, except for this version's code.

    What a .pth file names is searched, but the .pth files in there are not read: not the one that
    leads to this version.
    """
    here = sysconfig.get_paths()["purelib"]
    (site,) = programs.glob("lib/python*/site-packages")
    (site / "previous.pth").write_text(f"{root}\n{here}\n")
    for name in PROGRAMS:
        ours = Path(sys.executable).with_name(name).read_text()
        program = programs / "bin" / name
        program.write_text(f"#!{programs}/bin/python\n" + ours.partition("\n")[2])
        program.chmod(0o755)
