"""The model around a scoring script or files for one: where they lie, and what runs them.

Here because both sides make it: the client of files that it has, the control plane of what Azure's
clients send.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

APP: Final = "azureml-app"
MODELS: Final = "azureml-models"
MLMODEL: Final = "MLmodel"
# What Python's libraries keep models in.
PICKLES: Final = frozenset({".pkl", ".pickle", ".joblib", ".sav", ".dill"})
WRAPPER: Final = """from shoal_stub.scoring import ScoringScript


class TritonPythonModel(ScoringScript):
    pass
"""
CONFIG: Final = """backend: "python"
input { name: "REQUEST" data_type: TYPE_STRING dims: [1] }
input { name: "REQUEST_HEAD" data_type: TYPE_STRING dims: [1] optional: true }
output { name: "RESPONSE" data_type: TYPE_STRING dims: [1] }
output { name: "RESPONSE_HEAD" data_type: TYPE_STRING dims: [1] }
"""
_BODY = 'name: "REQUEST" data_type: TYPE_STRING dims: [1]'
_SCRIPT = 'parameters { key: "AZUREML_ENTRY_SCRIPT" value { string_value: "%s" } }\n'
_BATCHING = """max_batch_size: %d
dynamic_batching { max_queue_delay_microseconds: %d }
"""
_WORKERS = "instance_group { count: %d kind: KIND_AUTO }\n"
WORKERS: Final = "WORKER_COUNT"
MOST_WORKERS: Final = 256
BATCHED: Final = "batched"
MOST_IN_A_BATCH: Final = 1024
LONGEST_DELAY_MS: Final = 10_000
_TOLD: Final = 60  # characters of what stands there


@dataclass(frozen=True, slots=True)
class Batching:
    """How many requests ``run`` gets at a time, and how long the first of them waits."""

    max_batch_size: int = 8
    max_queue_delay_ms: float = 5.0


def wrapping(
    *,
    script: str = "",
    workers: int = 1,
    batching: Batching | None = None,
    texts: Mapping[str, str] | None = None,
    tensors: str = "",
) -> dict[str, str]:
    """The texts that are written beside the files, by their place in the model's folder.

    ``script`` is its place in the version; without one the files wait for one that comes with a
    deployment. ``texts`` are more, by their place in the version; ``tensors`` are lines of the
    configuration, of those that may stand for the request's body.
    """
    config = CONFIG + (_SCRIPT % script if script else "")
    if tensors:
        config = config.replace(_BODY, f"{_BODY} optional: true") + tensors
    if batching is not None:
        config += _BATCHING % (batching.max_batch_size, round(batching.max_queue_delay_ms * 1000))
    config += _WORKERS % workers if workers > 1 else ""
    written = {"config.pbtxt": config, "1/model.py": WRAPPER}
    return written | {f"1/{place}": text for place, text in (texts or {}).items()}


def chosen(paths: Iterable[str], part: str) -> dict[str, str]:
    """Of a registered version's files those for the ``part``, and where they go below it.

    A version that was made for scripts has both parts apart; all files of any other are a model.
    """
    found = {path: PurePosixPath(path).parts for path in paths}
    scripted = any(parts[1:3] in (("1", APP), ("1", MODELS)) for parts in found.values())
    if part == MODELS and not scripted:
        return {path: path for path in found}
    return {path: "/".join(parts[3:]) for path, parts in found.items() if parts[1:3] == ("1", part)}


def is_mlflow(names: Iterable[str]) -> bool:
    """A folder with these in it was saved by MLflow; not one whose graph is served by itself."""
    there = set(names)
    if MLMODEL not in there or "config.pbtxt" in there:
        return False
    return not any(name.endswith(".onnx") or name.isdigit() for name in there)


def script_fault(script: str) -> str:
    """Why a script's path cannot be one; empty where it can."""
    path = PurePosixPath(script)
    if not script or path.is_absolute() or ".." in path.parts or path.suffix != ".py":
        return "expected a .py file below the code's folder"
    if '"' in script or "\\" in script or not script.isprintable():
        return "has quotes or backslashes"
    return ""


def batching_of(source: str) -> Batching | None:
    """What ``@batched`` above a script's ``run()`` says; None without one.

    Read, not run: whoever registers a script does not run it. Raises ValueError for what is no
    number, or too many.
    """
    try:
        found = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the runtime tells the line when it loads it
    for function in found.body:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name == "run":
            for decorator in function.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                name = called.attr if isinstance(called, ast.Attribute) else _name(called)
                if name == BATCHED:
                    return _batching(decorator, source)
    return None


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _batching(decorator: ast.expr, source: str) -> Batching:
    if not isinstance(decorator, ast.Call):
        return Batching()
    given: dict[str, Any] = {}
    limits = {"max_batch_size": (2, MOST_IN_A_BATCH), "max_queue_delay_ms": (0, LONGEST_DELAY_MS)}
    named = [(word.arg or "**", word.value) for word in decorator.keywords]
    for name, node in [*zip(limits, decorator.args, strict=False), *named]:
        if name not in limits or len(decorator.args) > len(limits):
            raise ValueError(f"@{BATCHED} takes {' and '.join(limits)}")
        value = node.value if isinstance(node, ast.Constant) else None
        kinds = int if name == "max_batch_size" else (int, float)
        least, most = limits[name]
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            # why not unparse: what is nested deeply has no end there
            said = (ast.get_source_segment(source, node) or "")[:_TOLD]
            raise ValueError(
                f"@{BATCHED}: {name} is {said}, expected a number from {least} to {most} as it "
                "stands: it is read before the script runs"
            )
        given[name] = value
    return Batching(**given)


def workers_of(variables: Mapping[str, Any] | None) -> int:
    """How many processes Azure's server has, one if nothing is said. Raises ValueError."""
    given = str((variables or {}).get(WORKERS, 1))
    if not given.isdecimal() or not 1 <= int(given) <= MOST_WORKERS:
        raise ValueError(f"{given!r}, expected 1 to {MOST_WORKERS}")
    return int(given)
