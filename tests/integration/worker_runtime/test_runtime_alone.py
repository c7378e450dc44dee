"""The inference server without the rest: its wheel in a clean environment, where packages are those
alone that the extra `runtime` names, and what they need themselves."""

import json
import re
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import builtin_models, onnx_models
from tests.support.runtime_process import runtime, wait_until

ROOT = Path(__file__).parents[3]
PACKAGES = ("wire", "worker_runtime", "node_agent", "controlplane", "shoal")
NOT_ITS_OWN = ("django", "celery", "channels", "rest_framework", "httpx", "click", "onnxruntime")
# Backends import their own library, which is an extra of its name; the stub runs with the model's.
IMPORT_ALL = """
import importlib, pkgutil, sys, worker_runtime
for found in pkgutil.walk_packages(worker_runtime.__path__, "worker_runtime."):
    others = sys.argv[1:]
    if not any(found.name == name or found.name.startswith(name + ".") for name in others):
        importlib.import_module(found.name)
        print(found.name)
"""
LIBRARIES = ("fil", "onnxruntime", "openvino", "pytorch", "tensorflow", "tensorrt")


def needed(requirements: list[Requirement]) -> set[str]:
    """Names of all distributions that these need, as they say themselves; they are installed."""
    seen: set[tuple[str, str]] = set()
    waiting = [(one.name, extra) for one in requirements for extra in ("", *one.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (canonicalize_name(name), extra) in seen:
            continue
        seen.add((canonicalize_name(name), extra))
        for text in metadata.requires(name) or []:
            other = Requirement(text)
            if other.marker is None or other.marker.evaluate({"extra": extra}):
                waiting += [(other.name, more) for more in ("", *other.extras)]
    return {name for name, _ in seen}


def borrow(name: str, site_packages: Path) -> None:
    """Link a distribution's files, one by one: several may share a folder, as `google` is."""
    for file in metadata.files(name) or []:
        target = site_packages / file
        if ".." not in file.parts and file.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(Path(str(file.locate())).resolve())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Python, isolated, of an environment with our wheel and what the runtime declares."""
    place = tmp_path_factory.mktemp("alone")
    source = place / "source"
    source.mkdir()
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    venv.create(place / "venv", symlinks=True)
    python = place / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--quiet"]
    subprocess.run(
        [*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", place, source], check=True
    )
    (wheel,) = place.glob("shoal-*.whl")
    subprocess.run([*pip, "--python", python, "install", *offline, wheel], check=True)
    (site_packages,) = (place / "venv").glob("lib/python3*/site-packages")
    shoal = next(iter(metadata.distributions(name="shoal", path=[str(site_packages)])))
    declared = [Requirement(text) for text in shoal.requires or []]
    own = [one for one in declared if one.marker and one.marker.evaluate({"extra": "runtime"})]
    for name in needed(own):
        borrow(name, site_packages)
    return str(python), "-I"


def test_a_server_installed_alone_serves_both_protocols(
    alone: tuple[str, ...], tmp_path: Path
) -> None:
    builtin_models.place(tmp_path / "models", "echo", builtin_models.IDENTITY)
    body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [2], "data": [1, 2.5]}]}
    with runtime(tmp_path / "models", python=alone) as server:
        assert server.call("v2/health/ready")[0] == 200
        status, answer = server.json("v2/models/echo/infer", body)
        assert (status, answer["outputs"][0]["data"]) == (200, [1.0, 2.5])
        with grpc_client.InferenceServerClient(server.grpc) as client:
            given = grpc_client.InferInput("INPUT0", [2], "FP32")
            given.set_data_from_numpy(np.array([1, 2.5], np.float32))
            assert client.infer("echo", [given]).as_numpy("OUTPUT0").tolist() == [1.0, 2.5]
        counted = re.search(r'^nv_inference_count\{model="echo".*\} (\d+)', server.metrics(), re.M)
        assert counted is not None and counted[1] == "2"
        assert server.stop() == 0


def test_a_model_whose_library_is_missing_says_what_to_install(
    alone: tuple[str, ...], tmp_path: Path
) -> None:
    models = tmp_path / "models"
    builtin_models.place(models, "echo", builtin_models.IDENTITY)
    onnx_models.save(models, "sums", onnx_models.add_sub())
    with runtime(models, "--exit-on-error=false", ready=False, python=alone) as server:

        def reason() -> str:
            rows = {row["name"]: row for row in server.json("v2/repository/index", {})[1]}
            return str(rows.get("sums", {}).get("reason", ""))

        assert "pip install onnxruntime-gpu" in wait_until(reason, "the failure of sums")
        wait_until(lambda: server.call("v2/models/echo/ready")[0] == 200, "echo")
    inspected = subprocess.run(
        [*alone, "-m", "worker_runtime.inspection", "repository", models],
        capture_output=True,
        check=True,
    )
    (problem,) = json.loads(inspected.stdout)["problems"]
    assert problem["model"] == "sums"
    assert "pip install onnxruntime-gpu" in problem["hints"][0]


def test_every_module_is_imported_with_what_is_declared(alone: tuple[str, ...]) -> None:
    others = [f"worker_runtime.backends.{name}" for name in LIBRARIES]
    others += ["worker_runtime.backends.python.stub", "worker_runtime.backends.device"]
    done = subprocess.run(
        [*alone, "-c", IMPORT_ALL, *others], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 150


def test_what_others_need_is_not_there(alone: tuple[str, ...]) -> None:
    code = (
        "import importlib.util, sys; "
        "print([name for name in sys.argv[1:] if importlib.util.find_spec(name)])"
    )
    done = subprocess.run([*alone, "-c", code, *NOT_ITS_OWN], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
