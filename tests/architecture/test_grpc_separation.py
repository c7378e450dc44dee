"""One module carries gRPC calls with grpcio; what the calls do must work without it."""

import ast
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "worker_runtime" / "protocols" / "grpc"


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_only_the_adapter_knows_grpcio() -> None:
    users = {
        str(path.relative_to(FOLDER))
        for path in FOLDER.rglob("*.py")
        if any(name == "grpc" or name.startswith("grpc.") for name in imported(path))
    }
    assert users == {"grpcio.py"}
