"""PyTorch files: signatures from the archive's code and tables; nothing is unpickled or loaded."""

import ast
import json
import pickletools
import zipfile
from pathlib import Path
from typing import Any

from worker_runtime.backends.pytorch.files import Kind, kind_of, opened
from worker_runtime.errors import Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.types.signature import GraphTensor, ModelGraph

MAX_ENTRY_BYTES = 64 * 2**20
# What PyTorch's own reader knows; a file that names more was not written by it.
KNOWN_GLOBALS = ("__torch__", "torch", "collections")
# torch.export's numbers of element types.
TYPES = {
    1: "UINT8", 2: "INT8", 3: "INT16", 4: "INT32", 5: "INT64", 6: "FP16", 7: "FP32", 8: "FP64",
    12: "BOOL", 13: "BF16",
}  # fmt: skip


def read_torch(path: Path, model: str) -> FileMetadata:
    """Raises LoadFailed for what is no PyTorch model, with the way to make one."""
    kind = kind_of(path, model)
    with opened(path, model) as archive:
        if kind is Kind.SCRIPT:
            return _script(archive, model)
        if kind is Kind.EXPORTED:
            return _exported(archive, model)
    return FileMetadata(producer="torch AOTInductor")


def _read(archive: zipfile.ZipFile, suffix: str) -> bytes | None:
    """The entry below the archive's root folder; None when it is missing or too large."""
    for info in archive.infolist():
        inner = info.filename.partition("/")[2]
        if suffix in (inner, info.filename) and info.file_size <= MAX_ENTRY_BYTES:
            return archive.read(info)
    return None


# --- TorchScript ---------------------------------------------------------------------------------


def _script(archive: zipfile.ZipFile, model: str) -> FileMetadata:
    data = _read(archive, "data.pkl")
    names = _globals(data) if data is not None else []
    unexpected = sorted({name for name in names if not name.startswith(KNOWN_GLOBALS)})
    problems = []
    if unexpected:
        problems.append(
            Problem(
                "PickleGlobals",
                f"the file names Python objects that no TorchScript file needs: "
                f"{', '.join(unexpected[:5])}",
                severity="warning",
                model=model,
                hints=("make sure that you know where this file comes from",),
            )
        )
    top = next((name for name in names if name.startswith("__torch__")), "")
    arguments, results = _forward(archive, top)
    return FileMetadata(
        arguments=arguments,
        results=results,
        producer="torch.jit.save",
        problems=tuple(problems),
    )


def _globals(data: bytes) -> list[str]:
    """Every object that the pickle names, ``module.name``, in order; its code is never run."""
    found: list[str] = []
    strings: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                found.append(str(argument).replace(" ", "."))
            elif opcode.name == "STACK_GLOBAL" and len(strings) > 1:
                found.append(f"{strings[-2]}.{strings[-1]}")
            elif isinstance(argument, str):
                strings.append(argument)
    except (ValueError, KeyError, IndexError):
        return found  # a torn pickle: what stands before the tear is still true
    return found


def _forward(
    archive: zipfile.ZipFile, top: str
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Arguments and results of ``forward``, as the archive's own listing of its code has them."""
    module, _, name = top.rpartition(".")
    source = _read(archive, f"code/{module.replace('.', '/')}.py") if module else None
    if source is None:
        return (), ()
    try:
        tree = ast.parse(source)
        for item in tree.body:
            if isinstance(item, ast.ClassDef) and item.name == name:
                for method in item.body:
                    if isinstance(method, ast.FunctionDef) and method.name == "forward":
                        return _signature(method)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (), ()  # what Python's own reader says of code that is nested without end
    return (), ()


def _signature(method: ast.FunctionDef) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    arguments = tuple(
        (item.arg, ast.unparse(item.annotation) if item.annotation else "Tensor")
        for item in method.args.args[1:]
    )
    answer = method.returns
    if (
        isinstance(answer, ast.Subscript)
        and isinstance(answer.value, ast.Name)
        and answer.value.id == "Tuple"
    ):
        parts = answer.slice.elts if isinstance(answer.slice, ast.Tuple) else [answer.slice]
        return arguments, tuple(ast.unparse(part) for part in parts)
    return arguments, (ast.unparse(answer),) if answer is not None else ()


# --- torch.export --------------------------------------------------------------------------------


def _exported(archive: zipfile.ZipFile, model: str) -> FileMetadata:
    data = _read(archive, "models/model.json") or _read(archive, "serialized_exported_program.json")
    try:
        program = json.loads(data or b"null")["graph_module"]
        values = program["graph"]["tensor_values"]
        signature = program["signature"]
        inputs = [
            _tensor(_argument(spec["user_input"]["arg"]), values)
            for spec in signature["input_specs"]
            if "user_input" in spec
        ]
        outputs = [
            _tensor(_argument(spec["user_output"]["arg"]), values, f"OUTPUT__{index}")
            for index, spec in enumerate(
                spec for spec in signature["output_specs"] if "user_output" in spec
            )
        ]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        problem = Problem(
            "SignatureUnreadable",
            "the table of inputs and outputs of this torch.export file could not be read",
            severity="warning",
            model=model,
        )
        return FileMetadata(producer="torch.export", problems=(problem,))
    return FileMetadata(graph=ModelGraph(tuple(inputs), tuple(outputs), "torch.export"))


def _argument(arg: dict[str, Any]) -> str:
    return str(arg["as_tensor"]["name"])


def _tensor(name: str, values: dict[str, Any], shown: str = "") -> GraphTensor:
    meta = values[name]
    shape = tuple(int(size["as_int"]) if "as_int" in size else -1 for size in meta["sizes"])
    return GraphTensor(shown or name, TYPES[meta["dtype"]], shape)
