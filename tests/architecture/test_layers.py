"""The import contracts hold, and each is seen red once: a contract never broken proves nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINTER = Path(sys.executable).parent / "lint-imports"
PACKAGES = ["controlplane", "worker_runtime", "node_agent", "answers", "wire", "shoal"]

# (file to break, line to add, contract that must notice)
WRONG_IMPORTS = [
    ("worker_runtime/core/engine.py", "import controlplane.core.errors", "planes"),
    ("worker_runtime/server.py", "import node_agent.launch", "planes"),
    ("controlplane/nodes/types.py", "import node_agent.client", "planes"),
    ("node_agent/launch.py", "import worker_runtime.server", "planes"),
    ("answers/tensors.py", "import shoal.client", "answers"),
    ("wire/messages.py", "import shoal", "wire"),
    ("wire/messages.py", "import node_agent.journal", "wire"),
    ("node_agent/launcher/plan.py", "import node_agent.failure", "node-agent"),
    ("worker_runtime/core/engine.py", "import wire.messages", "wire-importers"),
    ("controlplane/registry/selectors.py", "import controlplane.deployments.models", "domains"),
    ("controlplane/core/errors.py", "import controlplane.accounts.models", "domains"),
    (
        "controlplane/deployments/services/__init__.py",
        "import controlplane.operations.models",
        "domains",
    ),
    (
        "controlplane/operations/services/__init__.py",
        "import controlplane.operations.tasks",
        "app",
    ),
    ("worker_runtime/types/__init__.py", "import worker_runtime.config.settings", "runtime"),
    ("worker_runtime/core/statistics.py", "import worker_runtime.core.scheduling.dynamic", "core"),
    (
        "worker_runtime/backends/identity.py",
        "import worker_runtime.backends.onnxruntime",
        "backends",
    ),
    (
        "worker_runtime/protocols/http/__init__.py",
        "import worker_runtime.protocols.grpc",
        "frontends",
    ),
    (
        "worker_runtime/protocols/http/__init__.py",
        "import worker_runtime.backends.base",
        "frontends-see-engine",
    ),
    (
        "worker_runtime/protocols/grpc/answers.py",
        "from worker_runtime.core.model import ModelVersion",
        "frontends-see-engine",
    ),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, target / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def run_linter(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINTER, "--no-cache", *options],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tree), "PATH": str(LINTER.parent)},
    )


def test_all_contracts_are_kept() -> None:
    result = run_linter(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(("path", "line", "contract"), WRONG_IMPORTS)
def test_a_wrong_import_turns_its_contract_red(
    copy: Path, path: str, line: str, contract: str
) -> None:
    source = copy / path
    before = source.read_text()
    source.write_text(f"{before}\n{line}\n")
    try:
        result = run_linter(copy, "--contract", contract)
    finally:
        source.write_text(before)
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout


def test_an_undeclared_room_turns_the_runtime_red(copy: Path) -> None:
    room = copy / "worker_runtime" / "utils.py"
    room.write_text('"""A room nobody declared."""\n')
    try:
        result = run_linter(copy, "--contract", "runtime")
    finally:
        room.unlink()
    assert result.returncode == 1, result.stdout
