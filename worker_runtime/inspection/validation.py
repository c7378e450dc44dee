"""Check one configuration text against what is known of its files and neighbours; advise on it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem, RuntimeFault
from worker_runtime.inspection.compositions import check_ensemble
from worker_runtime.inspection.drafts import UNDECLARED, config_needed
from worker_runtime.inspection.edits import at, fixed, value_replaced
from worker_runtime.inspection.explanations import explain
from worker_runtime.inspection.lint import lint
from worker_runtime.inspection.repository import RULES, SELF_DESCRIBING, problems_of
from worker_runtime.inspection.shapes import metadata_from_json, validation_json
from worker_runtime.repository.complete import check_graph, complete
from worker_runtime.repository.config_json import to_json
from worker_runtime.repository.ensembles import is_ensemble
from worker_runtime.repository.layout import ModelDirectory
from worker_runtime.repository.normalise import normalise, unsupported_backend
from worker_runtime.repository.pbtxt import parse, places, render
from worker_runtime.repository.validation import placed, validate

LONG_DELAY_US = 5_000
USUAL_DELAY_US = 1_000
_DELAY = "dynamic_batching[0].max_queue_delay_microseconds"


def validate_text(
    text: str,
    model: str,
    graph: dict[str, Any] | None,
    neighbours: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The answer to a ``validate`` request, without its id.

    ``graph`` is what inspection told of the model's file, ``neighbours`` the configurations of the
    repository's other models by name, for ensembles.
    """
    try:
        config = parse(text)
        known = None if graph is None else metadata_from_json(graph)
        problems = lint(text, model, known)
    except ConfigInvalid as error:
        return _answer(list(error.problems), text, None)
    where = places(text)
    given = "max_batch_size" in where
    try:
        if graph is not None and not (config.backend or config.platform):
            config.backend = graph.get("backend") or "onnxruntime"
        if any(problem.code == "NameMismatch" for problem in problems):
            config.name = model  # said already; go on as if it were right
        directory = ModelDirectory(model or config.name, Path(), (), None)
        normalise(config, directory, RULES.machine)
        unknown = unsupported_backend(config)
        if unknown is not None and not _has(problems, "BackendUnknown"):
            problems.append(placed(unknown, where))
        full = known.graph if known else None
        if full is not None and config.backend != "python":
            complete(config, full, max_batch_given=given or config.backend not in SELF_DESCRIBING)
        undeclared = full is None and config.backend in UNDECLARED
        if known is not None and undeclared and not (config.input and config.output):
            problems.append(placed(config_needed(model or config.name, known), where))
        described = known is not None and not known.fills_itself
        findings = validate(config, where, complete=described)
        problems += [item for item in findings if not _twice(item, problems)]
        if full is not None and config.backend in SELF_DESCRIBING and not _errors(problems):
            check_graph(config, full)
        if neighbours is not None and not _errors(problems):
            problems += check_ensemble(text, config, _parsed(neighbours) | {config.name: config})
    except RuntimeFault as error:
        found = [placed(problem, where) for problem in problems_of(error)]
        problems += [item for item in found if not _twice(item, problems)]
    if not _errors(problems):
        problems += [at(item, where) for item in advise(text, config)]
    return _answer(problems, text, config)


def _parsed(neighbours: dict[str, str]) -> dict[str, Any]:
    """Those that can be read; what is wrong with the others is said where they are edited."""
    configs = {}
    for name, text in neighbours.items():
        try:
            config = parse(text)
        except ConfigInvalid:
            continue
        config.name = name
        configs[name] = config
    return configs


def _errors(problems: list[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _has(problems: list[Problem], code: str) -> bool:
    return any(problem.code == code for problem in problems)


def _twice(problem: Problem, problems: list[Problem]) -> bool:
    """The runtime says in its words what lint has said with a remedy already."""
    return any(item.severity == "error" and item.line and item.line == problem.line
               for item in problems)  # fmt: skip


def _answer(problems: list[Problem], text: str, config: Any) -> dict[str, Any]:
    return {
        "ok": not _errors(problems),
        "problems": [validation_json(explain(problem, text)) for problem in problems],
        "config": None if config is None else to_json(config),
        "effective": "" if config is None else render(config),
    }


def advise(text: str, config: Any) -> Iterator[Problem]:
    """Of what is allowed: where it is seldom meant, and where another way is often better.

    ``config`` is the completed configuration written as ``text``.
    """
    delay = config.dynamic_batching.max_queue_delay_microseconds
    if config.HasField("dynamic_batching") and delay > LONG_DELAY_US:
        message = f"Every request may wait up to {_time(delay)} in the queue."
        yield fixed(
            Problem(
                "QueueDelayLong",
                message,
                severity="warning",
                field=_DELAY,
                hints=("Most interactive models use 100 to 2,000 \u00b5s.",),
                plain=message,
            ),
            f"Set {USUAL_DELAY_US:,} \u00b5s",
            value_replaced(text, _DELAY, str(USUAL_DELAY_US)),
        )
    if (
        config.max_batch_size > 1
        and config.WhichOneof("scheduling_choice") is None
        and not is_ensemble(config)
        and not config.model_transaction_policy.decoupled
    ):
        message = "Dynamic batching is off. Concurrent requests run one by one."
        yield fixed(
            Problem(
                "DynamicBatchingOff",
                message,
                severity="info",
                field="max_batch_size",
                hints=("Waiting requests can share a batch, which a GPU computes almost at once.",),
                plain=message,
            ),
            "Switch it on",
            f"{text.rstrip()}\n\ndynamic_batching {{ }}\n",
        )


def _time(us: int) -> str:
    if us >= 1_000_000:
        return f"{us / 1_000_000:g} s"
    return f"{us / 1000:g} ms"
