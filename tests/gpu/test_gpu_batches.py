"""Many clients, batches made of their requests, several instances on one device: 0 wrong."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
from tritonclient.utils import InferenceServerException

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server, given, side_by_side, wait_until

BATCH = 16
QUEUE = "dynamic_batching { max_queue_delay_microseconds: 500 }"
TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
CLIENTS, THREADS = 8, 4  # processes, and threads of each
LOAD_S = 60  # and as long for each 100,000 answers
SHARED_WEIGHTS = 'parameters { key: "ENABLE_WEIGHT_SHARING" value { string_value: "true" } }'


@pytest.fixture(scope="module")
def models(shared: Server, device: Device) -> dict[str, list[int]]:
    """Products of both backends, two instances each, and one behind the other, by their seeds."""
    for name, backend, model, extra in (
        ("onnx_batches", "onnxruntime", gm.onnx_product(1), QUEUE),
        ("torch_batches", "pytorch", gm.torch_product(2), QUEUE),
        ("one_module", "pytorch", gm.torch_product(3), QUEUE + SHARED_WEIGHTS),
    ):
        text = gm.config(backend, device, *TENSORS, count=2, batch=BATCH, extra=extra)
        shared.add(name, model, text)
    gm.ensemble(shared.root, "both", ["onnx_batches", "torch_batches"], BATCH)
    shared.load("both")
    return {"onnx_batches": [1], "torch_batches": [2], "one_module": [3], "both": [1, 2]}


def load(server: Server, processes: int, requests: int, models: dict[str, list[int]]) -> list[Any]:
    """What each of so many client processes says of its share of so many ``requests``."""
    texts = [f"{name}={','.join(map(str, seeds))}" for name, seeds in models.items()]
    command = [sys.executable, "-m", "tests.support.gpu_load", server.runtime.grpc]
    each = requests // processes
    running = [
        subprocess.Popen(
            [*command, str(number * each), str(each), str(THREADS), *texts],
            stdout=subprocess.PIPE,
        )
        for number in range(processes)
    ]
    limit_s = LOAD_S * (1 + requests // 100_000)
    try:
        return [json.loads(process.communicate(timeout=limit_s)[0]) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_none_of_many_batched_answers_is_wrong(
    server: Server,
    device: Device,
    models: dict[str, list[int]],
    pytestconfig: pytest.Config,
    figures: Any,
) -> None:
    processes = device.pick(CLIENTS, 1)
    least = device.pick(pytestconfig.getoption("gpu_answers", default=20_000), 240)
    requests = -(-least // (processes * THREADS)) * processes * THREADS
    found = load(server, processes, requests, models)
    batched = server.statistics("torch_batches")
    answers = sum(item["answers"] for item in found)
    wrong = sum(item["wrong"] for item in found)
    rows, executions = batched["inference_count"], batched["execution_count"]
    figures(answers=answers, wrong=wrong, rows_per_execution=rows / executions)
    assert [item["errors"] for item in found] == [[]] * len(found)
    assert answers == requests
    assert wrong == 0
    assert rows > 2.5 * executions, "requests of 2.5 rows on average were never batched"


def test_graphs_are_right_for_each_size_of_batch(
    server: Server, device: Device, figures: Any
) -> None:
    """Sizes 1 to 9 at a batch of at most 16: first runs, captures, replays, and padded ones."""
    text = gm.config("onnxruntime", device, *TENSORS, count=2, batch=BATCH, extra=gm.GRAPHS)
    server.add("graphs", gm.onnx_product(3), text)
    factor = gm.weights(3)
    wrong: list[str] = []
    answers: list[int] = []

    def ask(part: int) -> None:
        with server.over_grpc() as client:
            for turn in range(6):
                for rows in np.random.default_rng([part, turn]).permutation(9) + 1:
                    array = gm.rows_of(1000 * part + 100 * turn + rows, int(rows))
                    answer = client.infer("graphs", given(over_grpc, x=array), client_timeout=30)
                    answers.append(1)
                    if not np.array_equal(answer.as_numpy("y"), array @ factor):
                        wrong.append(f"client {part}, turn {turn}, {rows} rows")

    side_by_side(4, ask)
    figures(answers=len(answers), wrong=len(wrong))
    assert (len(answers), wrong) == (4 * 6 * 9, [])
    server.unload("graphs")


def test_more_shapes_than_there_are_graphs_are_answered(
    server: Server, device: Device, figures: Any
) -> None:
    """Each shape would take memory of the card: past some number they run without a graph."""
    text = gm.config("onnxruntime", device, "x:FP32:-1", "y:FP32:-1", extra=gm.GRAPHS)
    server.add("shapes", gm.onnx_doubled(), text)
    lengths = range(1, 1 + device.pick(100, 70))
    wrong = []
    with server.over_grpc() as client:
        for turn in range(3):
            for length in lengths:
                array = np.arange(length, dtype=np.float32) + turn
                answer = client.infer("shapes", given(over_grpc, x=array), client_timeout=30)
                if not np.array_equal(answer.as_numpy("y"), 2 * array):
                    wrong.append(f"turn {turn}, length {length}")
    figures(shapes=len(lengths), wrong=len(wrong))
    assert wrong == []
    server.unload("shapes")


@pytest.mark.parametrize("backend", ["onnxruntime", "pytorch"])
def test_reloads_under_load_give_the_old_or_the_new_answer(
    server: Server, device: Device, backend: str, figures: Any
) -> None:
    """Weights change and the model goes while executions run: nobody gets a mixture."""
    make = gm.onnx_product if backend == "onnxruntime" else gm.torch_product
    name = f"changing_{backend}"
    text = gm.config(backend, device, *TENSORS, count=2, batch=BATCH, extra=QUEUE)
    seeds = range(10, 10 + device.pick(8, 3))
    server.add(name, make(10), text)
    least = [10]  # the weights that are loaded for sure
    seen: dict[int, int] = dict.fromkeys(seeds, 0)
    wrong: list[str] = []
    refused: list[str] = []
    done = threading.Event()
    array = gm.rows_of(7, 3)
    right = {seed: array @ gm.weights(seed) for seed in seeds}

    def ask() -> None:
        with server.over_grpc() as client:
            while not done.is_set():
                floor = least[0]
                try:
                    answer = client.infer(name, given(over_grpc, x=array), client_timeout=30)
                except InferenceServerException as error:  # asserted on below
                    refused.append(str(error))
                    continue
                found = [s for s in seeds if np.array_equal(answer.as_numpy("y"), right[s])]
                if not found or found[0] < floor:
                    wrong.append(f"{found} after {floor} was loaded")
                else:
                    seen[found[0]] += 1

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(4)]

        def stopped() -> bool:
            return bool(wrong) or any(one.done() for one in asking)

        try:
            for seed in seeds:
                server.place(name, make(seed), text)
                server.load(name)
                least[0] = seed
                what = f"answers of weights {seed}"
                wait_until(lambda seed=seed: seen[seed] >= 20 or stopped(), what)
            reloads = len(refused)
            server.unload(name)
            wait_until(lambda: len(refused) > reloads, "a refusal of the model that is gone")
        finally:
            done.set()
        for one in asking:
            one.result()
    figures(answers=sum(seen.values()), wrong=len(wrong), refused=len(refused))
    assert wrong == []
    assert reloads == 0, f"a reload cost an answer: {refused[:3]}"
    assert all("nknown model" in text or "not ready" in text for text in refused), refused[:5]
