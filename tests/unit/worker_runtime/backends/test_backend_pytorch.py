"""PyTorch models answer as PyTorch itself does, whichever way they were saved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.backend_instances import check_concurrent, check_no_growth
from tests.support.tensors import load_spec, tensors
from worker_runtime.backends.pytorch.backend import PytorchBackend, TorchModel
from worker_runtime.backends.pytorch.instances import TorchInstance
from worker_runtime.backends.pytorch.tensors import input_order, output_positions
from worker_runtime.errors import (
    BackendFailed,
    ConfigInvalid,
    GpuMemoryFull,
    InvalidArgument,
    LoadFailed,
)

# Users have TorchScript files, whatever PyTorch now advises to make instead.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).softmax(dim=1)


class Two(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a + b, a - b


class Named(torch.nn.Module):
    def forward(self, x: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sum": x["p"] + x["q"], "first": x["p"]}


class Texts(torch.nn.Module):
    def forward(self, x: list[str]) -> list[str]:
        return [item + "!" for item in x]


class Brain(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Rude(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(7, 7)


def model(folder: Path, config: str, file: str = "model.pt", **parameters: str) -> TorchModel:
    spec = load_spec(folder, 'backend: "pytorch"\n' + config, file, **parameters)
    return PytorchBackend().load(spec)


def loaded(folder: Path, config: str, file: str = "model.pt", **parameters: str) -> TorchInstance:
    return model(folder, config, file, **parameters).instances[0]


def script(folder: Path, module: torch.nn.Module) -> Path:
    torch.jit.save(torch.jit.script(module), str(folder / "model.pt"))
    return folder


def saved(folder: Path, net: torch.nn.Module, kind: str) -> str:
    """The name of the file."""
    if kind == "script":
        script(folder, net)
        return "model.pt"
    batch = torch.export.Dim("batch")
    program = torch.export.export(net, (torch.zeros(2, 6),), dynamic_shapes=({0: batch},))
    torch.export.save(program, folder / "model.pt2")
    return "model.pt2"


NET = tensors("input", ("x", "FP32", "-1, 6")) + tensors("output", ("y__0", "FP32", "-1, 3"))


@pytest.mark.parametrize("kind", ["script", "exported"])
def test_answers_equal_the_frameworks_own_alone_and_in_batches(tmp_path: Path, kind: str) -> None:
    net = Net().eval()
    given = np.random.default_rng(0).random((5, 6), np.float32)
    instance = loaded(tmp_path, NET, saved(tmp_path, net, kind))
    expected = net(torch.from_numpy(given)).detach().numpy()
    (batched,) = instance.execute({"x": given}, ["y__0"])
    np.testing.assert_allclose(batched, expected, rtol=1e-5)
    singles = [instance.execute({"x": given[i : i + 1]}, ["y__0"])[0] for i in range(5)]
    np.testing.assert_allclose(np.concatenate(singles), batched, rtol=1e-5)


@pytest.mark.parametrize(
    ("names", "arguments", "order"),
    [
        (["a", "b"], ["b", "a"], ["b", "a"]),
        (["INPUT__1", "INPUT__0"], ["a", "b"], ["INPUT__0", "INPUT__1"]),
        (["x__2", "y__0"], [], ["y__0", "x__2"]),
        (["p", "q"], ["a", "b"], ["p", "q"]),
        (["a"], ["a", "b"], ["a"]),
        (["a__0", "q"], [], ["a__0", "q"]),
    ],
)
def test_inputs_find_their_arguments(
    names: list[str], arguments: list[str], order: list[str]
) -> None:
    assert input_order(names, arguments, "m") == order


@pytest.mark.parametrize(
    ("names", "positions"),
    [
        (["o__1", "o__0"], {"o__1": 1, "o__0": 0}),
        (["a", "b"], {"a": 0, "b": 1}),
        (["a__3"], {"a__3": 3}),
    ],
)
def test_outputs_find_their_places(names: list[str], positions: dict[str, int]) -> None:
    assert output_positions(names, "m") == positions


def test_two_tensors_of_one_index_are_refused() -> None:
    with pytest.raises(ConfigInvalid, match="same index"):
        input_order(["a__0", "b__0"], [], "m")


def test_arguments_are_found_by_name_whatever_the_order(tmp_path: Path) -> None:
    config = tensors("input", ("b", "FP32", "2"), ("a", "FP32", "2"))
    config += tensors("output", ("OUT__1", "FP32", "2"), ("OUT__0", "FP32", "2"))
    instance = loaded(script(tmp_path, Two()), config)
    a, b = np.array([5, 6], np.float32), np.array([1, 2], np.float32)
    minus, plus = instance.execute({"b": b, "a": a}, ["OUT__1", "OUT__0"])
    assert plus.tolist() == [6, 8]
    assert minus.tolist() == [4, 4]


def test_a_dict_goes_in_and_out_by_its_keys(tmp_path: Path) -> None:
    config = tensors("input", ("q", "FP32", "1"), ("p", "FP32", "1"))
    config += tensors("output", ("first", "FP32", "1"), ("sum", "FP32", "1"))
    instance = loaded(script(tmp_path, Named()), config)
    one, two = np.array([1], np.float32), np.array([2], np.float32)
    total, first = instance.execute({"q": two, "p": one}, ["sum", "first"])
    assert (total.tolist(), first.tolist()) == ([3], [1])
    with pytest.raises(BackendFailed, match="no output 'nope'"):
        instance.execute({"q": two, "p": one}, ["nope"])


def test_lists_of_texts(tmp_path: Path) -> None:
    config = tensors("input", ("x", "STRING", "-1")) + tensors("output", ("y", "STRING", "-1"))
    instance = loaded(script(tmp_path, Texts()), config)
    given = np.array([b"a", "ü".encode()], dtype=object)
    assert instance.execute({"x": given}, ["y"])[0].tolist() == [b"a!", "ü!".encode()]
    with pytest.raises(InvalidArgument, match="one dimension"):
        instance.execute({"x": given.reshape(1, 2)}, ["y"])


def test_bfloat16_travel_as_their_bits(tmp_path: Path) -> None:
    config = tensors("input", ("x", "BF16", "2")) + tensors("output", ("y", "BF16", "2"))
    instance = loaded(script(tmp_path, Brain()), config)
    bits = torch.tensor([1.5, -2.0], dtype=torch.bfloat16).view(torch.int16).numpy().view("<u2")
    (found,) = instance.execute({"x": bits}, ["y"])
    back = torch.from_numpy(found.view(np.int16).copy()).view(torch.bfloat16)
    assert back.tolist() == [3.0, -4.0]


def test_inputs_that_must_not_change_are_copied(tmp_path: Path) -> None:
    class InPlace(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.add_(1)

    config = tensors("input", ("x", "FP32", "2")) + tensors("output", ("y", "FP32", "2"))
    instance = loaded(script(tmp_path, InPlace()), config)
    given = np.frombuffer(np.zeros(2, np.float32).tobytes(), np.float32)
    assert instance.execute({"x": given}, ["y"])[0].tolist() == [1, 1]
    assert given.tolist() == [0, 0]


def test_what_a_model_raises_is_told(tmp_path: Path) -> None:
    instance = loaded(script(tmp_path, Rude()), NET)
    with pytest.raises(BackendFailed, match="PyTorch execute failure"):
        instance.execute({"x": np.zeros((2, 6), np.float32)}, ["y__0"])


def test_an_index_that_the_model_does_not_reach_is_told(tmp_path: Path) -> None:
    config = NET + tensors("output", ("y__4", "FP32", "-1, 3"))
    instance = loaded(script(tmp_path, Net()), config)
    with pytest.raises(BackendFailed, match="number 4, but the model gave 1"):
        instance.execute({"x": np.zeros((2, 6), np.float32)}, ["y__4"])


def write_saved(path: Path) -> None:
    torch.save(Net(), path)


def write_state(path: Path) -> None:
    torch.save(Net().state_dict(), path)


def write_text(path: Path) -> None:
    path.write_text("not a model")


def write_cut(path: Path) -> None:
    torch.jit.save(torch.jit.script(Net()), str(path))
    path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (write_saved, "torch.jit.save"),
        (write_state, "written by torch.save"),
        (write_text, "not a model archive"),
        (write_cut, "failed to load model 'm'"),
        (None, "unable to find"),
    ],
)
def test_files_that_are_no_models_are_refused(tmp_path: Path, write: Any, text: str) -> None:
    if write is not None:
        write(tmp_path / "model.pt")
    with pytest.raises(LoadFailed, match=text):
        loaded(tmp_path, NET)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"INFERENCE_MODE": "maybe"}, "true or false"),
        ({"INTRA_OP_THREAD_COUNT": "many"}, "whole number above 0"),
        ({"INTER_OP_THREAD_COUNT": "0"}, "whole number above 0"),
    ],
)
def test_parameters_are_checked(tmp_path: Path, parameters: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigInvalid, match=text):
        loaded(script(tmp_path, Net()), NET, **parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"INFERENCE_MODE": "false"},
        {"DISABLE_OPTIMIZED_EXECUTION": "true"},
        {"ENABLE_WEIGHT_SHARING": "true"},
        {"ENABLE_CACHE_CLEANING": "true", "DISABLE_CUDNN": "true"},
        {"INTRA_OP_THREAD_COUNT": "2", "ENABLE_JIT_EXECUTOR": "true"},
    ],
)
def test_triton_parameters_keep_the_answers(tmp_path: Path, parameters: dict[str, str]) -> None:
    instance = loaded(script(tmp_path, Net()), NET, **parameters)
    given = np.ones((2, 6), np.float32)
    expected = Net().eval()(torch.from_numpy(given)).detach().numpy()
    np.testing.assert_allclose(instance.execute({"x": given}, ["y__0"])[0], expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["script", "exported"])
def test_instances_answer_at_the_same_time(tmp_path: Path, kind: str) -> None:
    net = Net().eval()
    given = np.random.default_rng(0).random((5, 6), np.float32)
    expected = net(torch.from_numpy(given)).detach().numpy()
    found = model(tmp_path, NET, saved(tmp_path, net, kind))
    check_concurrent(found, {"x": given}, "y__0", expected)


@pytest.mark.parametrize("kind", ["script", "exported"])
def test_loading_again_and_again_does_not_grow(tmp_path: Path, kind: str) -> None:
    file = saved(tmp_path, Net().eval(), kind)
    rows = {"x": np.zeros((5, 6), np.float32)}
    check_no_growth(lambda: model(tmp_path, NET, file), rows, "y__0")


def test_a_lack_of_memory_on_a_device_fails_the_batch_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is told to give back what it can; the next batch runs."""
    instance = on_device(script(tmp_path, Net().eval()), NET, monkeypatch)
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))
    module = instance._call._module

    def too_much(tensors: Any) -> Any:
        monkeypatch.setattr(instance._call, "_module", module)
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(instance._call, "_module", too_much)
    rows = {"x": np.zeros((5, 6), np.float32)}
    with pytest.raises(GpuMemoryFull, match="out of memory"):
        instance.execute(rows, ["y__0"])
    assert emptied == [True]
    assert instance.execute(rows, ["y__0"])[0].shape == (5, 3)


def on_device(folder: Path, config: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An instance for a GPU, with the CPU as its device."""
    monkeypatch.setattr("worker_runtime.backends.pytorch.backend.DEVICE", "cpu")
    spec = load_spec(folder, 'backend: "pytorch"\n' + config, gpus=(0,))
    return PytorchBackend().load(spec).instances[0]
