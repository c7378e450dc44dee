"""model_warmup: samples that can be made. Whether the model takes them is seen when they run."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding
from worker_runtime.types.tensor import BY_NUMBER

_UNKNOWN = "[request id: <id_unknown>] "  # it is a request that Triton then makes


def check_warmup(config: Any) -> Iterator[Problem]:
    limit = max(1, config.max_batch_size)
    types = {item.name: item.data_type for item in config.input}
    for index, sample in enumerate(config.model_warmup):
        field = f"model_warmup[{index}]"
        for name, item in sorted(sample.inputs.items()):
            yield from _input(config, name, item, types, f"{field}.inputs")
        if sample.batch_size > limit:
            group = config.instance_group[0].name if config.instance_group else config.name
            each = f"batch size {sample.batch_size} for '{group}_0', max allowed is {limit}; "
            yield finding(
                f"{field}.batch_size",
                f"failed to run warmup sample '{sample.name}': {each * sample.batch_size}",
                got=sample.batch_size,
                expected=f"at most {limit}",
            )


def _input(
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
