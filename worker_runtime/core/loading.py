"""From a directory to a blueprint: read, normalise, load, complete, validate. Blocking."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from worker_runtime.backends.attempt import Attempt
from worker_runtime.backends.base import (
    Backend,
    Host,
    Instance,
    LoadedModel,
    LoadSpec,
    Placement,
    RequestInstance,
    SelfCompleting,
)
from worker_runtime.backends.capabilities import capabilities_of, check_capabilities
from worker_runtime.backends.catalog import backend
from worker_runtime.core.model import Blueprint, own_policy, wants_front_ends
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.core.scheduling.sequence.config import sequence_config
from worker_runtime.core.warmup import warm_up
from worker_runtime.errors import (
    ConfigInvalid,
    EnsembleInvalid,
    LoadFailed,
    Problem,
    Unavailable,
)
from worker_runtime.repository.code.verdict import check_code
from worker_runtime.repository.complete import (
    DEFAULT_MAX_BATCH_SIZE,
    check_graph,
    complete,
    scalars,
)
from worker_runtime.repository.config_json import read_json
from worker_runtime.repository.ensembles import is_ensemble
from worker_runtime.repository.fingerprint import Fingerprint
from worker_runtime.repository.labels import read_labels
from worker_runtime.repository.layout import CONFIG_NAME, ModelDirectory
from worker_runtime.repository.normalise import (
    fill_scheduling,
    normalise,
    unsupported_backend,
    versions_to_serve,
)
from worker_runtime.repository.pbtxt import Place, parse, places
from worker_runtime.repository.sequence_rules import check_sequence_tensors
from worker_runtime.repository.validation import (
    check_configuration,
    check_devices,
    check_model,
    check_named_files,
    check_tensors_and_batches,
    placed,
)
from worker_runtime.types.backends import ENSEMBLE, SERVED, shared_backends
from worker_runtime.types.code import EVERYTHING, PYTHON, AllowedCode
from worker_runtime.types.instances import Machine, places_of
from worker_runtime.types.repository import LoadOverride
from worker_runtime.types.signature import ModelGraph, signature_of

logger = logging.getLogger(__name__)
_BATCH_SIZE = "default-max-batch-size"


class LoadingRules(Struct, frozen=True):
    """``backend_settings`` are ``--backend-config`` values by backend ("" holds the global).

    ``gpu_limits``: the fraction of a GPU's memory that may be used once a model is on it, by
    device; ``gpu_memory`` tells bytes used and in all.
    """

    machine: Machine
    auto_complete: bool = True
    backend_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    host: Host | None = None  # what models may ask of the server
    limiter: RateLimiter | None = None  # its resources bound what can be loaded

    gpu_limits: Mapping[int, float] = field(default_factory=dict)
    gpu_memory: Callable[[int], tuple[int, int]] | None = None
    backend_directory: Path | None = None  # of backends made of shared Python code
    code: AllowedCode = EVERYTHING

    def default_max_batch_size(self, backend: str) -> int:
        """What a model that batches gets when it does not say how much."""
        value = self.settings(backend).get(_BATCH_SIZE)
        return DEFAULT_MAX_BATCH_SIZE if value is None else int(value)

    def log_settings(self, backend: str) -> None:
        """Verbosely, in Triton's words, as it does for every version that it loads."""
        overwritten = _BATCH_SIZE in self.settings(backend)
        said = "Found overwritten default" if overwritten else "Adding default backend config"
        size = self.default_max_batch_size(backend)
        logger.debug("%s setting: %s,%d", said, _BATCH_SIZE, size)

    def settings(self, backend: str) -> Mapping[str, str]:
        """What is said for all backends, and for this one above it."""
        settings = self.backend_settings
        return {**settings.get("", {}), **settings.get(backend, {})}


