"""Ensembles and the response cache on a real runtime, asked by stock clients."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from tritonclient.utils import InferenceServerException

from tests.integration.worker_runtime.ensemble_repository import (
    BATCHING,
    PAIR_IN,
    PAIR_OUT,
    TWICE,
    save_ensemble,
    save_repository,
    step,
    vector,
)
from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until

KINDS = {"http": http_client, "grpc": grpc_client}


@pytest.fixture(scope="module")
def ensembles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("ensembles") / "models"
    save_repository(root)
    with runtime(root, "--cache-config=local,size=1048576") as found:
        yield found


def client_of(server: Runtime, kind: str) -> Any:
    return KINDS[kind].InferenceServerClient(getattr(server, kind))


def pair(kind: str, left: Any, right: Any) -> list[Any]:
    found = []
    for name, value in (("INPUT0", left), ("INPUT1", right)):
        array = np.broadcast_to(np.asarray(value, np.int32).reshape(-1, 1), (np.size(value), 16))
        item = KINDS[kind].InferInput(name, list(array.shape), "INT32")
        item.set_data_from_numpy(np.ascontiguousarray(array))
        found.append(item)
    return found


def infer(server: Runtime, kind: str, model: str, left: Any, right: Any, **options: Any) -> Any:
    with client_of(server, kind) as client:
        return client.infer(model, pair(kind, left, right), **options)


def numbers(server: Runtime, model: str, version: str = "1") -> dict[str, Any]:
    return dict(server.json(f"v2/models/{model}/versions/{version}/stats")[1]["model_stats"][0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 8])
def test_an_ensemble_computes_step_after_step(ensembles: Runtime, kind: str, rows: int) -> None:
    left, right = np.arange(rows), np.arange(rows) + 10
    answer = infer(ensembles, kind, "twice", left, right, request_id="mine")
    assert answer.as_numpy("OUTPUT0")[:, 0].tolist() == (2 * left).tolist()
    assert answer.as_numpy("OUTPUT1")[:, 0].tolist() == (2 * right).tolist()
    assert answer.as_numpy("OUTPUT0").shape == (rows, 16)


@pytest.mark.parametrize("kind", KINDS)
def test_ensembles_nest_and_branch(ensembles: Runtime, kind: str) -> None:
    nested = infer(ensembles, kind, "nested", 3, 5)
    assert nested.as_numpy("OUTPUT0")[0, 0] == 12
    assert nested.as_numpy("OUTPUT1")[0, 0] == 20
    diamond = infer(ensembles, kind, "diamond", [3, 4], [5, 6])
    assert diamond.as_numpy("OUTPUT0")[:, 0].tolist() == [6, 8]


def test_the_answer_says_its_sequence(ensembles: Runtime) -> None:
    plain = infer(ensembles, "http", "twice", 1, 2).get_response()
    assert plain["parameters"] == {
        "sequence_id": 0,
        "sequence_start": False,
        "sequence_end": False,
    }
    known = infer(ensembles, "grpc", "twice", 1, 2, sequence_id=7, sequence_start=True)
    parameters = known.get_response().parameters
    assert parameters["sequence_id"].int64_param == 7
    assert parameters["sequence_start"].bool_param


def test_an_answer_tells_where_the_time_went_to_who_asks(ensembles: Runtime) -> None:
    wish = {"shoal_step_timings": True}
    result = infer(ensembles, "http", "twice", 3, 2, parameters=wish)
    rows = json.loads(result.get_response()["parameters"]["shoal_step_timings"])
    assert [row["step"] for row in rows] == list(range(len(rows)))
    assert all(row["model"] and row["queue_us"] >= 0 for row in rows)
    plain = infer(ensembles, "http", "twice", 3, 2)
    assert "shoal_step_timings" not in plain.get_response().get("parameters", {})


@pytest.mark.parametrize("kind", KINDS)
def test_only_steps_of_wanted_outputs_run(ensembles: Runtime, kind: str) -> None:
    before = [numbers(ensembles, "simple", v)["inference_count"] for v in ("1", "3")]
    wanted = [KINDS[kind].InferRequestedOutput("OUTPUT1")]
    answer = infer(ensembles, kind, "sides", 7, 2, outputs=wanted)
    assert answer.as_numpy("OUTPUT1")[0, 0] == 5
    assert answer.as_numpy("OUTPUT0") is None
    after = [numbers(ensembles, "simple", v)["inference_count"] for v in ("1", "3")]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_step_names_the_ensemble_and_the_log_names_the_step(
    ensembles: Runtime, kind: str
) -> None:
    before = numbers(ensembles, "broken")["inference_stats"]["fail"]["count"]
    with pytest.raises(InferenceServerException) as caught:
        infer(ensembles, kind, "broken", 1, 2, request_id="unlucky")
    assert caught.value.message().startswith("in ensemble 'broken', ")
    assert caught.value.status() in {"500", "StatusCode.INTERNAL"}
    assert numbers(ensembles, "broken")["inference_stats"]["fail"]["count"] == before + 2
    log = ensembles.log.read_text()
    assert "[request id: unlucky] ensemble 'broken', step 1 ('fails') with x [1, 16]" in log
    assert 'nv_inference_request_failure{model="broken",' in ensembles.metrics()
    failures = [
        line
        for line in ensembles.metrics().splitlines()
        if "request_failure" in line and '"broken"' in line and 'reason="OTHER"' in line
    ]
    assert failures[0].endswith(f" {before + 2}")


def test_a_request_that_does_not_fit_the_ensemble_never_reaches_a_step(ensembles: Runtime) -> None:
    with pytest.raises(InferenceServerException, match="inference request batch-size must be <= 8"):
        infer(ensembles, "http", "twice", np.arange(9), np.arange(9))


def test_an_ensemble_shows_itself_as_one(ensembles: Runtime) -> None:
    metadata = ensembles.json("v2/models/twice")[1]
    assert metadata["platform"] == "ensemble"
    assert metadata["inputs"][0] == {"name": "INPUT0", "datatype": "INT32", "shape": [-1, 16]}
    config = ensembles.json("v2/models/twice/config")[1]
    assert config["instance_group"] == []
    assert config["ensemble_scheduling"]["step"][0]["model_name"] == "simple"
    assert config["model_transaction_policy"] == {"decoupled": False}
    assert ensembles.json("v2/models/stream/config")[1]["model_transaction_policy"] == {
        "decoupled": True
    }
    assert ensembles.call("v2/models/twice/ready")[0] == 200
    rows = ensembles.json("v2/repository/index", {})[1]
    assert {"name": "twice", "version": "1", "state": "READY"} in rows


def test_an_ensemble_counts_what_its_steps_took(ensembles: Runtime) -> None:
    before = numbers(ensembles, "twice")
    infer(ensembles, "http", "twice", [1, 2, 3], [4, 5, 6])
    after = numbers(ensembles, "twice")
    assert after["inference_count"] - before["inference_count"] == 3
    assert after["execution_count"] - before["execution_count"] == 1
    assert after["last_inference"] >= before["last_inference"]
    stats = after["inference_stats"]
    assert stats["compute_infer"]["count"] == stats["success"]["count"]
    assert stats["compute_infer"]["ns"] > 0
    assert 3 in [row["batch_size"] for row in after["batch_stats"]]


def test_requests_to_ensembles_share_batches_inside(ensembles: Runtime) -> None:
    body = {
        "inputs": [
            {"name": name, "datatype": "INT32", "shape": [1, 16], "data": [1] * 16}
            for name in ("INPUT0", "INPUT1")
        ]
    }
    answers: list[int] = []

    def ask() -> None:
        answers.extend(ensembles.json("v2/models/twice/infer", body)[0] for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 160


class Stream:
    """A stock stream; answers as (value or None, final, error)."""

    def __init__(self, server: Runtime) -> None:
        self.answers: queue.Queue[Any] = queue.Queue()
        self.client = grpc_client.InferenceServerClient(server.grpc)
        self.client.start_stream(lambda result, error: self.answers.put((result, error)))

    def ask(self, model: str, value: int) -> None:
        item = grpc_client.InferInput("IN", [1], "INT32")
        item.set_data_from_numpy(np.array([value], np.int32))
        self.client.async_stream_infer(model, [item], enable_empty_final_response=True)

    def until_final(self) -> list[int]:
        found: list[int] = []
        while True:
            result, error = self.answers.get(timeout=20)
            assert error is None, error
            array = result.as_numpy("OUT")
            if array is not None:
                found.append(int(array[0]))
            if result.get_response().parameters["triton_final_response"].bool_param:
                return found


def test_a_decoupled_ensemble_streams(ensembles: Runtime) -> None:
    stream = Stream(ensembles)
    for count in (3, 0, 1):
        stream.ask("stream", count)
        assert stream.until_final() == [count] * count
    stream.client.stop_stream()
    body = {"inputs": [{"name": "IN", "datatype": "INT32", "shape": [1], "data": [3]}]}
    assert ensembles.json("v2/models/stream/infer", body)[0] == 501


def test_a_client_that_goes_takes_its_waiting_step_with_it(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "slow" / "1").mkdir(parents=True)
    delay = 'parameters { key: "delay_ms" value { string_value: "500" } }'
    text = vector("input", "INPUT0") + vector("output", "OUTPUT0") + _ONE_CPU + delay
    (root / "slow" / "config.pbtxt").write_text('backend: "identity"' + text)
    tensors = vector("input", "INPUT0") + vector("output", "OUTPUT0")
    steps = step("slow", {"INPUT0": "INPUT0"}, {"OUTPUT0": "OUTPUT0"})
    save_ensemble(root, "wrapped", tensors, steps, "max_batch_size: 0")
    item = {"name": "INPUT0", "datatype": "INT32", "shape": [16], "data": [1] * 16}
    body = json.dumps({"inputs": [item]}).encode()
    head = (
        "POST /v2/models/wrapped/infer HTTP/1.1\r\nHost: here\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with runtime(root) as server:
        leavers = [server.socket() for _ in range(4)]
        for leaver in leavers:
            leaver.sendall(head.encode() + body)

        def pending() -> int:
            lines = server.metrics().splitlines()
            [line] = [
                x for x in lines if x.startswith('nv_inference_pending_request_count{model="slow"')
            ]
            return int(line.rpartition(" ")[2])

        wait_until(lambda: pending() > 0, "steps wait")
        for leaver in leavers:
            leaver.close()
        wait_until(
            lambda: (
                numbers(server, "wrapped")["inference_stats"]["fail"]["count"] > 0
                and pending() == 0
            ),
            "what waited has failed",
        )
        executed = numbers(server, "slow")["execution_count"]
        assert executed < len(leavers)
        assert server.json("v2/models/wrapped/infer", {"inputs": [item]})[0] == 200


_ONE_CPU = "instance_group { count: 1 kind: KIND_CPU }\n"


# --- the response cache --------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cached", "remembered"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_second_answer_comes_from_the_cache(ensembles: Runtime, model: str, kind: str) -> None:
    value = {"http": 100, "grpc": 200}[kind]
    before = numbers(ensembles, model)
    answers = [infer(ensembles, kind, model, value, 1).as_numpy("OUTPUT0") for _ in range(3)]
    assert all(np.array_equal(answers[0], other) for other in answers)
    after = numbers(ensembles, model)

    def grown(path: str, part: str = "count") -> int:
        return int(after["inference_stats"][path][part] - before["inference_stats"][path][part])

    assert (grown("cache_miss"), grown("cache_hit")) == (1, 2)
    assert (grown("success"), grown("queue"), grown("compute_infer")) == (3, 3, 1)
    assert after["inference_count"] - before["inference_count"] == 1
    assert after["execution_count"] - before["execution_count"] == 1
    assert grown("cache_hit", "ns") > 0


def test_other_shapes_outputs_and_parameters_are_other_requests(ensembles: Runtime) -> None:
    before = numbers(ensembles, "cached")["inference_stats"]["cache_hit"]["count"]
    wanted = [http_client.InferRequestedOutput("OUTPUT1")]
    infer(ensembles, "http", "cached", 51, 1)
    infer(ensembles, "http", "cached", [51, 51], [1, 1])
    infer(ensembles, "http", "cached", 51, 1, outputs=wanted)
    infer(ensembles, "http", "cached", 51, 1, parameters={"mine": 1})
    assert numbers(ensembles, "cached")["inference_stats"]["cache_hit"]["count"] == before


def test_a_cache_that_cannot_be_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "worker_runtime",
            f"--model-repository={tmp_path / 'models'}",
            "--cache-config=local,size=abc",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert (
        "error: creating server: Internal - Failed to initialize LocalCache: stoull" in done.stderr
    )


# --- the life of ensembles -----------------------------------------------------------------------


def test_bad_ensembles_say_why(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), BATCHING)
    tensors = PAIR_IN + PAIR_OUT
    save_ensemble(root, "orphan", tensors, TWICE.replace("simple", "nowhere"))
    save_ensemble(root, "huge", tensors, TWICE, "max_batch_size: 16")
    save_ensemble(root, "wide", tensors.replace("[16]", "[17]"), TWICE)
    save_ensemble(root, "fifth", tensors, TWICE.replace("model_version: -1", "model_version: 5"))
    save_ensemble(root, "ring", tensors, TWICE.replace("simple", "ring"))
    save_ensemble(root, "good", tensors, TWICE)
    with runtime(root, "--model-control-mode=explicit", ready=False) as server:
        with client_of(server, "http") as client:
            for name, expected in (
                (
                    "huge",
                    "load failed for model 'huge': ensemble huge allows maximum batch size 16, but "
                    "it contains model simple which only allows maximum batch size to be 8",
                ),
                (
                    "wide",
                    "load failed for model 'wide': in ensemble wide, ensemble tensor INPUT0: "
                    "inconsistent shape: [-1,17] is inferred from model wide while [-1,16] is "
                    "inferred from model simple",
                ),
                (
                    "fifth",
                    "load failed for model 'fifth': ensemble 'fifth' depends on 'simple' whose "
                    "required version 5 is not loaded.",
                ),
                (
                    "ring",
                    "load failed for model 'ring': circular dependency between ensembles: "
                    "ring -> ... -> ring -> ring",
                ),
            ):
                with pytest.raises(InferenceServerException) as caught:
                    client.load_model(name)
                assert caught.value.message().strip() == expected
                assert caught.value.status() == "400"
            with pytest.raises(InferenceServerException) as caught:
                client.load_model("orphan")
            client.load_model("good")
        assert infer(server, "http", "good", 1, 2).as_numpy("OUTPUT0")[0, 0] == 2


def test_loading_an_ensemble_loads_what_it_needs(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), BATCHING)
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    with runtime(root, "--model-control-mode=explicit", "--load-model=twice") as server:
        assert infer(server, "http", "twice", 4, 5).as_numpy("OUTPUT1")[0, 0] == 10
        with client_of(server, "http") as client:
            assert client.is_model_ready("simple")
            client.unload_model("twice")
            assert client.is_model_ready("simple")
            client.load_model("twice")
            client.unload_model("twice", unload_dependents=True)
            assert not client.is_model_ready("simple")
            assert not client.is_model_ready("twice")


def test_an_ensemble_goes_with_a_part_and_comes_back_with_it(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), BATCHING)
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    with runtime(root, "--model-control-mode=explicit", "--load-model=*") as server:
        with client_of(server, "http") as client:
            client.unload_model("simple")
            assert not client.is_model_ready("twice")
            with pytest.raises(InferenceServerException):
                infer(server, "http", "twice", 1, 2)
            client.load_model("simple")
            assert client.is_model_ready("twice")
        assert infer(server, "http", "twice", 1, 2).as_numpy("OUTPUT0")[0, 0] == 2


def test_no_request_fails_while_a_part_is_reloaded(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), BATCHING)
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    body = {
        "inputs": [
            {"name": name, "datatype": "INT32", "shape": [1, 16], "data": [1] * 16}
            for name in ("INPUT0", "INPUT1")
        ]
    }
    with runtime(root, "--model-control-mode=explicit", "--load-model=*") as server:
        ended = threading.Event()
        failures: list[Any] = []
        asked = [0]

        def ask() -> None:
            while not ended.is_set():
                status, answer = server.json("v2/models/twice/infer", body)
                asked[0] += 1
                if status != 200:
                    failures.append((status, answer))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        with client_of(server, "http") as client:
            for size in (8, 16, 8):
                text = f"max_batch_size: {size}\ndynamic_batching {{}}\n"
                om.save(root, "simple", om.add_sub(), text)
                client.load_model("simple")
        ended.set()
        for thread in threads:
            thread.join()
        assert failures == []
        assert asked[0] > 0


def test_an_ensemble_that_no_longer_fits_its_part_is_unloaded(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), BATCHING)
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    with runtime(root, "--model-control-mode=explicit", "--load-model=*") as server:
        with client_of(server, "http") as client:
            om.save(root, "simple", om.add_sub(), "max_batch_size: 4\n")
            client.load_model("simple")
            assert client.is_model_ready("simple")
            assert not client.is_model_ready("twice")


def test_a_decoupled_ensemble_cannot_be_cached(tmp_path: Path) -> None:
    root = tmp_path / "models"
    save_repository(root)
    save_ensemble(
        root,
        "stream",
        vector("input", "IN", "[1]") + vector("output", "OUT", "[1]"),
        step("square", {"IN": "IN"}, {"OUT": "OUT"}),
        "max_batch_size: 0 response_cache { enable: true }",
    )
    flags = ("--model-control-mode=explicit", "--cache-config=local,size=9999")
    with runtime(root, *flags) as server, client_of(server, "grpc") as client:
        with pytest.raises(InferenceServerException) as caught:
            client.load_model("stream")
        assert "Response Cache does not currently support model stream with 'decoupled'" in (
            caught.value.message()
        )
