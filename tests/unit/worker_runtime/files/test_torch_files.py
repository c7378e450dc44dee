"""Files that PyTorch itself writes: honest ones are data, and its loader never unpickles."""

import io
import logging
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from tests.support.tensors import load_spec
from worker_runtime.backends.pytorch.backend import PytorchBackend
from worker_runtime.errors import LoadFailed
from worker_runtime.files.contents import kinds_of_file
from worker_runtime.files.torch_code import FILE_OPERATORS, script_kinds
from worker_runtime.types.code import AllowedCode

TENSORS = (
    'input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] }\n'
    'output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ -1, 4 ] }\n'
)
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Reads(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_file("/etc/hostname", False, 1, dtype=torch.uint8).float()


def script(module: torch.nn.Module, path: Path) -> Path:
    jit: Any = torch.jit
    jit.save(jit.script(module), str(path))
    return path


def export(path: Path) -> Path:
    rows = torch.export.Dim("rows")
    program = torch.export.export(Net(), (torch.randn(2, 3),), dynamic_shapes={"x": {0: rows}})
    torch.export.save(program, path)
    return path


def changed(path: Path, suffix: str, content: bytes) -> None:
    """The archive with another content for one entry."""
    with zipfile.ZipFile(path) as archive:
        entries = {item.filename: archive.read(item) for item in archive.infolist()}
    (name,) = [item for item in entries if item.endswith(suffix)]
    with zipfile.ZipFile(path, "w") as archive:
        for key, value in (entries | {name: content}).items():
            archive.writestr(key, value)


class Leaves:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._mark),)


def found(path: Path) -> dict[str, str]:
    return dict(kinds_of_file(path, path.name))


def test_what_pytorch_writes_is_data(tmp_path: Path) -> None:
    torch.save(Net().state_dict(), tmp_path / "w.pt")
    paths = [script(Net(), tmp_path / "s.pt"), export(tmp_path / "e.pt2"), tmp_path / "w.pt"]
    assert [found(path) for path in paths] == [{}, {}, {}]


def test_a_whole_module_is_a_pickle(tmp_path: Path) -> None:
    torch.save(Net(), tmp_path / "m.pt")
    assert list(found(tmp_path / "m.pt")) == ["pickle"]
    torch.save(Net(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert list(found(tmp_path / "old.pt")) == ["pickle"]


def test_torchscript_that_reads_files_is_told_and_refused(tmp_path: Path) -> None:
    folder = tmp_path / "m" / "1"
    folder.mkdir(parents=True)
    path = script(Reads(), folder / "model.pt")
    assert list(found(path)) == ["files"]
    spec = load_spec(folder, TENSORS)
    limited = replace(spec, code=AllowedCode(frozenset({"unknown"})))
    with pytest.raises(LoadFailed, match=r"from_file.*'files'.*--allow-code allows unknown"):
        PytorchBackend().load(limited)
    PytorchBackend().load(spec).close()


class Printed(torch.nn.Module):
    """What PyTorch's printer could be thought to hide something by."""

    def __init__(self) -> None:
        super().__init__()
        self.ops = torch.nn.Linear(3, 3)
        self.classes = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(3, 3)))
        self.named = torch.nn.ModuleDict({"a b": torch.nn.ReLU(), "it's": torch.nn.ReLU()})
        self.words = ["cat", 'it\'s # not \\ a "dog"', ""]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, str]:
        assert x.dim() == 2, "Expected '2' # dimensions, got \"more\""
        for layer in self.named.values():
            x = layer(x)
        return torch.einsum("ij,kj->ik", self.classes(self.ops(x)), x) * 2.0, self.words[1]


@pytest.mark.parametrize(
    "module",
    [Printed(), torch.nn.LSTM(3, 4), torch.nn.TransformerEncoderLayer(8, 2), torch.nn.CTCLoss()],
    ids=lambda module: type(module).__name__,
)
def test_torchscript_is_data_in_the_form_in_which_pytorch_writes_it(
    tmp_path: Path, module: torch.nn.Module
) -> None:
    assert found(script(module.eval(), tmp_path / "m.pt")) == {}


@pytest.mark.parametrize(
    "source",
    [
        'return getattr(torch, "ne" "g")(x)',
        'return getattr(torch, "ne" \\\n  "g")(x)',
        "return getattr(torch, 'neg')(x)",
        'return getattr(torch, """neg""")(x)',
        'return getattr(torch, "neg")(x)',
        'return getattr(torch, ("neg"))(x)',
        'return getattr(torch, "\\156eg")(x)',
        'return getattr(ops, "aten").neg(x)',
        'g = getattr\n    return g(torch, "neg")(x)',
        "o = ops\n    return o.aten.neg(x)",
        "return (ops. # quantized.\n    aten.neg(x))",
        "return ops.\\\n    aten.neg(x)",
    ],
)
def test_torchscript_in_another_form_is_unknown_although_it_runs(
    tmp_path: Path, source: str
) -> None:
    path = script(Net(), tmp_path / "m.pt")
    head = "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self,\n"
    program = f"{head}    x: Tensor) -> Tensor:\n    {source}\n"
    changed(path, "code/__torch__/test_torch_files.py", program.encode())
    jit: Any = torch.jit
    assert torch.equal(jit.load(str(path))(torch.ones(1)), -torch.ones(1))
    assert list(found(path)) == ["unknown"]


@pytest.mark.parametrize("gap", ["", " " * 99, " \t\n\f  "])
@pytest.mark.parametrize("space", ["aten", "evil"])
def test_other_operators_are_unknown_however_far_they_stand(gap: str, space: str) -> None:
    source = f"return (ops{gap}.{gap}{space}.neg(x))".encode()
    assert [kind for kind, _ in script_kinds(source)] == ["unknown"] * (space == "evil")


@pytest.mark.parametrize("kinds", [None, frozenset[str]()])
def test_torch_export_never_falls_back_to_unpickling(
    tmp_path: Path, kinds: frozenset[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    folder, mark = tmp_path / "m" / "1", tmp_path / "mark"
    folder.mkdir(parents=True)
    path = export(folder / "model.pt2")
    samples = io.BytesIO()
    torch.save(Leaves(mark), samples)
    changed(path, "sample_inputs/model.pt", samples.getvalue())
    assert list(found(path)) == ["pickle"]
    spec = load_spec(folder, TENSORS, "model.pt2")
    limited = replace(spec, code=AllowedCode(kinds))
    with pytest.raises(LoadFailed):
        PytorchBackend().load(limited)
    assert not mark.exists()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(samples.getvalue()), weights_only=True)
    torch.load(io.BytesIO(samples.getvalue()), weights_only=False)
    assert mark.exists(), "the pickle would have run, and torch.load is as before"


def test_every_operator_with_the_name_of_a_file_is_known() -> None:
    schemas: Any = torch._C._jit_get_all_schemas()
    named = {
        schema.name.partition("::")[2]
        for schema in schemas
        for argument in schema.arguments
        if str(argument.type) == "str"
        and any(word in argument.name.lower() for word in ("file", "path", "url", "dir"))
    }
    assert "from_file" in named
    assert named <= FILE_OPERATORS, "say whether these read or write files"