class ModelPlan(Struct, frozen=True):
    """A configuration read and normalised, before any model is in memory.

    ``namespace`` is its repository with --model-namespacing, "" otherwise. ``seen`` is how its
    files looked before any of them was loaded.
    """

    directory: ModelDirectory
    config: Any
    places: dict[str, Place]
    max_batch_given: bool
    namespace: str = ""
    seen: Fingerprint = Fingerprint({})

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions on disk that the policy lets in. Raises ConfigInvalid: there is none."""
        return versions_to_serve(self.config, self.directory)


def read_plan(
    directory: ModelDirectory,
    rules: LoadingRules,
    override: LoadOverride | None = None,
    namespace: str = "",
) -> ModelPlan:
    """Read and normalise the configuration of a model. Raises ConfigInvalid or OSError."""
    if override and override.config is not None:
        config, fields = read_json(override.config)
        where = dict[str, Place]()
        given = "max_batch_size" in fields or "maxBatchSize" in fields
    else:
        text = directory.config_text()
        config, where = parse(text), places(text)
        given = "max_batch_size" in where
    if not rules.auto_complete and not override and directory.config_path is None:
        # Triton's words: without auto-complete it insists on reading the file.
        path = directory.path / CONFIG_NAME
        message = f"failed to open text file for read {path}: No such file or directory"
        raise ConfigInvalid(message, (Problem("ConfigInvalid", message),))
    normalise(config, directory, rules.machine)
    found = check_configuration(config, where)
    if not rules.auto_complete:
        found += check_tensors_and_batches(config, where)
    ensemble = is_ensemble(config) or config.platform == ENSEMBLE
    _refuse(found, EnsembleInvalid if ensemble else ConfigInvalid)
    return ModelPlan(directory, config, where, given, namespace)


def check_plan(plan: ModelPlan, rules: LoadingRules) -> None:
    """Whether a model may bring what it brings, and names files of its own only. Reads files.

    Raises LoadFailed for code that is not allowed, ConfigInvalid.
    """
    check_code(plan.directory, plan.config, rules.code)
    _refuse(check_named_files(plan.config, plan.places, contained=rules.code.limited))


class ComposedModel:
    """What is loaded of an ensemble: nothing, its composing models are loaded on their own."""

    graph: ModelGraph | None = None
    instances: Sequence[Instance | RequestInstance] = ()
    inline: Instance | None = None

    def close(self) -> None:
        """There is nothing to give back."""


def load_version(plan: ModelPlan, version: int, rules: LoadingRules, attempt: Attempt) -> Blueprint:
    """Load one version and complete the configuration with what its graph says."""
    started = time.monotonic()
    check_plan(plan, rules)
    config = type(plan.config)()
    config.CopyFrom(plan.config)
    if is_ensemble(config):
        loaded: LoadedModel = ComposedModel()
    else:
        _check_backend(config, rules)
        check_instances(plan, rules)
        rules.log_settings(config.backend)
        spec = _load_spec(config, plan, version, rules, attempt)
        chosen = _backend(spec)
        if isinstance(chosen, SelfCompleting):
            if rules.auto_complete:
                chosen.auto_complete(spec)
                fill_scheduling(config)
            _refuse(check_model(config, plan.places))
        _check_capabilities(chosen, config, spec)
        loaded = chosen.load(spec)
    try:
        check_gpu_memory(config, rules)
        if rules.auto_complete and loaded.graph is not None:
            complete(
                config,
                loaded.graph,
                max_batch_given=plan.max_batch_given,
                default_max_batch_size=rules.default_max_batch_size(config.backend),
            )
        _refuse(check_model(config, plan.places))
        labels = read_labels(config, plan.directory.path)
        signature = signature_of(config, labels)
        if loaded.graph is not None:
            _check_against(config, loaded.graph, plan.places)
            signature = signature_of(config, labels, scalars(config, loaded.graph))
        sequence = sequence_config(config, plan.directory.path)
        own_policy(config.parameters)
        wants_front_ends(config.parameters)
        if rules.limiter is not None:
            rules.limiter.check(places_of(config))
        warm_up(config, signature, loaded, plan.directory.path)
    except BaseException:
        loaded.close()
        raise
    duration = time.monotonic() - started
    return Blueprint(
        config.name, version, config, signature, loaded, duration, sequence, plan.namespace
    )


def _refuse(problems: list[Problem], kind: type[ConfigInvalid] = ConfigInvalid) -> None:
    """Raises ``kind`` with the first error's text, as Triton does, and all the findings."""
    for problem in problems:
        if problem.severity == "error":
            raise kind(described(problem), tuple(problems))


