"""Fill what a configuration leaves open before a model is loaded: name, backend, files, groups."""

from collections.abc import Iterable
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.layout import ModelDirectory
from worker_runtime.types.backends import (
    ENSEMBLE,
    FORMATS,
    SERVED,
    ModelFormat,
    by_backend,
    by_filename,
    by_platform,
    third_party,
)
from worker_runtime.types.instances import Machine
from worker_runtime.types.triton_messages import model_config_pb2

Group = model_config_pb2.ModelInstanceGroup
SEQUENCE_IDLE_MICROSECONDS = 1_000_000


def versions_to_serve(config: Any, directory: ModelDirectory) -> tuple[int, ...]:
    """Apply the version policy to what is on disk. Raises ConfigInvalid when nothing remains."""
    available = directory.versions
    policy = config.version_policy
    choice = policy.WhichOneof("policy_choice")
    if choice == "all":
        chosen = available
    elif choice == "specific":
        chosen = tuple(v for v in available if v in set(policy.specific.versions))
    else:
        wanted = policy.latest.num_versions if choice else 1
        chosen = available[max(0, len(available) - wanted) :]
    if not chosen:
        raise _invalid(
            "at least one version must be available under the version policy of model "
            f"'{directory.name}'",
            field="version_policy",
            detail="directories with a whole number as name: "
            + (", ".join(map(str, available)) or "none"),
        )
    return chosen


def normalise(config: Any, directory: ModelDirectory, machine: Machine) -> None:
    """Fill defaults in place, as Triton does before it loads the model.

    Raises ConfigInvalid when the name is not the directory's, or no backend can be told.
    """
    if not config.name or directory.renamed:
        config.name = directory.name
    elif config.name != directory.name:
        raise _invalid(
            f"unexpected directory name '{directory.name}' for model '{config.name}', "
            "directory name must equal model name",
            field="name",
        )
    _fill_backend(config, directory)
    if not config.version_policy.WhichOneof("policy_choice"):
        config.version_policy.latest.num_versions = 1
    fill_scheduling(config)
    if config.HasField("ensemble_scheduling"):
        for step in config.ensemble_scheduling.step:
            step.ClearField("model_namespace")  # the server's own note, as in Triton
        return
    for memory in ("input_pinned_memory", "output_pinned_memory"):
        if not config.optimization.HasField(memory):
            getattr(config.optimization, memory).enable = True
    fill_instance_groups(config, machine)


def fill_scheduling(config: Any) -> None:
    """Defaults of batching; once more after max_batch_size was found out."""
    choice = config.WhichOneof("scheduling_choice")
    if choice == "dynamic_batching":
        _prefer_full_batches(config.dynamic_batching, config.max_batch_size)
    elif choice == "sequence_batching":
        batching = config.sequence_batching
        if not batching.max_sequence_idle_microseconds:
            batching.max_sequence_idle_microseconds = SEQUENCE_IDLE_MICROSECONDS
        if batching.HasField("oldest"):
            _prefer_full_batches(batching.oldest, config.max_batch_size)


def _prefer_full_batches(batching: Any, max_batch_size: int) -> None:
    if not batching.preferred_batch_size and max_batch_size > 0:
        batching.preferred_batch_size.append(max_batch_size)


def _fill_backend(config: Any, directory: ModelDirectory) -> None:
    if config.platform == ENSEMBLE:
        return
    known = _known_format(config, directory)
    if known is not None:
        config.backend = config.backend or known.backend
        config.platform = config.platform or known.platform
        if not config.default_model_filename and config.runtime != "model.py":
            config.default_model_filename = known.filename
    elif not (config.backend or config.platform or config.default_model_filename):
        _name_backend(config, directory)


def _known_format(config: Any, directory: ModelDirectory) -> ModelFormat | None:
    """Told by the backend, else by the platform, the file name, or the files that are there."""
    if config.backend:
        own = [item for item in FORMATS if item.backend == config.backend]
        for item in own:
            if config.platform == item.platform:
                return item
        named = [item for item in own if item.filename == config.default_model_filename]
        there = [item for item in own if _holds(directory, item)]
        return next(iter((*named, *there, *own)), None)
    if config.platform:
        return by_platform(config.platform)
    if config.default_model_filename:
        return by_filename(config.default_model_filename)
    return next((item for item in FORMATS if _holds(directory, item)), None)


def _holds(directory: ModelDirectory, item: ModelFormat) -> bool:
    """The first version directory has such a file."""
    if not item.filename or not directory.versions:
        return False
    return directory.holds(directory.versions[0], item.filename)


def _name_backend(config: Any, directory: ModelDirectory) -> None:
    """A model called ``x.<backend>`` names its backend itself."""
    _, dot, backend = directory.name.partition(".")
    if not dot:
        looked = ", ".join(item.filename for item in FORMATS if item.filename)
        raise _invalid(
            "Invalid model name: Could not determine backend for model "
            f"'{directory.name}' with no backend in model configuration. Expected model name of "
            "the form 'model.<backend_name>'.",
            field="backend",
            detail=f"has no known model file: looked for {looked} in the version directory; name "
            "the file like that, or set backend and default_model_filename",
        )
    config.backend = backend
    config.default_model_filename = f"model.{backend}"


def unsupported_backend(config: Any, shared: Iterable[str] = ()) -> Problem | None:
    """The finding when this runtime has no such backend, None when it has.

    ``shared`` names the backends made of shared Python code.
    """
    if config.platform == ENSEMBLE:
        return None
    if config.runtime not in ("", "model.py", f"libtriton_{config.backend}.so"):
        return Problem(
            "BackendUnsupported",
            f"unable to find backend library '{config.runtime}' for model '{config.name}'",
            model=config.name,
            field="runtime",
            detail=f'got "{config.runtime}"; expected no runtime: backends are built in',
        )
    if config.backend in SERVED:
        return None
    others = (*third_party(), *shared)
    if config.backend in others:
        return None
    return Problem(
        "BackendUnsupported",
        f"unable to find backend library for backend '{config.backend}', try specifying runtime on "
        "the model configuration.",
        model=config.name,
        field="backend",
        detail=f"backend '{config.backend}' is not available here; available: "
        + ", ".join((*SERVED, *others)),
    )


def fill_instance_groups(config: Any, machine: Machine) -> None:
    """Resolve kinds, counts, devices and names. Whether devices exist is checked elsewhere."""
    if config.HasField("ensemble_scheduling"):
        return
    known = by_backend(config.backend)
    given = bool(config.instance_group)
    if not given:
        config.instance_group.add(name=config.name)
    for index, group in enumerate(config.instance_group):
        if not group.name:
            group.name = f"{config.name}_{index}"
        if group.kind == Group.KIND_AUTO:
            usable = machine.gpus > 0 and all(gpu < machine.gpus for gpu in group.gpus)
            if known is not None and not known.gpu:
                usable = False
            group.kind = Group.KIND_GPU if usable else Group.KIND_CPU
        if group.kind == Group.KIND_GPU and not group.gpus:
            group.gpus.extend(range(machine.gpus))
        if group.count < 1:
            default = known.cpu_instances if known and group.kind == Group.KIND_CPU else 1
            group.count = max(1, min(default, machine.cores))


def _invalid(message: str, *, field: str, detail: str = "") -> ConfigInvalid:
    problem = Problem("ConfigInvalid", message, field=field, detail=detail)
    return ConfigInvalid(message, (problem,))
