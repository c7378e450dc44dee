"""A script's environment: the Python that it needs, its options, the `shoal` command line."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]


def use_a_python_that_has(needed: Iterable[str], lock: str = "requirements-dev.lock") -> None:
    """Continues in the repository's virtual environment where this Python lacks a package."""
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if not missing:
        return
    ours = REPOSITORY / ".venv" / "bin" / "python"
    # why: compared by prefix, since both may be links to one interpreter
    if ours.exists() and Path(sys.prefix) != ours.parents[1]:
        os.execv(ours, [str(ours), str(Path(sys.argv[0]).resolve()), *sys.argv[1:]])
    raise SystemExit(
        f"This Python lacks {', '.join(missing)}. Set up .venv with `make up` once, then:\n"
        f"  {REPOSITORY}/deploy/install-packages {ours if ours.exists() else sys.executable} "
        f"{lock}"
    )


def options(description: str | None, *, name: str) -> argparse.ArgumentParser:
    """The options that every example takes; ``name`` is the endpoint's default name."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--name", default=name, help="name of the model and the endpoint")
    parser.add_argument(
        "--plain", action="store_true", help="without TLS: only on the same machine"
    )
    parser.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="leave the endpoint running, to look at it in the studio",
    )
    return parser


def shoal(*words: str) -> Any:
    """Runs the command line of the same environment; its progress shows on stderr."""
    script = Path(sys.executable).with_name("shoal")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "shoal"]
    done = subprocess.run(
        [*command, *words, "-o", "json"], cwd=REPOSITORY, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return json.loads(done.stdout)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
