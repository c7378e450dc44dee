"""One target, in a process of its own: fuzzed by atheris, or its corpus replayed in a plain Python.

python -m tests.fuzz.run_target fuzz NAME [libFuzzer's arguments]
python -m tests.fuzz.run_target replay NAME FOLDER...
"""

import json
import sys
from pathlib import Path

ROUNDS = 6
_WATCHED = [
    "worker_runtime.protocols",
    "worker_runtime.repository",
    "worker_runtime.core",
    "google.protobuf.json_format",
    "controlplane.console",
    "controlplane.registry.archive",
    "tarfile",
    "zipfile",
]
MAY_GROW = {"objects": 500, "descriptors": 0, "threads": 0, "KiB of memory": 24 * 1024}


def fuzz(name: str, arguments: list[str]) -> None:
    """Never returns: libFuzzer ends the process, with 0 when its time is over."""
    import atheris

    with atheris.instrument_imports(include=_WATCHED):
        from tests.fuzz.targets import TARGETS

    atheris.Setup([name, *arguments], TARGETS[name])
    atheris.Fuzz()


def replay(name: str, folders: list[str]) -> int:
    """Every input of the folders, several times: nothing fails, nothing grows. An exit code."""
    from tests.fuzz.served import counted
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    inputs = [path.read_bytes() for folder in folders for path in sorted(Path(folder).iterdir())]
    counts = []
    for _ in range(ROUNDS):
        for data in inputs:
            target(data)
        counts.append(counted())
    # why not the first rounds: caches fill, threads start.
    before, after = counts[2], counts[-1]
    grown = {key: after[key] - before[key] for key in after}
    sys.stdout.write(f"{name}: {len(inputs)} inputs, {ROUNDS} rounds, grown: {json.dumps(grown)}\n")
    over = [key for key, limit in MAY_GROW.items() if grown[key] > limit]
    if over:
        sys.stdout.write(f"{name}: leaks {', '.join(over)}: {json.dumps(counts)}\n")
    return 1 if over else 0


if __name__ == "__main__":
    mode, target_name, *rest = sys.argv[1:]
    if mode == "fuzz":
        fuzz(target_name, rest)
    else:
        sys.exit(replay(target_name, rest))
