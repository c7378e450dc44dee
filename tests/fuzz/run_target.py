"""One target, in a process of its own: fuzzed by atheris, or its corpus replayed in a plain Python.

python -m tests.fuzz.run_target fuzz NAME [libFuzzer's arguments]
python -m tests.fuzz.run_target replay NAME FOLDER...
"""

import json
import shlex
import sys
from pathlib import Path

from tests.fuzz.catalog import MAY_GROW, ROUNDS, target

_WATCHED = [
    "worker_runtime.protocols",
    "worker_runtime.repository",
    "worker_runtime.core",
    "worker_runtime.files",
    "worker_runtime.inspection",
    "google.protobuf.json_format",
    "google.protobuf.text_format",
    "controlplane.console",
    "controlplane.registry.archive",
    "controlplane.registry.gathering",
    "controlplane.registry.layout",
    "controlplane.nodes",
    "controlplane.deployments.services",
    "controlplane.operations.services",
    "controlplane.metrics.services",
    "wire",
    "tarfile",
    "zipfile",
    "tests.fuzz.gateway_headers",  # in the place of the Lua, of which atheris sees nothing
]


def fuzz(name: str, arguments: list[str]) -> None:
    """Never returns: libFuzzer ends the process, with 0 when its time is over."""
    import atheris

    with atheris.instrument_imports(include=_WATCHED):
        fuzzed = target(name)

    # why a whole command: libFuzzer merges in processes of its own, which it starts by this
    itself = f"{shlex.quote(sys.executable)} -m tests.fuzz.run_target fuzz {name}"
    atheris.Setup([itself, *arguments], fuzzed)
    atheris.Fuzz()


def replay(name: str, folders: list[str]) -> int:
    """Every input of the folders, several times: nothing fails, nothing grows. An exit code."""
    from tests.fuzz.served import counted

    replayed = target(name)
    inputs = [path.read_bytes() for folder in folders for path in sorted(Path(folder).iterdir())]
    counts = []
    for _ in range(ROUNDS):
        for data in inputs:
            replayed(data)
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
