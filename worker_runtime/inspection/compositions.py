"""Ensembles against the models beside them: missing steps, tensors that do not meet, batches."""

import difflib
from collections.abc import Mapping
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.inspection.edits import at, fixed, line_added, value_replaced
from worker_runtime.repository.ensemble_tensors import TensorTable
from worker_runtime.repository.ensembles import is_ensemble
from worker_runtime.repository.pbtxt import places


def check_ensemble(text: str, config: Any, models: Mapping[str, Any]) -> list[Problem]:
    """Findings about ``config`` (written as ``text``), given the configurations around it.

    Models whose tensors are not known yet are taken as they come.
    """
    if not is_ensemble(config):
        return []
    where = places(text)
    missing = _missing(text, config, models)
    if missing:
        return [at(problem, where) for problem in missing]
    steps = config.ensemble_scheduling.step
    if any(not (models[step.model_name].input or is_ensemble(models[step.model_name]))
           for step in steps):  # fmt: skip
        return []
    small = _too_small(text, config, models)
    if small:
        return [at(small, where)]
    batching = [step.model_name for step in steps if models[step.model_name].max_batch_size > 0]
    try:
        _compose(config, models)
    except ConfigInvalid as error:
        fields = [item.field for item in error.problems if item.field]
        problem = Problem(
            "EnsembleMismatch",
            str(error),
            field=fields[0] if fields else "ensemble_scheduling",
            hints=tuple(hint for item in error.problems for hint in item.hints),
        )
        if len(batching) == len(steps) and config.max_batch_size == 0:
            smallest = min(models[name].max_batch_size for name in batching)
            mended = _with_batches(text, smallest)
            problem = _mended(problem, config, models, mended, smallest)
        return [at(problem, where)]
    return []


def _missing(text: str, config: Any, models: Mapping[str, Any]) -> list[Problem]:
    found = []
    for index, step in enumerate(config.ensemble_scheduling.step):
        if step.model_name in models:
            continue
        path = f"ensemble_scheduling[0].step[{index}].model_name"
        others = [name for name in models if name != config.name]
        fit = [name for name in others if _fits(step, models[name])]
        close = difflib.get_close_matches(step.model_name, fit, n=1, cutoff=0.5)
        problem = Problem(
            "EnsembleStepUnknown",
            f"ensemble '{config.name}' contains model '{step.model_name}', which is not in this "
            "repository",
            field=path,
            detail=f"models here: {', '.join(sorted(others)) or 'no others'}",
            hints=(f'did you mean "{close[0]}"?',) if close else ("add the model",),
        )
        if close:
            mended = value_replaced(text, path, f'"{close[0]}"')
            problem = fixed(problem, f'Write "{close[0]}"', mended)
        found.append(problem)
    return found


def _fits(step: Any, model: Any) -> bool:
    """The model has the tensors that a step asks for, or does not tell.

    A postprocessor that is not there is no misspelt preprocessor.
    """
    return (not model.input or step.input_map.keys() <= {item.name for item in model.input}) and (
        not model.output or step.output_map.keys() <= {item.name for item in model.output}
    )


def _too_small(text: str, config: Any, models: Mapping[str, Any]) -> Problem | None:
    """An ensemble cannot take larger batches than every model of it; said as when it loads."""
    for step in config.ensemble_scheduling.step:
        most = models[step.model_name].max_batch_size
        if 0 < most < config.max_batch_size:
            problem = Problem(
                "EnsembleMismatch",
                f"ensemble {config.name} allows maximum batch size {config.max_batch_size}, but it "
                f"contains model {step.model_name} which only allows maximum batch size to be "
                f"{most}",
                field="max_batch_size",
            )
            steps = config.ensemble_scheduling.step
            sizes = [models[item.model_name].max_batch_size for item in steps]
            fit = min(size for size in sizes if size > 0)
            mended = value_replaced(text, "max_batch_size", str(fit))
            return fixed(problem, f"Set max_batch_size: {fit}", mended)
    return None


def _compose(config: Any, models: Mapping[str, Any]) -> None:
    """Raises ConfigInvalid in Triton's words when tensors do not meet."""
    table = TensorTable(config)
    for step in config.ensemble_scheduling.step:
        table.add(step, models[step.model_name])
    table.decoupled()


def _with_batches(text: str, size: int) -> str:
    if "max_batch_size" in places(text):
        return value_replaced(text, "max_batch_size", str(size))
    return line_added(text, f"max_batch_size: {size}")


def _mended(
    problem: Problem, config: Any, models: Mapping[str, Any], text: str, size: int
) -> Problem:
    """The remedy, when it is one: all steps batch, so the ensemble may as well."""
    trial = type(config)()
    trial.CopyFrom(config)
    trial.max_batch_size = size
    try:
        _compose(trial, models)
    except ConfigInvalid:
        return problem
    return fixed(problem, f"Set max_batch_size: {size}, as all its models batch", text)
