"""Backends are found by name; those of other packages by their entry points."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.tensors import load_spec, tensors
from worker_runtime.backends.capabilities import Capabilities, capabilities_of, check_capabilities
from worker_runtime.backends.catalog import CATALOG, PACKAGES, backend
from worker_runtime.errors import ConfigInvalid, InvalidArgument, LoadFailed, Unavailable
from worker_runtime.repository.normalise import unsupported_backend
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.backends import SERVED, described, third_party

EXAMPLE = Path(__file__).parents[4] / "examples" / "custom_backend"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend to install: what pip leaves of a package that its files are found by."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, target: str) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[shoal.backends]\n{name} = {target}\n")

    yield install
    sys.modules.pop("shoal_linear", None)


def save(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "model.npz", **arrays)
    return folder


def test_the_catalog_and_the_formats_name_the_same_backends() -> None:
    assert set(CATALOG) == set(SERVED)
    assert set(PACKAGES) <= set(CATALOG)


def test_a_backend_of_another_package(packages: Any, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="unable to find backend library for backend 'linear'"):
        backend("linear")
    assert unsupported_backend(parse('name: "m" backend: "linear"')) is not None
    packages("linear", "shoal_linear:LinearBackend")
    assert unsupported_backend(parse('name: "m" backend: "linear"')) is None
    assert "shoal_linear" not in sys.modules
    chosen = backend("linear")
    assert capabilities_of(chosen).datatypes == {"FP32"}
    weights = np.arange(6, dtype=np.float32).reshape(3, 2)
    save(tmp_path, weights=weights, bias=np.ones(2))
    model = chosen.load(load_spec(tmp_path, 'backend: "linear"', scale="2"))
    rows = np.random.default_rng(0).random((4, 3), np.float32)
    (found,) = model.instances[1].execute({"x": rows}, ["y"])
    np.testing.assert_allclose(found, rows @ (2 * weights) + 1, rtol=1e-6)
    with pytest.raises(InvalidArgument, match="expected 3 columns, got 2"):
        model.instances[0].execute({"x": rows[:, :2]}, ["y"])
    instances = model.instances
    model.close()
    with pytest.raises(Unavailable, match="unloaded"):
        instances[0].execute({"x": rows}, ["y"])


def test_packages_in_an_archive_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as archive:
        info = "zipped-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: zipped\nVersion: 1.0\n")
        archive.writestr(f"{info}/entry_points.txt", "[shoal.backends]\nzipped = zipped:Zipped\n")
    assert "zipped" not in third_party()
    monkeypatch.syspath_prepend(str(tmp_path / "packages.zip"))
    assert described(third_party()["zipped"]) == "zipped 1.0"


@pytest.mark.parametrize(
    ("arrays", "parameters", "text"),
    [
        ({}, {}, "failed to load model 'm'"),
        ({"weights": np.ones(3), "bias": np.ones(1)}, {}, r"expected \(inputs, outputs\)"),
        ({"weights": np.ones((3, 1)), "bias": np.ones(1)}, {"scale": "x"}, "parameter 'scale'"),
        ({"weights": np.array([[{}]]), "bias": np.ones(1)}, {}, "allow_pickle"),
    ],
)
def test_its_errors_reach_people(
    packages: Any, tmp_path: Path, arrays: Any, parameters: dict[str, str], text: str
) -> None:
    packages("linear", "shoal_linear:LinearBackend")
    with pytest.raises(LoadFailed, match=text):
        backend("linear").load(
            load_spec(save(tmp_path, **arrays), 'backend: "linear"', **parameters)
        )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("raise ImportError('no libx.so')", "backend 'broken' cannot be used: no libx.so"),
        ("1 / 0", "backend 'broken' of package broken 1.0 cannot be used: division by zero"),
        ("x = 1", "backend 'broken' of package broken 1.0 cannot be used: module"),
    ],
)
def test_a_broken_package_hurts_only_its_models(
    packages: Any, tmp_path: Path, code: str, text: str
) -> None:
    (tmp_path / "broken.py").write_text(code)
    packages("broken", "broken:Broken")
    with pytest.raises(LoadFailed, match=text):
        backend("broken")
    sys.modules.pop("broken", None)
    assert backend("identity") is not None


def test_the_table_of_backends_imports_none_of_their_libraries() -> None:
    code = (
        "import sys; from worker_runtime.config.settings import Settings; "
        "from worker_runtime.summary import tables; list(tables(Settings(()), [])); "
        "print([name for name in sys.argv[1:] if name in sys.modules])"
    )
    libraries = ("onnxruntime", "torch", "openvino", "treelite", "tensorflow", "tensorrt")
    done = subprocess.run([sys.executable, "-c", code, *libraries], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_built_in_names_cannot_be_taken(packages: Any) -> None:
    packages("identity", "shoal_linear:LinearBackend")
    assert type(backend("identity")).__name__ == "IdentityBackend"


@pytest.mark.parametrize("name", ["fil", "openvino", "tensorflow", "tensorrt"])
def test_a_missing_library_is_an_error_that_names_its_package(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, target = f"worker_runtime.backends.{name}.", CATALOG[name].partition(":")[0]
    for module in [item for item in sys.modules if item == target or item.startswith(home)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, PACKAGES[name], None)
    with pytest.raises(LoadFailed) as told:
        backend(name)
    hint = f"pip install {PACKAGES[name]} (extra '{name}' of Shoal)"
    assert hint in str(told.value)
    assert told.value.problem is not None
    assert told.value.problem.hint == hint


@pytest.mark.parametrize(
    ("can", "text", "gpu", "message"),
    [
        (Capabilities(gpu=False), "", 0, "b backend supports only CPU device"),
        (Capabilities(cpu=False), "", None, "b backend supports only GPU device"),
        (Capabilities(gpu=False, title="The B"), "", 0, "'m', The B backend supports only CPU"),
        (
            Capabilities(),
            "model_transaction_policy { decoupled: true }",
            None,
            "does not support the decoupled transaction policy",
        ),
        (Capabilities(batches=False), "max_batch_size: 2", None, "does not support batching"),
        (
            Capabilities(datatypes=frozenset({"FP32"})),
            tensors("output", ("o", "BF16", "1")),
            None,
            "unsupported datatype TYPE_BF16 for output 'o' for model 'm'",
        ),
    ],
)
def test_what_a_backend_cannot_do_is_refused(
    can: Capabilities, text: str, gpu: int | None, message: str
) -> None:
    with pytest.raises(ConfigInvalid, match=message):
        check_capabilities(parse(f'name: "m" backend: "b" {text}'), can, (gpu,))


def test_one_that_says_nothing_can_do_everything() -> None:
    config = parse(
        'name: "m" backend: "b" max_batch_size: 8 model_transaction_policy { decoupled: true }'
    )
    check_capabilities(config, capabilities_of(object()), (0, None))
