"""A client that asks models of products for many answers and checks each: its own process.

    python -m tests.support.gpu_load ADDRESS FIRST REQUESTS THREADS MODEL=SEED[,SEED...] ...

Requests have one to four rows, none like another's; ``SEED`` are those of the products that a
model makes, one after the other. Prints a line of JSON: answers, wrong ones, errors.
"""

import json
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tritonclient.grpc as client_library

from tests.support.gpu_models import Array, rows_of, weights

ANSWER_S = 30.0
Models = list[tuple[str, list[Array]]]


@dataclass
class Found:
    answers: int = 0
    wrong: int = 0
    errors: list[str] = field(default_factory=list)


def expected(rows: Array, factors: list[Array]) -> Array:
    for factor in factors:
        rows = rows @ factor
    return rows


def ask(address: str, models: Models, numbers: range, found: Found) -> None:
    with client_library.InferenceServerClient(address) as client:
        for number in numbers:
            turn, which = divmod(number, len(models))
            name, factors = models[which]
            rows = rows_of(number, 1 + turn % 4)
            given = client_library.InferInput("x", list(rows.shape), "FP32")
            given.set_data_from_numpy(rows)
            try:
                answer = client.infer(name, [given], client_timeout=ANSWER_S).as_numpy("y")
            except client_library.InferenceServerException as error:
                found.errors.append(str(error))
                continue
            found.answers += 1
            found.wrong += not np.array_equal(answer, expected(rows, factors))


def parsed(text: str) -> tuple[str, list[Array]]:
    name, _, seeds = text.partition("=")
    return name, [weights(int(seed)) for seed in seeds.split(",")]


def main(arguments: list[str]) -> dict[str, Any]:
    address, first, requests, threads, *texts = arguments
    models = [parsed(text) for text in texts]
    each = int(requests) // int(threads)
    found = [Found() for _ in range(int(threads))]
    asking = []
    for part, mine in enumerate(found):
        start = int(first) + part * each
        numbers = range(start, start + each)
        asking.append(threading.Thread(target=ask, args=(address, models, numbers, mine)))
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    return {
        "answers": sum(item.answers for item in found),
        "wrong": sum(item.wrong for item in found),
        "errors": sorted({text for item in found for text in item.errors})[:5],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1:])) + "\n")
