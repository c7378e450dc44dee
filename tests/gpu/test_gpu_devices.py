"""Which devices a server sees, where models run, and what the metrics say of the cards."""

import importlib.util
import time
from typing import Any

import pytest

from tests.support import gpu_models as gm
from tests.support import onnx_models as om
from tests.support.gpu_device import Device, has_mig, total_bytes, used_bytes, uuids
from tests.support.gpu_server import Server, wait_until
from tests.support.runtime_process import runtime

MB = 1 << 20
WEIGHTS = 128 * MB
TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
FAMILIES = (
    "nv_gpu_utilization",
    "nv_gpu_memory_total_bytes",
    "nv_gpu_memory_used_bytes",
    "nv_gpu_power_usage",
    "nv_gpu_power_limit",
    "nv_energy_consumption",
)


def test_onnx_runtime_starts_where_nothing_else_brought_its_libraries(
    bare_server: Server, device: Device
) -> None:
    """No folder of CUDA on the library path, and no PyTorch in the process."""
    server = bare_server
    server.add("alone", gm.onnx_product(31), gm.config("onnxruntime", device, *TENSORS, batch=8))
    array = gm.rows_of(1, 4)
    assert (server.infer("alone", x=array) == array @ gm.weights(31)).all()
    config = server.runtime.json("v2/models/alone/config")[1]
    assert [group["kind"] for group in config["instance_group"]] == [device.kind]


def test_onnx_runtime_s_weights_lie_on_the_card(
    bare_server: Server, device: Device, figures: Any
) -> None:
    """A provider that gave up would leave them on the host, without a word to the client."""
    if not device.is_gpu:
        pytest.skip("needs a card: nothing on the CPU is like it")
    server, uuid = bare_server, uuids()[-1]
    text = gm.config("onnxruntime", device, "x:FP32:1 index:INT64:1", "y:FP32:1")
    # Its context comes with the first model.
    server.add("first", gm.onnx_product(1), gm.config("onnxruntime", device, *TENSORS, batch=8))
    server.place("weights", gm.onnx_heavy(WEIGHTS), text)
    before = used_bytes(uuid)
    server.load("weights")
    more = used_bytes(uuid) - before
    figures(more_mb=more / MB)
    assert more >= WEIGHTS
    server.unload("weights", "first")


def test_the_metrics_are_those_of_the_card_that_the_server_may_use(
    bare_server: Server, device: Device, card: str, figures: Any
) -> None:
    """The server was given one card by its UUID (CUDA_VISIBLE_DEVICES)."""
    uuid = uuids()[-1]
    found = {name: bare_server.metric(name, gpu_uuid=uuid) for name in FAMILIES}
    assert all(len(rows) == 1 for rows in found.values()), found
    values = {name: next(iter(rows.values())) for name, rows in found.items()}
    figures(**{name.removeprefix("nv_"): value for name, value in values.items()})
    assert set(bare_server.metric(FAMILIES[0])) == {f'gpu_uuid="{uuid}"'}
    assert 0 <= values["nv_gpu_utilization"] <= 1
    assert values["nv_gpu_memory_total_bytes"] == total_bytes(uuid)
    assert 0 < values["nv_gpu_memory_used_bytes"] <= values["nv_gpu_memory_total_bytes"]
    assert 0 < values["nv_gpu_power_usage"] < 1.5 * values["nv_gpu_power_limit"]

    def energy() -> float:
        (value,) = bare_server.metric("nv_energy_consumption", gpu_uuid=uuid).values()
        return value

    first, since = energy(), time.monotonic()
    wait_until(lambda: energy() > first, "joules to be counted")
    watts = (energy() - first) / (time.monotonic() - since)
    assert watts < 10 * values["nv_gpu_power_limit"], "millijoules, told as joules?"


