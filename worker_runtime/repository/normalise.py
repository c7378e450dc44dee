"""Fill what a configuration leaves open before a model is loaded: name, backend, files, groups."""

from typing import Any

from tritonclient.grpc import model_config_pb2

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.layout import ModelDirectory
from worker_runtime.types.formats import (
    ENSEMBLE,
    FORMATS,
    SERVED,
    ModelFormat,
    by_backend,
    by_filename,
    by_platform,
)
from worker_runtime.types.machine import Machine

Group = model_config_pb2.ModelInstanceGroup
_SEQUENCE_IDLE_US = 1_000_000


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
        chosen = available[-(policy.latest.num_versions or 1) :]
    if not chosen:
        raise _invalid(
            "at least one version must be available under the version policy of model "
            f"'{directory.name}' (directories with a whole number as name: "
            f"{', '.join(map(str, available)) or 'none'})",
            field="version_policy",
        )
    return chosen


def normalise(config: Any, directory: ModelDirectory, machine: Machine) -> None:
    """Fill defaults in place, as Triton does before it loads the model. Raises ConfigInvalid."""
    if not config.name:
        config.name = directory.name
    elif config.name != directory.name:
        raise _invalid(
            f"unexpected directory name '{directory.name}' for model '{config.name}', "
            "directory name must equal model name",
            field="name",
        )
    if not config.version_policy.WhichOneof("policy_choice"):
        config.version_policy.latest.num_versions = 1
    _fill_backend(config, directory)
    if not config.default_model_filename and config.platform != ENSEMBLE:
        known = by_platform(config.platform) or by_backend(config.backend)
        config.default_model_filename = known.filename if known else ""
    fill_instance_groups(config, machine)
    if config.HasField("dynamic_batching"):
        _fill_dynamic_batching(config)
    if config.HasField("sequence_batching"):
        _fill_sequence_batching(config)


def _fill_backend(config: Any, directory: ModelDirectory) -> None:
    if config.platform == ENSEMBLE:
        return
    named = by_platform(config.platform) if config.platform else None
    if config.platform and named is None:
        raise _invalid(f"platform '{config.platform}' is not known", field="platform")
    if named and config.backend and named.backend != config.backend:
        raise _invalid(
            f"platform '{config.platform}' belongs to backend '{named.backend}', "
            f"but backend is '{config.backend}'",
            field="backend",
        )
    found = named or by_backend(config.backend) or _detect(config, directory)
    if not config.backend:
        if found is None:
            looked = ", ".join(item.filename for item in FORMATS if item.filename)
            raise _invalid(
                f"model '{directory.name}' has no known model file: looked for {looked} in the "
                "version directory; name the file like that, or set backend and "
                "default_model_filename",
                field="backend",
            )
        config.backend = found.backend
    if not config.platform and found is not None:
        config.platform = found.platform


def unsupported_backend(config: Any) -> Problem | None:
    """The finding when this runtime has no such backend, None when it has."""
    if config.backend in SERVED or config.platform == ENSEMBLE:
        return None
    return Problem(
        "BackendUnsupported",
        f"backend '{config.backend}' of model '{config.name}' is not available here",
        model=config.name,
        field="backend",
        detail="available: " + ", ".join(SERVED),
    )


def _detect(config: Any, directory: ModelDirectory) -> ModelFormat | None:
    if config.default_model_filename:
        return by_filename(config.default_model_filename)
    if directory.versions:
        version = directory.version_path(directory.versions[0])
        for item in FORMATS:
            if item.filename and (version / item.filename).exists():
                return item
    return None


def fill_instance_groups(config: Any, machine: Machine) -> None:
    """Resolve kinds, counts and names. Raises ConfigInvalid for devices that do not exist."""
    if config.HasField("ensemble_scheduling"):
        return
    given = bool(config.instance_group)
    if not given:
        config.instance_group.add()
    for index, group in enumerate(config.instance_group):
        if not group.name:
            group.name = config.name if not given else f"{config.name}_{index}"
        if group.kind == Group.KIND_AUTO:
            usable = machine.gpus > 0 and all(gpu < machine.gpus for gpu in group.gpus)
            group.kind = Group.KIND_GPU if usable else Group.KIND_CPU
        if group.kind == Group.KIND_GPU:
            _check_gpus(config, group, machine)
        elif group.gpus:
            raise _invalid(
                f"instance group '{group.name}' of model '{config.name}' has kind "
                f"{Group.Kind.Name(group.kind)} but specifies gpus",
                field=f"instance_group[{index}].gpus",
            )
        if group.count < 1:
            known = by_backend(config.backend)
            default = known.cpu_instances if known and group.kind == Group.KIND_CPU else 1
            group.count = max(1, min(default, machine.cores))


def _check_gpus(config: Any, group: Any, machine: Machine) -> None:
    if not machine.gpus:
        raise _invalid(
            f"instance group '{group.name}' of model '{config.name}' has kind KIND_GPU but no GPUs "
            "are available",
            field="instance_group",
        )
    if not group.gpus:
        group.gpus.extend(range(machine.gpus))
    bad = [gpu for gpu in group.gpus if not 0 <= gpu < machine.gpus]
    if bad:
        raise _invalid(
            f"instance group '{group.name}' of model '{config.name}' specifies invalid or "
            f"unsupported gpu id {bad[0]}. GPUs available: {list(range(machine.gpus))}",
            field="instance_group",
        )


def _fill_dynamic_batching(config: Any) -> None:
    batching = config.dynamic_batching
    if not batching.preferred_batch_size and config.max_batch_size > 0:
        batching.preferred_batch_size.append(config.max_batch_size)


def _fill_sequence_batching(config: Any) -> None:
    batching = config.sequence_batching
    if not batching.max_sequence_idle_microseconds:
        batching.max_sequence_idle_microseconds = _SEQUENCE_IDLE_US
    if batching.HasField("oldest") and config.max_batch_size > 0:
        oldest = batching.oldest
        if not oldest.preferred_batch_size:
            oldest.preferred_batch_size.append(config.max_batch_size)


def _invalid(message: str, *, field: str) -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
