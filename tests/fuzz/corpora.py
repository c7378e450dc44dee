"""What fuzzing has found so far: few inputs that reach all that many did, kept for the next run.

    python -m tests.fuzz.corpora [--of FOLDER] [TARGET...]        # or: make fuzz-corpora

A run that starts from nothing finds the same again in its first minute. Takes those of a run (its
``--keep``), and of before, and writes tests/fuzz/corpora/TARGET.zip.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.fuzz.catalog import SHARES

KEPT = Path(__file__).parent / "corpora"
FIRST = (1980, 1, 1, 0, 0, 0)  # the least time that an archive can say: equal inputs, equal files


def unpack(name: str, folder: Path) -> int:
    """Put the inputs kept for a target into ``folder``; how many there are."""
    file = KEPT / f"{name}.zip"
    if not file.exists():
        return 0
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
        return len(archive.namelist())


def pack(name: str, folder: Path) -> int:
    """Keep the inputs in ``folder`` for a target."""
    inputs = sorted(folder.iterdir())
    KEPT.mkdir(exist_ok=True)
    with zipfile.ZipFile(KEPT / f"{name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for path in inputs:
            file.writestr(
                zipfile.ZipInfo(path.name, FIRST), path.read_bytes(), zipfile.ZIP_DEFLATED
            )
    return len(inputs)


def merged(name: str, corpus: Path, folder: Path) -> None:
    """Put few of the inputs in ``corpus``, which reach what all of them do, into ``folder``."""
    subprocess.run(
        [sys.executable, "-m", "tests.fuzz.run_target", "fuzz", name, "-merge=1", folder, corpus],
        check=True,
    )


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=Path, default=Path(".build/fuzz"), metavar="FOLDER")
    parser.add_argument("targets", nargs="*", choices=[*SHARES, []], metavar="TARGET")
    options = parser.parse_args()
    for name in options.targets or list(SHARES):
        with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
            unpack(name, options.of / name / "corpus")
            merged(name, options.of / name / "corpus", Path(scratch))
            say(f"{name}: {pack(name, Path(scratch))} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
