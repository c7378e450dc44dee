"""model_warmup: samples that can be made. Whether the model takes them is seen when they run."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding


def check_warmup(config: Any) -> Iterator[Problem]:
    for index, sample in enumerate(config.model_warmup):
        field = f"model_warmup[{index}]"
        for name, item in sorted(sample.inputs.items()):
            if any(dim < 0 for dim in item.dims):
                yield finding(
                    f"{field}.inputs",
                    "warmup setting expects all variable-size dimensions are specified for input "
                    f"'{name}'",
                    got=item.dims,
                    expected="fixed sizes",
                )
            if not item.WhichOneof("input_data_type"):
                yield finding(
                    f"{field}.inputs",
                    f"warmup setting expects input '{name}' to have input_data_type set",
                    expected="zero_data, random_data or input_data_file",
                )
