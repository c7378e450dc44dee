"""Load, infer, unload, again and again: the process ends as small as it began."""

from pathlib import Path

from tests.load.connections import usage
from tests.support import builtin_models, onnx_models, python_models
from tests.support.runtime_process import Runtime, runtime, wait_until

CYCLES = 120
PYTHON_CYCLES = 15
WARM = 20


def infer(server: Runtime, model: str, inputs: list[str], datatype: str, count: int) -> None:
    body = {
        "inputs": [
            {"name": name, "datatype": datatype, "shape": [1, count], "data": list(range(count))}
            for name in inputs
        ]
    }
    status, answer = server.json(f"v2/models/{model}/infer", body)
    assert status == 200, answer


def cycle(server: Runtime, model: str, inputs: list[str], datatype: str, count: int) -> None:
    for action in ("load", "unload"):
        if action == "unload":
            infer(server, model, inputs, datatype, count)
        status, _, text = server.call(f"v2/repository/models/{model}/{action}", b"{}")
        assert (status, text) == (200, b"")
    wait_until(
        lambda: all(
            item.get("reason") == "unloaded"
            for item in server.json("v2/repository/index", {})[1]
            if item["name"] == model and item.get("state")
        ),
        "the model is unloaded",
    )


def test_cycles_of_load_infer_unload_leave_nothing_behind(tmp_path: Path) -> None:
    root = tmp_path / "models"
    onnx_models.save(root, "simple", onnx_models.add_sub(), "max_batch_size: 8\n")
    builtin_models.place(root, "same", builtin_models.IDENTITY.replace("-1", "-1, -1"))
    with runtime(root, "--model-control-mode=explicit") as server:
        counts = []
        for number in range(CYCLES):
            cycle(server, "simple", ["INPUT0", "INPUT1"], "INT32", 16)
            cycle(server, "same", ["INPUT0"], "FP32", 4)
            if number >= WARM:
                counts.append(usage(server.process.pid))
        first, last = counts[0], counts[-1]
        assert last["mib"] - first["mib"] < 16, (first, last)
        assert last["descriptors"] <= first["descriptors"] + 2
        assert last["threads"] <= first["threads"] + 1
        assert server.stop() == 0


def test_reloads_in_place_leave_nothing_behind(tmp_path: Path) -> None:
    root = tmp_path / "models"
    onnx_models.save(root, "simple", onnx_models.add_sub(), "max_batch_size: 8\n")
    flags = ("--model-control-mode=explicit", "--load-model=simple")
    with runtime(root, *flags) as server:
        counts = []
        for number in range(CYCLES):
            config = f'{{"max_batch_size": {4 + number % 2}}}'
            status, _, text = server.call(
                "v2/repository/models/simple/load",
                b'{"parameters": {"config": %s}}' % _quoted(config),
            )
            assert (status, text) == (200, b"")
            infer(server, "simple", ["INPUT0", "INPUT1"], "INT32", 16)
            if number >= WARM:
                counts.append(usage(server.process.pid))
        first, last = counts[0], counts[-1]
        assert last["mib"] - first["mib"] < 16, (first, last)
        assert last["descriptors"] <= first["descriptors"] + 2
        assert last["threads"] <= first["threads"] + 1


def _quoted(text: str) -> bytes:
    return b'"' + text.replace('"', '\\"').encode() + b'"'


def test_cycles_of_python_models_leave_no_processes_behind(tmp_path: Path) -> None:
    root = tmp_path / "models"
    python_models.add(root, "echo", python_models.ECHO)
    with runtime(root, "--model-control-mode=explicit") as server:
        counts = []
        for _ in range(PYTHON_CYCLES):
            status, _, text = server.call("v2/repository/models/echo/load", b"{}")
            assert (status, text) == (200, b"")
            body = {"name": "INPUT0", "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]}
            status, answer = server.json("v2/models/echo/infer", {"inputs": [body]})
            assert status == 200, answer
            assert usage(server.process.pid)["children"] >= 1
            assert server.call("v2/repository/models/echo/unload", b"{}")[0] == 200
            wait_until(lambda: not usage(server.process.pid)["children"], "the stub has gone")
            counts.append(usage(server.process.pid))
        first, last = counts[4], counts[-1]
        assert last["mib"] - first["mib"] < 16, (first, last)
        assert last["descriptors"] <= first["descriptors"] + 2
        assert last["threads"] <= first["threads"] + 1
