"""Ensembles at load time: what they need, and whether they fit themselves and their models.

Three looks, each a function: the configuration alone (``check_schedule``), which models must be
there (``composing``, ``unmet``, ``circular``), and the tensors against the complete configurations
of those models (``check_composition``). Texts are the protocol's own.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.ensemble_tensors import TensorTable
from worker_runtime.types.backends import ENSEMBLE
from worker_runtime.types.repository import key_of, name_of, namespace_of

LATEST = -1


def is_ensemble(config: Any) -> bool:
    return bool(config.HasField("ensemble_scheduling"))


def part_of(step: Any) -> str:
    """The key of the model that a step calls."""
    return key_of(step.model_name, step.model_namespace)


def in_namespaces(configs: Mapping[str, Any]) -> dict[str, Any]:
    """``configs`` by key, with the namespaces of the models that ensembles call.

    A step's model is the one in the ensemble's own repository or, without one there, the only one
    of its name. Where there are several it stays without a namespace, and is not found.
    """
    if not any(namespace_of(key) for key in configs):
        return dict(configs)
    named: dict[str, list[str]] = {}
    for key in configs:
        named.setdefault(name_of(key), []).append(key)
    found = dict(configs)
    for key, config in configs.items():
        if not is_ensemble(config):
            continue
        found[key] = own = type(config)()
        own.CopyFrom(config)
        for step in own.ensemble_scheduling.step:
            keys = named.get(step.model_name, [])
            near = key_of(step.model_name, namespace_of(key))
            if near in keys or len(keys) == 1:
                step.model_namespace = namespace_of(near if near in keys else keys[0])
    return found


def composing(config: Any) -> dict[str, set[int]]:
    """The models that an ensemble is made of, with the versions it asks for (-1: the highest).

    By key, in the order of the steps; empty for a model that is no ensemble.
    """
    needed: dict[str, set[int]] = {}
    if is_ensemble(config):
        for step in config.ensemble_scheduling.step:
            needed.setdefault(part_of(step), set()).add(step.model_version)
    return needed


# --- against itself ------------------------------------------------------------------------------


def check_schedule(config: Any) -> list[Problem]:
    """The first thing that is wrong with the schedule itself, as a list of at most one finding."""
    try:
        if is_ensemble(config):
            _check_fields(config)
            _check_flow(config, _tensors(config))
        elif config.platform == ENSEMBLE:
            raise _invalid(
                f"ensemble scheduling must be set for ensemble {config.name} whose platform is "
                f"{ENSEMBLE}",
                "platform",
            )
    except ConfigInvalid as error:
        return list(error.problems)
    return []


def _check_fields(config: Any) -> None:
    name = config.name
    if config.platform != ENSEMBLE:
        raise _invalid(
            f"ensemble scheduling cannot be set for model '{name}' whose platform is not "
            f"{ENSEMBLE}",
            "platform",
        )
    if config.backend:
        raise _invalid(
            f"Ensemble model '{name}' must have platform type '{ENSEMBLE}' and empty backend type",
            "backend",
        )
    if config.instance_group:
        raise _invalid(
            f"instance group should not be specified for ensemble '{name}'", "instance_group"
        )
    if config.HasField("optimization"):
        raise _invalid(
            f"optimization should not be specified for ensemble '{name}'", "optimization"
        )
    if config.model_warmup:
        raise _invalid(f"model_warmup can not be specified for ensemble '{name}'", "model_warmup")
    if not config.ensemble_scheduling.step:
        raise _invalid(f"must specify 'step' for ensemble '{name}'", "ensemble_scheduling")


class _Tensor:
    """One tensor of the data flow; ``made``: a step writes it."""

    def __init__(self) -> None:
        self.made = False
        self.ready = False
        self.step = 0  # that makes it, or else that takes it first
        self.sources: list[_Tensor] = []
        self.targets: list[_Tensor] = []


def _tensors(config: Any) -> dict[str, _Tensor]:
    """The tensors by name, linked from step inputs to step outputs. Raises ConfigInvalid."""
    tensors: dict[str, _Tensor] = {}
    for index, step in enumerate(config.ensemble_scheduling.step):
        field = f"ensemble_scheduling[0].step[{index}]"
        for part in ("model_name", "input_map", "output_map"):
            if not getattr(step, part):
                raise _invalid(
                    f"must specify '{part}' in step {index} of ensemble '{config.name}'", field
                )
        outputs: list[_Tensor] = []
        for name in sorted(step.output_map.values()):
            tensor = tensors.setdefault(name, _Tensor())
            if tensor.made:
                raise _invalid(
                    f"ensemble tensor '{name}' can appear in an output map only once for ensemble "
                    f"'{config.name}' step {index}",
                    field,
                )
            tensor.made = True
            tensor.step = index
            outputs.append(tensor)
        for name in sorted(step.input_map.values()):
            if name not in tensors:
                tensors[name] = _Tensor()
                tensors[name].step = index
            tensor = tensors[name]
            tensor.targets.extend(outputs)
            for output in outputs:
                output.sources.append(tensor)
    return tensors


def _check_flow(config: Any, tensors: dict[str, _Tensor]) -> None:
    """Every input is used, every output is reached, and nothing in between is idle."""
    front: deque[_Tensor] = deque()
    for index, item in enumerate(config.input):
        tensor = tensors.get(item.name)
        if tensor is None:
            raise _invalid(
                f"ensemble input '{item.name}' for ensemble {config.name}' is not used",
                f"input[{index}].name",
            )
        tensor.ready = True
        front.append(tensor)
    while front:
        for target in front.popleft().targets:
            if not target.ready and all(source.ready for source in target.sources):
                target.ready = True
                front.append(target)
    outputs = {item.name for item in config.output}
    for index, item in enumerate(config.output):
        tensor = tensors.get(item.name)
        if tensor is None:
            raise _invalid(
                f"ensemble output '{item.name}' for ensemble {config.name}' is not used",
                f"output[{index}].name",
            )
        if not tensor.ready:
            raise _invalid(
                f"output '{item.name}' for ensemble '{config.name}' is not written",
                f"output[{index}].name",
            )
    for name, tensor in tensors.items():
        if name not in outputs and not (tensor.ready and tensor.targets):
            raise _invalid(
                f"ensemble tensor '{name}' is unused in ensemble '{config.name}'",
                f"ensemble_scheduling[0].step[{tensor.step}]",
            )


# --- against the repository ----------------------------------------------------------------------


def missing(config: Any, known: Iterable[str]) -> str:
    """Why an ensemble cannot load: models that no repository has ("" when all are known)."""
    names = set(known)
    absent = sorted(name for name in composing(config) if name not in names)
    if not absent:
        return ""
    return (
        f"ensemble {config.name} contains models that are not available or ambiguous: "
        + ", ".join(absent)
    )


def circular(name: str, configs: Mapping[str, Any]) -> str:
    """Why ``name`` can never load: it is part of itself ("" when it is not).

    ``configs`` holds the ensembles by name; other models may be left out.
    """
    seen: set[str] = set()

    def visit(current: str) -> str:
        for upstream in composing(configs[current]) if current in configs else ():
            if upstream == name:
                return (
                    f"circular dependency between ensembles: {name} -> ... -> {current} -> {name}"
                )
            if upstream not in seen:
                seen.add(upstream)
                found = visit(upstream)
                if found:
                    return found
        return ""

    return visit(name)


def unmet(
    config: Any, loaded: Mapping[str, Iterable[int]], failures: Mapping[str, str] | None = None
) -> str:
    """Why an ensemble cannot load now: a composing model or version is not READY ("" if all are).

    ``loaded`` has the READY versions by model; ``failures`` says why a model's load has failed.
    """
    for model, wanted in composing(config).items():
        versions = set(loaded.get(model, ()))
        depends = f"ensemble '{config.name}' depends on '{model}'"
        if not versions:
            reason = (failures or {}).get(model)
            text = f"{depends} which has no loaded version."
            return f"{text} Model '{model}' loading failed with error: {reason}" if reason else text
        for version in sorted(wanted - versions - {LATEST}):
            return f"{depends} whose required version {version} is not loaded."
    return ""


def invalid_upstream(config: Any, failures: Mapping[str, str]) -> str:
    """Why an ensemble is invalid: one that it is made of is ("" when none is)."""
    for model in composing(config):
        reason = failures.get(model)
        if reason:
            return (
                f"ensemble '{config.name}' depends on '{model}' which is not valid. Model "
                f"'{model}' failed with error: {reason}"
            )
    return ""


# --- against the composing models ----------------------------------------------------------------


def check_composition(config: Any, models: Mapping[str, Any]) -> bool:
    """Check the tensors of an ensemble against the complete configurations of its models.

    ``models`` holds, by name, the configuration of the highest READY version. Returns whether the
    ensemble is decoupled: some step is, and an ensemble tensor depends on it. Raises ConfigInvalid.
    """
    table = TensorTable(config)
    for step in config.ensemble_scheduling.step:
        model = models[part_of(step)]
        if 0 < model.max_batch_size < config.max_batch_size:
            raise _invalid(
                f"ensemble {config.name} allows maximum batch size {config.max_batch_size}, but it "
                f"contains model {step.model_name} which only allows maximum batch size to be "
                f"{model.max_batch_size}",
                "max_batch_size",
            )
        table.add(step, model)
    return table.decoupled()


def complete_ensemble(config: Any, models: Mapping[str, Any]) -> None:
    """``check_composition``, and note in the configuration what it found out."""
    decoupled = check_composition(config, models)
    if decoupled and config.response_cache.enable:
        raise _invalid(
            f"Response Cache does not currently support model {config.name} with 'decoupled' "
            "transaction policy. Please disable the response cache.",
            "response_cache",
        )
    config.model_transaction_policy.decoupled = decoupled


def _invalid(message: str, field: str) -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
