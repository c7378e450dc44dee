"""From training to a live endpoint: trains on handwritten digits, deploys, calls it, and checks.

    python examples/digits/run.py

Needs a running installation (`make up`). Exits 1 when the accuracy on held-out digits, over HTTP or
over gRPC, is below 0.95.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
NEEDED = ("numpy", "sklearn", "torch", "tritonclient")
REQUIRED_ACCURACY = 0.95


def main() -> int:
    options = arguments()
    use_a_python_that_has_what_is_needed()
    import calls  # noqa: PLC0415  # why: only now are the packages known to be there
    import network  # noqa: PLC0415

    started = time.monotonic()
    digits = network.load()
    model = network.train(digits)
    say(f"Trained on {len(digits.train_images)} digits in {time.monotonic() - started:.1f} s")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.onnx"
        network.export(model, path)
        say(f"Exported {path.name}, {path.stat().st_size / 1024:.0f} KiB")
        deployed = shoal("deploy", str(path), "--name", options.name)
    say(f"Live: {deployed['scoring_uri']}")

    target = calls.Target.of(deployed, plain=options.plain)
    say(f"Calling {target.http} and {target.grpc} {'without' if options.plain else 'with'} TLS")
    worst = 1.0
    for protocol, call in (("HTTP", calls.over_http), ("gRPC", calls.over_grpc)):
        logits = call(target, digits.test_images)
        accuracy = float((logits.argmax(1) == digits.test_labels).mean())
        print(
            f"accuracy over {protocol}: {accuracy:.4f} on {len(logits)} held-out digits", flush=True
        )
        worst = min(worst, accuracy)
    if not options.keep:
        shoal("endpoint", "delete", options.name, "--yes")
        say(f"Deleted endpoint {options.name}")
    if worst < REQUIRED_ACCURACY:
        say(f"Below {REQUIRED_ACCURACY}: something between training and answer is wrong")
        return 1
    return 0


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


def use_a_python_that_has_what_is_needed() -> None:
    """Continues in the repository's virtual environment where this Python lacks a package."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not missing:
        return
    ours = REPOSITORY / ".venv" / "bin" / "python"
    # why: compared by prefix, since both may be links to one interpreter
    if ours.exists() and Path(sys.prefix) != ours.parents[1]:
        os.execv(ours, [str(ours), str(Path(__file__).resolve()), *sys.argv[1:]])
    requirements = REPOSITORY / "requirements.txt"
    raise SystemExit(
        f"This Python lacks {', '.join(missing)}. Run `make up` once, which sets up .venv, or:\n"
        f"  {sys.executable} -m pip install -r {requirements}"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--name", default="digits", help="name of the model and the endpoint")
    parser.add_argument(
        "--plain", action="store_true", help="without TLS: only on the same machine"
    )
    parser.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="leave the endpoint running, to look at it in the studio",
    )
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
