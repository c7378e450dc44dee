"""Who is speaking when: audio as sequences whose state the server keeps (Silero VAD).

    python examples/voice_activity/run.py [--wav FILE]

Needs a running installation (`make up`). Exits 1 when a probability differs from the library's own
over the same audio, also while several callers send at once.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shared.running import options, say, shoal, use_a_python_that_has

NEEDED = ("numpy", "onnx", "scipy", "torch", "tritonclient", "silero_vad")
TOLERANCE = 1e-4
CALLERS = 4


def main() -> int:
    parser = options(__doc__, name="voice-activity")
    parser.add_argument("--wav", type=Path, help="listen to this: 16 kHz, mono, 16 bits")
    arguments = parser.parse_args()
    use_a_python_that_has(NEEDED)
    import detector  # noqa: PLC0415  # why: only now are the packages known to be there
    import listening  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415
    import sound  # noqa: PLC0415
    from shared.calls import PROTOCOLS, Target  # noqa: PLC0415

    if arguments.wav:
        recordings = [sound.load(arguments.wav)]
    else:
        recordings = [sound.speak(seed) for seed in range(CALLERS)]
    expected = [detector.library(audio) for audio in recordings]
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "voice_activity"
        detector.write_repository(repository)
        deployed = shoal("deploy", str(repository), "--name", arguments.name)
    say(f"Live: {deployed['scoring_uri']}")

    target, worst = Target.of(deployed, plain=arguments.plain), 0.0
    print(f"the library  {listening.drawn(expected[0])}", flush=True)
    for protocol in PROTOCOLS:
        found = listening.listen_at_once(target, protocol, recordings)
        apart = [float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True)]
        # why so: NaN must not pass
        worst = max(worst, *(value if value <= TOLERANCE else np.inf for value in apart))
        print(f"over {protocol:7} {listening.drawn(found[0])}", flush=True)
        print(
            f"{sum(map(len, found))} chunks of {len(found)} sequences at once: probabilities "
            f"within {max(apart):.1e} of the library's",
            flush=True,
        )
    if not arguments.keep:
        shoal("endpoint", "delete", arguments.name, "--yes")
        say(f"Deleted endpoint {arguments.name}")
    if worst > TOLERANCE:
        say(f"Not within {TOLERANCE}: a state was lost, mixed up or never started anew")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
