"""Fuzzing: every target for its share of the time, then its inputs again, counting what grows.

    python -m tests.fuzz [--seconds N] [--seed N] [--keep FOLDER] [TARGET...]

Two run at once; without ``--seconds`` each has what ``tests.fuzz.catalog`` says.

Crashes, hangs, surprises in the log, answers that are not well formed and leaks are findings; the
exit code is 1 when there are any. What makes one is kept below .build/fuzz, and
``python -m tests.fuzz.run_target fuzz NAME FILE`` runs it again.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.catalog import AT_ONCE, MEMORY_MIB, ONE_INPUT_S, SHARES
from tests.fuzz.corpora import say, unpack
from tests.fuzz.seeds import SEEDS, dictionary

ROOT = Path(__file__).parents[2] / ".build" / "fuzz"
# Targets write small files and remove them, thousands of times: in memory where that can be.
_MEMORY = Path("/dev/shm")
_RUN = [sys.executable, "-m", "tests.fuzz.run_target"]


def prepared(name: str, root: Path) -> Path:
    """The folder of a target, with seeds, dictionary and what was found before in it."""
    home = root / name
    for folder in ("corpus", "seeds", "findings"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]()):
        (home / "seeds" / f"{number:04}").write_bytes(seed)
    unpack(name, home / "corpus")
    (home / "tokens.dict").write_text(dictionary(name) + "\n")
    return home


def fuzzed(name: str, seconds: int, root: Path, seed: int) -> bool:
    """True when nothing was found."""
    home = prepared(name, root)
    arguments = [
        str(home / "corpus"),
        str(home / "seeds"),
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-timeout={ONE_INPUT_S}",
        f"-rss_limit_mb={MEMORY_MIB}",
        f"-artifact_prefix={home / 'findings'}/",
        f"-dict={home / 'tokens.dict'}",
        "-max_len=4096",
        "-print_final_stats=1",
    ]
    code, text = _ran(["fuzz", name, *arguments], home / "log", seed)
    runs = next((li.split()[-1] for li in text.splitlines() if "number_of_executed" in li), "?")
    say(f"{name}: {seconds} s, {runs} inputs, exit code {code}")
    if code:
        say(_finding_in(text))
        return False
    return replayed(home, seed)


def replayed(home: Path, seed: int) -> bool:
    """True when the inputs below ``home`` pass in a plain process, and nothing grows."""
    folders = [str(home / "corpus"), str(home / "seeds")]
    code, text = _ran(["replay", home.name, *folders], home / "replay", seed)
    say(text.strip())
    return code == 0


def _ran(arguments: list[str], log: Path, seed: int) -> tuple[int, str]:
    """The exit code of a process for a target, and what it said, which stays in ``log``."""
    # why a folder of its own: libFuzzer ends the process, and nobody in it can tidy up
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as scratch,
        log.open("wb") as output,
    ):
        code = subprocess.run(
            [*_RUN, *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            # why the hashes too: which lines an input reaches hangs on the order of sets
            env={**os.environ, "TMPDIR": scratch, "PYTHONHASHSEED": str(seed or "random")},
            check=False,
        ).returncode
    return code, log.read_text("utf-8", "replace")


def _finding_in(log: str) -> str:
    """The part of a log that says what was found."""
    marks = ("Traceback", "=== Uncaught", "ERROR: libFuzzer", "ALARM")
    at = min((found for mark in marks if (found := log.find(mark)) >= 0), default=0)
    end = log.find("\n==", at + 20)
    return log[at : end if end > at else None][:6000]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, help="of all targets together")
    parser.add_argument("--keep", type=Path, default=ROOT, help="where inputs and findings stay")
    parser.add_argument("--seed", type=int, default=0, help="where to start; 0 is anywhere")
    parser.add_argument("targets", nargs="*", choices=[*SHARES, []], metavar="TARGET")
    options = parser.parse_args()
    names = options.targets or list(SHARES)
    guided = importlib.util.find_spec("atheris") is not None
    if not guided:
        say("atheris has no wheel for this machine or this Python: only the seeds are asked")
    parts = sum(SHARES[name] for name in names)
    seconds = options.seconds or parts

    def good(name: str) -> bool:
        if not guided:
            return replayed(prepared(name, options.keep), options.seed)
        share = max(1, round(seconds * SHARES[name] / parts))
        return fuzzed(name, share, options.keep, options.seed)

    with ThreadPoolExecutor(AT_ONCE) as running:
        found = list(running.map(good, names))
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
