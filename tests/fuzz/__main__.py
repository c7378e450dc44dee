"""Fuzzing: every target for a share of the time, then its inputs again, counting what grows.

    python -m tests.fuzz [--seconds 120] [--seed N] [--keep FOLDER] [TARGET...]

Crashes, hangs, surprises in the log, answers that are not well formed and leaks are findings; the
exit code is 1 when there are any. What makes one is kept below .build/fuzz, and
``python -m tests.fuzz.run_target fuzz NAME FILE`` runs it again.
"""

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

from tests.fuzz.seeds import SEEDS, dictionary
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2] / ".build" / "fuzz"
_RUN = [sys.executable, "-m", "tests.fuzz.run_target"]
_ONE_INPUT_S = 30
_MEMORY_MIB = 3000


def prepared(name: str, root: Path) -> Path:
    """The folder of a target, with seeds and words in it."""
    home = root / name
    for folder in ("corpus", "seeds", "findings"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]()):
        (home / "seeds" / f"{number:04}").write_bytes(seed)
    (home / "words.dict").write_text(dictionary(name) + "\n")
    return home


def fuzzed(name: str, seconds: int, root: Path, seed: int) -> bool:
    """True when nothing was found."""
    home = prepared(name, root)
    arguments = [
        str(home / "corpus"),
        str(home / "seeds"),
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-timeout={_ONE_INPUT_S}",
        f"-rss_limit_mb={_MEMORY_MIB}",
        f"-artifact_prefix={home / 'findings'}/",
        f"-dict={home / 'words.dict'}",
        "-max_len=4096",
        "-print_final_stats=1",
    ]
    log = home / "log"
    with log.open("wb") as output:
        code = subprocess.run(
            [*_RUN, "fuzz", name, *arguments], stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    text = log.read_text("utf-8", "replace")
    runs = next((li.split()[-1] for li in text.splitlines() if "number_of_executed" in li), "?")
    say(f"{name}: {seconds} s, {runs} inputs, exit code {code}")
    if code:
        say(_told(text))
        return False
    folders = [str(home / "corpus"), str(home / "seeds")]
    return subprocess.run([*_RUN, "replay", name, *folders], check=False).returncode == 0


def _told(log: str) -> str:
    """The part of a log that says what was found."""
    marks = ("Traceback", "=== Uncaught", "ERROR: libFuzzer", "ALARM")
    at = min((found for mark in marks if (found := log.find(mark)) >= 0), default=0)
    end = log.find("\n==", at + 20)
    return log[at : end if end > at else None][:6000]


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="in all")
    parser.add_argument("--keep", type=Path, default=ROOT, help="where inputs and findings stay")
    parser.add_argument("--seed", type=int, default=0, help="where to start; 0 is anywhere")
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        say("atheris has no wheel for this machine or this Python: nothing is fuzzed here")
        return 0
    names = options.targets or list(TARGETS)
    share = max(1, options.seconds // len(names))
    good = [fuzzed(name, share, options.keep, options.seed) for name in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