def test_all_cards_are_told_of_where_none_is_chosen(server: Server, card: str) -> None:
    found = server.metric("nv_gpu_memory_total_bytes")
    assert set(found) == {f'gpu_uuid="{uuid}"' for uuid in uuids()}


@pytest.mark.parametrize("visible", ["", "GPU-00000000-0000-0000-0000-000000000000"])
def test_a_device_that_is_not_there_is_told_when_a_model_wants_it(
    tmp_path_factory: pytest.TempPathFactory, device: Device, visible: str
) -> None:
    if visible and not device.is_gpu:
        pytest.skip("needs a card that is hidden: none is here")
    work = tmp_path_factory.mktemp("lost") / "models"
    work.mkdir()
    on_gpu, on_cpu = Device("cuda"), Device("cpu")
    for name, where in (("lost", on_gpu), ("here", on_cpu)):
        om.save(work, name, gm.onnx_product(1), gm.config("onnxruntime", where, *TENSORS, batch=8))
    flags = ("--model-control-mode=explicit", "--load-model=here")
    with runtime(work, *flags, variables={"CUDA_VISIBLE_DEVICES": visible}) as found:
        status, said = found.json("v2/repository/models/lost/load", {})
        assert status == 400, said
        assert "has kind KIND_GPU but no GPUs are available" in said["error"]
        assert found.call("v2/models/here/ready")[0] == 200


def test_a_card_by_a_number_that_nobody_has_is_told(server: Server, device: Device) -> None:
    text = gm.config("onnxruntime", Device("cuda"), *TENSORS, batch=8)
    server.place("absent", gm.onnx_product(1), text.replace("KIND_GPU", "KIND_GPU gpus: [ 99 ]"))
    status, error = server.try_load("absent")
    assert status == 400
    assert "specifies invalid or unsupported gpu id 99" in error


def test_a_model_without_groups_goes_to_the_card(server: Server, card: str) -> None:
    text = gm.config("onnxruntime", Device("cuda"), *TENSORS, batch=8)
    server.add(
        "auto", gm.onnx_product(6), text.replace("instance_group { count: 1 kind: KIND_GPU }", "")
    )
    config = server.runtime.json("v2/models/auto/config")[1]
    assert [group["kind"] for group in config["instance_group"]] == ["KIND_GPU"]
    array = gm.rows_of(1, 4)
    assert (server.infer("auto", x=array) == array @ gm.weights(6)).all()
    server.unload("auto")


def test_a_provider_that_cannot_start_is_a_failed_load(server: Server, card: str) -> None:
    """TensorRT's libraries are no part of ONNX Runtime's wheel: no silent run on something else."""
    if importlib.util.find_spec("tensorrt") is not None:
        pytest.skip("TensorRT is installed here")
    extra = (
        'optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }'
    )
    text = gm.config("onnxruntime", Device("cuda"), *TENSORS, batch=8, extra=extra)
    server.place("unstarted", gm.onnx_product(1), text)
    status, error = server.try_load("unstarted")
    assert status != 200
    assert "TensorrtExecutionProvider" in error, error


@pytest.mark.parametrize("backend", ["onnxruntime", "pytorch"])
def test_a_group_spreads_over_all_cards(server: Server, card: str, backend: str) -> None:
    if len(uuids()) < 2:
        pytest.skip("needs two cards, there is one")
    make = gm.onnx_product if backend == "onnxruntime" else gm.torch_product
    name = f"spread_{backend}"
    server.add(name, make(5), gm.config(backend, Device("cuda"), *TENSORS, batch=8))
    for item in range(50):
        array = gm.rows_of(item, 4)
        assert (server.infer(name, x=array) == array @ gm.weights(5)).all()
    server.unload(name)


def test_slices_are_told_of_where_mig_is_on(server: Server, card: str) -> None:
    if not has_mig(card):
        pytest.skip("MIG is off on this card")
    found = server.metric("nv_gpu_memory_total_bytes")
    assert any('gpu_uuid="MIG-' in row for row in found), found