def _check_against(config: Any, graph: ModelGraph, where: dict[str, Place]) -> None:
    try:
        check_sequence_tensors(config, graph)
        check_graph(config, graph)
    except ConfigInvalid as error:
        found = tuple(placed(problem, where) for problem in error.problems)
        raise ConfigInvalid(described(found[0]), found) from None


def check_instances(plan: ModelPlan, rules: LoadingRules) -> None:
    """Raises ConfigInvalid when the instances cannot be placed on this machine."""
    _refuse(check_devices(plan.config, plan.places, rules.machine))


def load_instances(
    plan: ModelPlan,
    serving: Any,
    version: int,
    rules: LoadingRules,
    numbers: Sequence[int],
    attempt: Attempt,
) -> Sequence[Any]:
    """More instances for a version that serves, in those of the plan's places; blocking.

    ``serving`` is its configuration, completed. Raises LoadFailed.
    """
    config = type(serving)()
    config.CopyFrom(serving)
    del config.instance_group[:]
    config.instance_group.extend(plan.config.instance_group)
    if rules.limiter is not None:
        rules.limiter.check(places_of(config))
    spec = _load_spec(config, plan, version, rules, attempt)
    placements = tuple(spec.placements[number] for number in numbers)
    chosen = _backend(spec)
    _check_capabilities(chosen, config, spec)
    loaded = chosen.load(replace(spec, placements=placements))
    try:
        check_gpu_memory(config, rules)
    except BaseException:
        loaded.close()
        raise
    return loaded.instances


def check_gpu_memory(config: Any, rules: LoadingRules) -> None:
    """Raises Unavailable when a GPU that the model is on has more in use than is allowed.

    why after the load: only then is it known how much the model takes.
    """
    if not rules.gpu_limits or rules.gpu_memory is None:
        return
    for place in places_of(config):
        limit = rules.gpu_limits.get(place.device) if place.device is not None else None
        if limit is None or place.device is None:
            continue
        used, total = rules.gpu_memory(place.device)
        if used > total * limit:
            raise Unavailable(
                f"can not create model '{place.name}': memory limit set for GPU {place.device} "
                "has exceeded, model loading is rejected."
            )


def described(problem: Problem) -> str:
    """A finding as one line: Triton's text, then its place, field, value and what was expected."""
    if not problem.line:
        return problem.message
    about = f" {problem.field}" if problem.field else ""
    detail = f": {problem.detail}" if problem.detail else ""
    return f"{problem.message} ({CONFIG_NAME}:{problem.line}:{problem.column}{about}{detail})"


def _backend(spec: LoadSpec) -> Backend:
    return backend("python" if spec.shared_code is not None else spec.config.backend)


def _check_backend(config: Any, rules: LoadingRules) -> None:
    if config.backend not in SERVED:
        rules.code.demand(PYTHON, config.name, CONFIG_NAME, f"asks for backend {config.backend}")
    unknown = unsupported_backend(config, shared_backends(rules.backend_directory))
    if unknown is not None:
        raise LoadFailed(unknown.message, unknown)


def _check_capabilities(chosen: Backend, config: Any, spec: LoadSpec) -> None:
    check_capabilities(config, capabilities_of(chosen), (place.gpu for place in spec.placements))


def _load_spec(
    config: Any, plan: ModelPlan, version: int, rules: LoadingRules, attempt: Attempt
) -> LoadSpec:
    return LoadSpec(
        name=config.name,
        version=version,
        path=plan.directory.version_path(version),
        filename=config.default_model_filename,
        parameters={key: value.string_value for key, value in config.parameters.items()},
        placements=tuple(Placement(place.name, place.device) for place in places_of(config)),
        cores=rules.machine.cores,
        graph_level=config.optimization.graph.level,
        backend_settings=rules.settings(config.backend),
        config=config,
        host=rules.host,
        max_batch_given=plan.max_batch_given,
        default_max_batch_size=rules.default_max_batch_size(config.backend),
        shared_code=_shared_code(config.backend, rules),
        attempt=attempt,
        code=rules.code,
    )


def _shared_code(name: str, rules: LoadingRules) -> Path | None:
    """What is built in comes first: nobody replaces it by accident."""
    return None if name in SERVED else shared_backends(rules.backend_directory).get(name)
