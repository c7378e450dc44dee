"""Check one configuration text, against a graph when there is one, for an editor."""

from pathlib import Path
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem, RuntimeFault
from worker_runtime.inspection.repository import RULES, problems_of
from worker_runtime.inspection.shapes import graph_from_json, validation_json
from worker_runtime.repository.complete import check_graph, complete
from worker_runtime.repository.config_json import to_json
from worker_runtime.repository.layout import ModelDirectory
from worker_runtime.repository.locate import places
from worker_runtime.repository.normalise import normalise, unsupported_backend
from worker_runtime.repository.pbtxt import parse, render
from worker_runtime.repository.validation import placed, validate


def validate_text(text: str, model: str, graph: dict[str, Any] | None) -> dict[str, Any]:
    """The answer to a ``validate`` request, without its id."""
    try:
        config = parse(text)
    except ConfigInvalid as error:
        return _answer([validation_json(p) for p in error.problems], None)
    where = places(text)
    given = "max_batch_size" in where
    known = None if graph is None else graph_from_json(graph)
    problems: list[Problem] = []
    try:
        if known is not None and not (config.backend or config.platform):
            config.backend = "onnxruntime"
        normalise(config, ModelDirectory(model or config.name, Path(), (), None), RULES.machine)
        unknown = unsupported_backend(config)
        if unknown is not None:
            problems.append(placed(unknown, where))
        if known is not None:
            complete(config, known, max_batch_given=given)
        findings = validate(config, where, complete=known is not None)
        problems += findings
        if known is not None and not any(item.severity == "error" for item in findings):
            check_graph(config, known)
    except RuntimeFault as error:
        problems.extend(placed(problem, where) for problem in problems_of(error))
    return _answer([validation_json(p) for p in problems], config)


def _answer(problems: list[dict[str, Any]], config: Any) -> dict[str, Any]:
    return {
        "ok": not any(problem["severity"] == "error" for problem in problems),
        "problems": problems,
        "config": None if config is None else to_json(config),
        "effective": "" if config is None else render(config),
    }
