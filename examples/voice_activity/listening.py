"""Audio as sequences: chunk after chunk, and the server remembers what came before."""

import itertools
import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from shared.calls import Caller, Target

CHUNK = 512
# why not from 1: two runs of this script must not continue one another's sequences
_ids = itertools.count(secrets.randbits(32) + 1)
_counting = threading.Lock()


def listen(target: Target, protocol: str, audio: np.ndarray) -> np.ndarray:
    """Probabilities of speech, one for each chunk of ``audio`` [chunks * 512]."""
    chunks = audio.reshape(-1, 1, CHUNK)
    with _counting:
        sequence = next(_ids)
    with Caller(target, protocol) as caller:
        answers = [
            caller.infer(
                {"AUDIO": chunk},
                "PROBABILITY",
                sequence_id=sequence,
                sequence_start=position == 0,
                sequence_end=position == len(chunks) - 1,
            )
            for position, chunk in enumerate(chunks)
        ]
    return np.concatenate(answers)[:, 0]


def listen_at_once(
    target: Target, protocol: str, recordings: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """As ``listen``, all recordings at the same time: their chunks meet in one batch."""
    with ThreadPoolExecutor(len(recordings)) as pool:
        return list(pool.map(lambda audio: listen(target, protocol, audio), recordings))


def drawn(probabilities: np.ndarray) -> str:
    return "".join("#" if value > 0.5 else "." for value in probabilities)
