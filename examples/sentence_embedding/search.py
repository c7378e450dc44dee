"""Vectors from the endpoint, and what they are good for: finding the sentence that is meant."""

from collections.abc import Sequence

import numpy as np
from shared.calls import Caller


def embed(caller: Caller, texts: Sequence[str], *, model: str, size: int = 32) -> np.ndarray:
    """Vectors [n, 384] of length 1, asked for ``size`` texts at a time."""
    found = []
    for start in range(0, len(texts), size):
        rows = [[text.encode()] for text in texts[start : start + size]]
        found.append(caller.infer({"TEXT": np.array(rows, dtype=object)}, "EMBEDDING", model=model))
    return np.concatenate(found)


def show(caller: Caller, queries: Sequence[str], texts: Sequence[str], *, model: str) -> None:
    """Prints the two sentences nearest to each query."""
    vectors = embed(caller, texts, model=model)
    for query, vector in zip(queries, embed(caller, queries, model=model), strict=True):
        print(f"\n  {query}")
        scores = vectors @ vector
        for row in np.argsort(-scores)[:2]:
            print(f"    {scores[row]:.3f}  {texts[row][:70]}")
    print(flush=True)
