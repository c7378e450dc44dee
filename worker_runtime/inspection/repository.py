"""A repository as one JSON object: what each model takes and gives, and what is wrong with it."""

from pathlib import Path
from typing import Any

from worker_runtime.backends.onnxruntime import inspect_graph
from worker_runtime.core.loading import LoadingRules, ModelPlan, described, read_plan
from worker_runtime.errors import ConfigInvalid, FileUnreadable, LoadFailed, Problem, RuntimeFault
from worker_runtime.inspection.shapes import graph_json, problem_json, tensor_json
from worker_runtime.repository.complete import check_graph, complete
from worker_runtime.repository.labels import read_labels
from worker_runtime.repository.layout import ModelDirectory, scan
from worker_runtime.repository.normalise import unsupported_backend
from worker_runtime.repository.onnx_file import NotOnnx, read_header
from worker_runtime.repository.pbtxt import render
from worker_runtime.repository.validation import placed, validate
from worker_runtime.types.formats import FORMATS
from worker_runtime.types.graph import ModelGraph
from worker_runtime.types.machine import Machine
from worker_runtime.types.signature import signature_of

# why one core and no GPU: what is shown must not depend on the machine that looks.
RULES = LoadingRules(Machine(cores=2))


def inspect_repository(path: Path) -> dict[str, Any]:
    """``{"models": [...], "problems": [...]}``; bad models are reported, never raised."""
    models: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    directories = [item for item in scan(path) if item.versions or item.config_path]
    if not directories:
        problems.append(problem_json(_nothing_found(path)))
    for directory in directories:
        model, found = inspect_model(directory)
        models.append(model)
        problems.extend(problem_json(problem, directory.name) for problem in found)
    return {"models": models, "problems": problems}


def inspect_model(directory: ModelDirectory) -> tuple[dict[str, Any], list[Problem]]:
    """One model as JSON, with what was found about it."""
    text = _config_text(directory)
    model: dict[str, Any] = {
        "name": directory.name,
        "backend": "",
        "platform": "",
        "versions": list(directory.versions),
        "max_batch_size": 0,
        "decoupled": False,
        "inputs": [],
        "outputs": [],
        "config_text": text,
        "config_effective": "",
        "graph": None,
        "provenance": {},
        "files": directory.files(),
        "warnings": list(directory.warnings),
    }
    problems: list[Problem] = []
    try:
        plan = read_plan(directory, RULES)
        versions = plan.versions
        unknown = unsupported_backend(plan.config)
        if unknown is not None:
            raise LoadFailed(unknown.message, unknown)
    except (RuntimeFault, UnicodeDecodeError) as error:
        return model, [*problems, *problems_of(error)]
    model |= {
        "backend": plan.config.backend,
        "platform": plan.config.platform,
        "versions": list(versions),
    }
    try:
        graph = _graph(plan)
        if graph is not None:
            model["graph"] = graph_json(graph)
            model["provenance"] = complete(plan.config, graph, max_batch_given=plan.max_batch_given)
        problems.extend(validate(plan.config, plan.places))
        if graph is not None and not any(item.severity == "error" for item in problems):
            check_graph(plan.config, graph)
        signature = signature_of(plan.config, read_labels(plan.config, directory.path))
    except RuntimeFault as error:
        problems.extend(placed(problem, plan.places) for problem in problems_of(error))
        model["config_effective"] = render(plan.config)
        return model, problems
    model |= {
        "max_batch_size": signature.max_batch_size,
        "decoupled": plan.config.model_transaction_policy.decoupled,
        "inputs": [tensor_json(spec) for spec in signature.inputs],
        "outputs": [tensor_json(spec, output=True) for spec in signature.outputs],
        "config_effective": render(plan.config),
    }
    model["warnings"] += [described(p) for p in problems if p.severity == "warning"]
    return model, problems


def problems_of(error: Exception) -> list[Problem]:
    """What a failure tells, as findings."""
    if isinstance(error, ConfigInvalid | FileUnreadable) and error.problems:
        return list(error.problems)
    if isinstance(error, LoadFailed) and error.problem is not None:
        return [error.problem]
    return [Problem("ConfigInvalid", str(error))]


def _graph(plan: ModelPlan) -> ModelGraph | None:
    """Load every version of an ONNX model once; the first one's graph counts. Raises LoadFailed."""
    if plan.config.backend != "onnxruntime":
        return None
    graphs = [_onnx_graph(plan, version) for version in plan.versions]
    return graphs[0]


def _onnx_graph(plan: ModelPlan, version: int) -> ModelGraph:
    name = plan.config.name
    filename = plan.config.default_model_filename or "model.onnx"
    path = plan.directory.version_path(version) / filename
    path = path / "model.onnx" if path.is_dir() else path
    if not path.is_file():
        shown = path.relative_to(plan.directory.path).as_posix()
        raise LoadFailed("", Problem("ModelLoadFailed", f"{shown} does not exist", model=name))
    try:
        header = read_header(path)
    except NotOnnx as error:
        message = f"{path.relative_to(plan.directory.path).as_posix()} is not an ONNX file: {error}"
        hints = ("export the model with torch.onnx.export, tf2onnx or skl2onnx",)
        raise LoadFailed(
            message, Problem("NotAnOnnxFile", message, detail=str(error), hints=hints)
        ) from error
    graph = inspect_graph(path, name)
    return ModelGraph(graph.inputs, graph.outputs, header.producer, header.opset)


def _config_text(directory: ModelDirectory) -> str:
    if directory.config_path is None:
        return ""
    return directory.config_path.read_bytes().decode("utf-8", "replace")


def _nothing_found(path: Path) -> Problem:
    files = ", ".join(item.filename for item in FORMATS if item.filename)
    here = sorted(item.name for item in path.iterdir())[:20]
    return Problem(
        "NoModelFound",
        "no model was found",
        detail=(
            f"looked for <model>/<version>/<file>, with a whole number as version and one of "
            f"{files}, or <model>/config.pbtxt; found {', '.join(here) or 'an empty directory'}"
        ),
        hints=("put the file at <model>/1/model.onnx",),
    )
