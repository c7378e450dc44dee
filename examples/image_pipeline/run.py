"""JPEG bytes in, labels out: decoding in Python, a TorchScript classifier, one ensemble.

    python examples/image_pipeline/run.py

Needs a running installation (`make up`). Exits 1 when an answer differs from PyTorch's own on the
same files, or fewer than 95 % of pictures never seen before are recognised.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shared.running import options, say, shoal, use_a_python_that_has

NEEDED = ("numpy", "sklearn", "torch", "tritonclient", "PIL")
REQUIRED_ACCURACY = 0.95
TOLERANCE = 1e-3  # of logits, which go from about -20 to 20


def main() -> int:
    arguments = options(__doc__, name="image-pipeline").parse_args()
    use_a_python_that_has(NEEDED)
    import check  # noqa: PLC0415  # why: only now are the packages known to be there
    import network  # noqa: PLC0415
    import pictures as drawn  # noqa: PLC0415
    from shared.calls import PROTOCOLS, Caller, Target  # noqa: PLC0415

    started = time.monotonic()
    pictures, decode = drawn.load(), network.decoder()
    model = network.train(pictures, decode)
    say(f"Trained on {len(pictures.train_files)} JPEGs in {time.monotonic() - started:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "image_pipeline"
        network.write_repository(model, repository)
        deployed = shoal("deploy", str(repository), "--name", arguments.name)
    say(f"Live: {deployed['scoring_uri']}")

    expected = network.logits(model, pictures.test_files, decode)
    right = True
    for protocol in PROTOCOLS:
        with Caller(Target.of(deployed, plain=arguments.plain), protocol) as caller:
            found = check.compare(caller, pictures, expected)
            print(f"{protocol}: {found}", flush=True)
            right &= found.good(TOLERANCE, REQUIRED_ACCURACY)
            print(f"{protocol}, no image: {check.refusal(caller)}", flush=True)
    if not arguments.keep:
        shoal("endpoint", "delete", arguments.name, "--yes")
        say(f"Deleted endpoint {arguments.name}")
    if not right:
        say("Something between file and answer is wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
