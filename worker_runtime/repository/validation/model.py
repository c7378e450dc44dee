"""What concerns the model as a whole: name, backend, agents, cache, instances, metrics, warm-up."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.agents import CHECKSUM
from worker_runtime.repository.validation.findings import finding
from worker_runtime.types.backends import ENSEMBLE, family_of_platform, is_family
from worker_runtime.types.instances import Machine
from worker_runtime.types.tensor import BY_NUMBER

_GPU, _CPU, _MODEL = 1, 2, 3
_NAMES = {_CPU: "KIND_CPU", _MODEL: "KIND_MODEL"}
_CAPABILITY = "6.000000"  # what Triton's builds ask of a GPU at least
_TENSORRT = "tensorrt_plan"
_CUSTOMIZABLE = ("nv_inference_first_response_histogram_ms",)
_UNKNOWN = "[request id: <id_unknown>] "  # it is a request that Triton then makes


def check_identity(config: Any) -> Iterator[Problem]:
    """Name, backend and platform; max_batch_size; the keys of parameters."""
    name = config.name
    if not name:
        yield finding("name", "model configuration must specify 'name'")
    if not config.backend and config.platform != ENSEMBLE:
        yield finding(
            "platform",
            f"unexpected platform type '{config.platform}' for {name}",
            got=config.platform,
            expected="backend to be set, or a platform that names one",
        )
    elif config.backend and config.platform == ENSEMBLE:
        yield finding(
            "backend",
            f"Ensemble model '{name}' must have platform type '{ENSEMBLE}' and empty backend type",
            got=config.backend,
            expected="no backend",
        )
    elif is_family(config.backend) and family_of_platform(config.platform) != config.backend:
        yield finding(
            "platform",
            f"unexpected 'platform' and 'backend' pair, got:{config.platform}, {config.backend}",
            got=config.platform,
            expected=f"a platform of backend {config.backend}, or none",
        )
    if config.max_batch_size < 0:
        yield finding(
            "max_batch_size",
            f"'max_batch_size' must be non-negative value for {name}",
            got=config.max_batch_size,
            expected="0 (the model does not batch) or more",
        )
    for key, value in config.parameters.items():
        if not key:
            yield finding(
                "parameters",
                f"a parameter with value '{value.string_value}' has no key: nothing can read it",
                severity="warning",
            )


def check_agents(config: Any) -> Iterator[Problem]:
    """There is only one here, and to ignore one that guards a model would be wrong."""
    for index, agent in enumerate(config.model_repository_agents.agents):
        if agent.name == CHECKSUM:
            continue
        yield finding(
            f"model_repository_agents[0].agents[{index}]",
            f"unable to find 'libtritonrepoagent_{agent.name}.so' for repo agent '{agent.name}', "
            "searched: /opt/tritonserver/repoagents",
            got=agent.name,
            expected=f"{CHECKSUM}: the only repository agent here",
        )


def check_response_cache(config: Any) -> Iterator[Problem]:
    """Decoupled models have no one answer to keep. (Sequences are told with their batching.)"""
    if config.model_transaction_policy.decoupled and config.response_cache.enable:
        yield finding(
            "response_cache",
            f"Response Cache does not currently support model {config.name} with 'decoupled' "
            "transaction policy. Please disable the response cache.",
            got=True,
            expected="enable: false",
        )


def check_groups(config: Any, machine: Machine | None) -> Iterator[Problem]:
    """instance_group, of which kinds and counts are resolved before.

    Without ``machine`` it is not asked which GPUs there are.
    """
    if config.HasField("ensemble_scheduling"):
        return
    for index, group in enumerate(config.instance_group):
        field = f"instance_group[{index}]"
        start = f"instance group {group.name} of model {config.name}"
        if group.kind in _NAMES and group.gpus:
            yield finding(
                f"{field}.gpus",
                f"{start} has kind {_NAMES[group.kind]} but specifies one or more GPUs",
                got=group.gpus,
                expected="no gpus, or kind: KIND_GPU",
            )
        elif group.kind == _GPU and machine is not None:
            yield from _devices(group, start, field, machine)
        if group.profile and config.platform != _TENSORRT:
            # why no blank before specifies: to the letter
            yield finding(
                f"{field}.profile",
                f"{start} and platform {config.platform}specifies profile field which is only "
                "supported for TensorRT models",
            )


def _devices(group: Any, start: str, field: str, machine: Machine) -> Iterator[Problem]:
    if not group.gpus:
        yield finding(
            f"{field}.kind",
            f"{start} has kind KIND_GPU but no GPUs are available",
            got="KIND_GPU",
            expected="KIND_CPU on this machine",
        )
    for gpu in group.gpus:
        if not 0 <= gpu < machine.gpus:
            known = ", ".join(map(str, range(machine.gpus)))
            yield finding(
                f"{field}.gpus",
                f"{start} specifies invalid or unsupported gpu id {gpu}. GPUs with at least the "
                f"minimum required CUDA compute compatibility of {_CAPABILITY} are: {known}",
                got=group.gpus,
                expected=f"some of [{known}]",
            )
            return


def check_metrics(config: Any) -> Iterator[Problem]:
    """model_metrics: metrics that a model wants in another form."""
    for index, control in enumerate(config.model_metrics.metric_control):
        field = f"model_metrics[0].metric_control[{index}]"
        if not control.HasField("metric_identifier"):
            yield finding(field, "metric control must specify 'metric_identifier'")
        elif not control.metric_identifier.family:
            yield finding(
                f"{field}.metric_identifier", "metric identifier must specify non-empty 'family'"
            )
        elif control.metric_identifier.family not in _CUSTOMIZABLE:
            family = control.metric_identifier.family
            yield finding(
                f"{field}.metric_identifier[0].family",
                f"Metric family '{family}' in 'metric_identifier' is not a customizable metric in "
                "Triton core.",
                severity="warning",
                got=family,
                expected=", ".join(_CUSTOMIZABLE),
            )
        if not control.HasField("histogram_options"):
            yield finding(field, "metric control must specify 'histogram_options'")
        elif not control.histogram_options.buckets:
            yield finding(
                f"{field}.histogram_options", "histogram options must specify non-empty 'buckets'"
            )


def check_warmup(config: Any) -> Iterator[Problem]:
    """model_warmup: whether samples can be made; if the model takes them is seen when they run."""
    limit = max(1, config.max_batch_size)
    types = {item.name: item.data_type for item in config.input}
    for index, sample in enumerate(config.model_warmup):
        field = f"model_warmup[{index}]"
        for name, item in sorted(sample.inputs.items()):
            yield from _warmup_input(config, name, item, types, f"{field}.inputs")
        if sample.batch_size > limit:
            group = config.instance_group[0].name if config.instance_group else config.name
            each = f"batch size {sample.batch_size} for '{group}_0', max allowed is {limit}; "
            yield finding(
                f"{field}.batch_size",
                f"failed to run warmup sample '{sample.name}': {each * sample.batch_size}",
                got=sample.batch_size,
                expected=f"at most {limit}",
            )


def _warmup_input(
    config: Any, name: str, item: Any, types: dict[str, int], field: str
) -> Iterator[Problem]:
    if any(dim < 0 for dim in item.dims):
        yield finding(
            field,
            f"warmup setting expects all variable-size dimensions are specified for input '{name}'",
            got=item.dims,
            expected="fixed sizes",
        )
    if not item.WhichOneof("input_data_type"):
        yield finding(
            field,
            f"{_UNKNOWN}warmup setting expects input '{name}' to have input_data_type set",
            expected="zero_data, random_data or input_data_file",
        )
    elif name in types and not item.data_type:
        wanted = BY_NUMBER[types[name]].name if types[name] else "<invalid>"
        yield finding(
            field,
            f"{_UNKNOWN}inference input '{name}' data-type is '<invalid>', but model "
            f"'{config.name}' expects '{wanted}'",
            expected="data_type",
        )
