"""Every parameter that a backend reads is in the table that says what it does."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import worker_runtime.backends as backends
from worker_runtime.backends.onnxruntime.providers import _TENSORRT
from worker_runtime.backends.python.backend import DEBUG_PORT, STUB_TIMEOUT
from worker_runtime.repository.code.parameters import (
    READ,
    accelerator_kind,
    parameter_kind,
)
from worker_runtime.types.backends import SERVED
from worker_runtime.types.code import LIBRARY, UNKNOWN

ROOT = Path(str(backends.__file__)).parent
GIVEN = {"parameters", "given", "spec"}
# Read from elsewhere than a model's parameters, or texts that are no keys.
OTHERS = {
    *(STUB_TIMEOUT, DEBUG_PORT),
    *("true", "false", "yes", "input", "output", "0", "$$TRITON_MODEL_DIRECTORY"),
}


def sources(backend: str) -> list[Path]:
    folder = ROOT / backend
    return sorted(folder.glob("*.py")) if folder.is_dir() else [ROOT / f"{backend}.py"]


def is_parameters(node: ast.AST) -> bool:
    """``parameters``, ``given``, ``spec``, or an attribute called ``parameters``."""
    if isinstance(node, ast.Attribute):
        return node.attr == "parameters"
    return isinstance(node, ast.Name) and node.id in GIVEN


def is_key(text: str) -> bool:
    """One word, and no field of the configuration, as errors name them."""
    return re.fullmatch(r"[$\w.-]+", text) is not None and not text.startswith(
        ("model_operations.", "optimization.")
    )


def keys(tree: ast.AST) -> Iterator[str]:
    """Strings with which parameters are asked: indices, ``in``, ``get``, and helpers' arguments."""
    names = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Subscript) and is_parameters(node.value):
            asked = [node.slice]
        elif isinstance(node, ast.Compare) and any(map(is_parameters, node.comparators)):
            asked = [node.left]
        elif isinstance(node, ast.Call):
            asks = node.func.value if isinstance(node.func, ast.Attribute) else None
            if ast.unparse(node.func).endswith((".HasField", "_unexpected")):
                continue  # of a message; what an error says
            if any(map(is_parameters, [*node.args, *([asks] if asks else [])])):
                asked = list(node.args)
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            # a loop over keys, alone or each with something
            rows = [row.elts if isinstance(row, ast.Tuple) else [row] for row in node.iter.elts]
            body = ast.Module(node.body, [])
            if any(is_parameters(inner) for inner in ast.walk(body)):
                asked = [row[0] for row in rows]
        for item in asked:
            if (
                isinstance(item, ast.Constant)
                and isinstance(item.value, str)
                and is_key(item.value)
            ):
                yield item.value
            elif isinstance(item, ast.Name) and item.id in names:
                yield names[item.id]


def test_every_parameter_that_a_backend_reads_is_classified() -> None:
    found = 0
    for backend in SERVED:
        for source in sources(backend):
            asked = set(keys(ast.parse(source.read_text()))) - OTHERS
            found += len(asked)
            assert asked <= READ[backend], f"{source.name}: say what these do in READ and KINDS"
    assert found > 30, "the search finds the backends' keys"


def test_the_search_finds_keys_however_they_are_asked_for() -> None:
    text = """
KEY = "D"
a = spec.parameters["A"]; b = parameters.get("B", ""); c = "C" in given; d = spec.parameters[KEY]
e = _flag(spec, "E", default=True)
for key, value in (("F", 1), ("G", 2)):
    spec.parameters.get(key)
"""
    assert set(keys(ast.parse(text))) == set("ABCDEFG")


def test_every_served_backend_has_a_table() -> None:
    assert set(READ) == set(SERVED)


def test_every_option_of_tensorrt_that_is_handed_on_is_classified() -> None:
    unknown = {key for key in _TENSORRT if accelerator_kind("tensorrt", key) == UNKNOWN}
    assert unknown == set()
    libraries = {key for key in _TENSORRT if accelerator_kind("tensorrt", key) == LIBRARY}
    assert libraries == {"trt_extra_plugin_lib_paths"}


def test_what_is_handed_on_to_onnx_runtime_goes_by_an_allowlist() -> None:
    assert parameter_kind("session.disable_prepacking", "1") == ""
    assert parameter_kind("session.anything_new", "1") == UNKNOWN
    assert accelerator_kind("openvino", "anything_new") == UNKNOWN
