"""From training to a live endpoint: trains on handwritten digits, deploys, calls it, and checks.

    python examples/digits/run.py

Needs a running installation (`make up`). Exits 1 when the accuracy on held-out digits, over HTTP or
over gRPC, is below 0.95.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shared.running import options, say, shoal, use_a_python_that_has

NEEDED = ("numpy", "sklearn", "torch", "tritonclient")
REQUIRED_ACCURACY = 0.95


def main() -> int:
    arguments = options(__doc__, name="digits").parse_args()
    use_a_python_that_has(NEEDED, "requirements.lock")
    import calls  # noqa: PLC0415  # why: only now are the packages known to be there
    import network  # noqa: PLC0415
    from shared.calls import PROTOCOLS, Target  # noqa: PLC0415

    started = time.monotonic()
    digits = network.load()
    model = network.train(digits)
    say(f"Trained on {len(digits.train_images)} digits in {time.monotonic() - started:.1f} s")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.onnx"
        network.export(model, path)
        say(f"Exported {path.name}, {path.stat().st_size / 1024:.0f} KiB")
        deployed = shoal("deploy", str(path), "--name", arguments.name)
    say(f"Live: {deployed['scoring_uri']}")

    target = Target.of(deployed, plain=arguments.plain)
    say(f"Calling {target.http} and {target.grpc} {'without' if arguments.plain else 'with'} TLS")
    worst = 1.0
    for protocol in PROTOCOLS:
        logits = calls.in_batches(target, protocol, digits.test_images)
        accuracy = float((logits.argmax(1) == digits.test_labels).mean())
        print(
            f"accuracy over {protocol}: {accuracy:.4f} on {len(logits)} held-out digits", flush=True
        )
        worst = min(worst, accuracy)
    if not arguments.keep:
        shoal("endpoint", "delete", arguments.name, "--yes")
        say(f"Deleted endpoint {arguments.name}")
    if worst < REQUIRED_ACCURACY:
        say(f"Below {REQUIRED_ACCURACY}: something between training and answer is wrong")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
