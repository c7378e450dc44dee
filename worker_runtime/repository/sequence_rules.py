"""Whether a model's graph has the tensors that its sequence batching speaks of."""

from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.types.signature import GraphTensor, ModelGraph
from worker_runtime.types.tensor import BY_NAME, BY_NUMBER

_VALUES = (
    ("int32_false_true", "INT32"),
    ("fp32_false_true", "FP32"),
    ("bool_false_true", "BOOL"),
)


def check_sequence_tensors(config: Any, graph: ModelGraph) -> None:
    """Raises ConfigInvalid for a control or state that the graph lacks, or has otherwise."""
    inputs = {tensor.name: tensor for tensor in graph.inputs}
    outputs = {tensor.name: tensor for tensor in graph.outputs}
    batching = config.sequence_batching
    for index, item in enumerate(batching.control_input):
        for control in item.control:
            field = f"sequence_batching[0].control_input[{index}].name"
            _check_control(config, item.name, control, inputs.get(item.name), field)
    for index, state in enumerate(batching.state):
        field = f"sequence_batching[0].state[{index}]"
        for name, known, kind in (
            (state.input_name, inputs, "input"),
            (state.output_name, outputs, "output"),
        ):
            tensor = known.get(name)
            if tensor is None:
                raise _invalid(
                    f"configuration specified sequence state '{name}', but model does not provide "
                    f"that {kind}",
                    f"{field}.{kind}_name",
                )
            _check_type(config, f"sequence state '{name}'", tensor, state.data_type, field)


def _check_control(
    config: Any, name: str, control: Any, tensor: GraphTensor | None, field: str
) -> None:
    if tensor is None:
        raise _invalid(
            f"configuration specified sequence control '{name}', but model does not provide that "
            "input",
            field,
        )
    if tensor.shape is not None:
        dims = list(tensor.dims[1:] if config.max_batch_size > 0 else tensor.dims)
        if len(dims) != 1 or dims[0] not in (1, -1):
            raise _invalid(
                f"unable to load model '{config.name}', sequence control '{name}' in model has "
                f"dims [{','.join(map(str, dims))}] but dims [1] is expected",
                field,
            )
    number = control.data_type
    for values, datatype in _VALUES:
        if len(getattr(control, values)):
            number = BY_NAME[datatype].number
    _check_type(config, f"sequence control '{name}'", tensor, number, field)


def _check_type(config: Any, what: str, tensor: GraphTensor, number: int, field: str) -> None:
    has = BY_NAME.get(tensor.datatype)
    wants = BY_NUMBER.get(number)
    if has is None or wants is None or has.number == wants.number:
        return
    raise _invalid(
        f"unable to load model '{config.name}', {what}, the model expects data-type "
        f"{has.config_name} but the model configuration specifies data-type {wants.config_name}",
        field,
    )


def _invalid(message: str, field: str) -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
