"""The first inference is built from metadata, and load failures name the model and the reason."""

import json
import os
from pathlib import Path

import httpx
import pytest

from node_agent.failure import ReplicaFailed
from node_agent.probe import (
    WARM_SEQUENCE,
    Ports,
    RuntimeProbe,
    _raise_if_failed,
    _zeros,
    pause_s,
    read_ports,
)


def tensor(datatype: str, *shape: int) -> dict[str, object]:
    return {"name": "x", "datatype": datatype, "shape": list(shape)}


def test_open_dimensions_become_one_and_bytes_are_empty_strings() -> None:
    built = _zeros([tensor("FP32", -1, 3), tensor("BYTES", -1, 2)])
    assert built is not None
    head, tensors = built
    inputs = json.loads(head)["inputs"]
    assert [item["shape"] for item in inputs] == [[1, 3], [1, 2]]
    assert [item["parameters"]["binary_data_size"] for item in inputs] == [12, 8]
    assert tensors == bytes(20)  # two strings of length 0 are eight zero bytes


def test_a_model_with_sequences_gets_a_whole_one() -> None:
    built = _zeros([tensor("FP32", 1)], WARM_SEQUENCE)
    assert built is not None
    parameters = json.loads(built[0])["parameters"]
    assert (parameters["sequence_start"], parameters["sequence_end"]) == (True, True)
    assert 0 < parameters["sequence_id"] < 2**63


def test_an_input_too_large_to_try_is_not_built() -> None:
    assert _zeros([tensor("FP64", 1 << 30)]) is None


@pytest.mark.parametrize(
    ("waited_s", "pause"), [(0.0, 0.01), (0.05, 0.01), (0.5, 0.05), (1.0, 0.1), (300.0, 0.1)]
)
def test_what_is_ready_soon_is_noticed_soon(waited_s: float, pause: float) -> None:
    assert pause_s(waited_s) == pytest.approx(pause)


@pytest.mark.parametrize(("parameters", "calls"), [({}, 1), ({"AZUREML_ENTRY_SCRIPT": {}}, 0)])
async def test_a_scoring_script_is_not_tried_with_zeros(
    parameters: dict[str, object], calls: int
) -> None:
    seen = []

    def answered(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        about = json.dumps({"inputs": [tensor("BYTES", 1)], "parameters": parameters})
        return httpx.Response(200, stream=httpx.ByteStream(about.encode()))

    probe = RuntimeProbe.__new__(RuntimeProbe)
    transport = httpx.MockTransport(answered)
    probe._http = httpx.AsyncClient(transport=transport, base_url="http://replica")
    async with probe._http:
        assert await probe.warm("m") == ""
    assert seen.count("/v2/models/m/infer") == calls


def test_an_unavailable_model_fails_with_its_reason() -> None:
    entry = {"name": "m", "state": "UNAVAILABLE", "reason": "opset 99\nnot supported"}
    with pytest.raises(ReplicaFailed) as caught:
        _raise_if_failed(entry, ())
    assert caught.value.problem.code == "ModelLoadFailed"
    assert caught.value.problem.message == "Model 'm' cannot be loaded: opset 99"
    assert caught.value.problem.detail == "opset 99\nnot supported"


def test_a_node_without_gpus_names_the_way_out() -> None:
    reason = "instance group m_0 of model m specifies invalid or unsupported gpu id 0. GPUs ..."
    with pytest.raises(ReplicaFailed) as caught:
        _raise_if_failed({"name": "m", "state": "UNAVAILABLE", "reason": reason}, ())
    assert "KIND_AUTO" in caught.value.problem.hints[0]


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "m", "state": "LOADING", "reason": ""},
        {"name": "m", "state": "UNAVAILABLE", "reason": "unloaded"},
        {"name": "other", "state": "UNAVAILABLE", "reason": "broken"},
    ],
)
def test_loading_old_versions_and_strangers_are_no_failure(entry: dict[str, str]) -> None:
    _raise_if_failed(entry, ("m",))


def test_ports_of_an_earlier_process_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    assert read_ports(file, os.getpid()) is None
    ports = {"http_port": 1, "grpc_port": 2, "metrics_port": 3}
    file.write_text(json.dumps({"pid": 1, **ports}))
    assert read_ports(file, os.getpid()) is None
    file.write_text(json.dumps({"pid": os.getpid(), **ports}))
    assert read_ports(file, os.getpid()) == Ports(1, 2, 3)
