"""ModelInferRequest to an inference request, outputs to ModelInferResponse."""

from time import monotonic_ns
from typing import Any

import msgspec
import numpy as np
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.classification import classify
from worker_runtime.core.engine import Engine
from worker_runtime.core.model import ModelVersion
from worker_runtime.errors import InvalidArgument
from worker_runtime.types.request import Arrays, InferRequest, Plan, Sink
from worker_runtime.types.strings import parse_strings, string_array, write_strings
from worker_runtime.types.tensor import BY_DTYPE, element_count

EMPTY_FINAL = "triton_enable_empty_final_response"

_CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


class Form(msgspec.Struct):
    """``classes`` by output name; empty when no output is classified."""

    classes: dict[str, int]


def decode(engine: Engine, model: ModelVersion, message: Any, sink: Sink) -> InferRequest:
    """The request in ``message``. Raises InvalidArgument."""
    arrived = monotonic_ns()
    forms = tuple([(i.name, i.datatype, tuple(i.shape)) for i in message.inputs])
    outputs = tuple([output.name for output in message.outputs]) or None
    plan = engine.plan(model, message.id, forms, outputs)
    raw = message.raw_input_contents
    inputs = _raw(model, message, plan, raw) if raw else _typed(model, message)
    if plan.order is not None:
        inputs = [inputs[i] for i in plan.order]
    for i, item in enumerate(plan.inputs):
        if item.byte_size < 0:
            if not isinstance(inputs[i], np.ndarray):
                count = element_count(item.wire_shape)
                inputs[i] = parse_strings(inputs[i], count, item.name, model.name)
        elif len(inputs[i]) != item.byte_size:
            raise InvalidArgument(
                f"input byte size mismatch for input '{item.name}' for model '{model.name}'. "
                f"Expected {item.byte_size}, got {len(inputs[i])}"
            ).for_request(message.id)
    scheduling = _scheduling(message.parameters) if message.parameters else {}
    return InferRequest(
        plan=plan,
        inputs=inputs,
        sink=sink,
        id=message.id,
        arrived_ns=arrived,
        priority=scheduling.get("priority", 0),
        timeout_ns=scheduling.get("timeout", 0) * 1000,
        form=Form(_classes(message)),
    )


def _raw(model: ModelVersion, message: Any, plan: Plan, raw: Any) -> list[Any]:
    for item in message.inputs:
        if item.HasField("contents"):
            raise InvalidArgument(
                f"contents field must not be specified when using raw_input_contents for "
                f"'{item.name}' for model '{model.name}'"
            )
        _refuse_shared_memory(item)
    if len(raw) != len(plan.inputs):
        raise InvalidArgument(
            f"expected {len(plan.inputs)} raw_input_contents, one per input, got {len(raw)} for "
            f"model '{model.name}'"
        )
    return list(raw)


def _typed(model: ModelVersion, message: Any) -> list[Any]:
    inputs: list[Any] = []
    for item in message.inputs:
        _refuse_shared_memory(item)
        if not item.HasField("contents"):
            raise InvalidArgument(f"no data for input '{item.name}' of model '{model.name}'")
        field = _CONTENTS.get(item.datatype)
        if field is None:
            raise InvalidArgument(
                f"{item.datatype} data of input '{item.name}' must be sent in raw_input_contents"
            )
        filled = [descriptor.name for descriptor, _ in item.contents.ListFields()]
        if any(name != field for name in filled):
            raise InvalidArgument(
                f"unexpected content {', '.join(filled)} for input '{item.name}': {item.datatype} "
                f"data belongs in {field}"
            )
        values = getattr(item.contents, field)
        count = element_count(tuple(item.shape))
        if len(values) != count:
            raise InvalidArgument(
                f"unexpected number of elements for input '{item.name}': expected {count}, got "
                f"{len(values)}"
            )
        inputs.append(_array(model, item, values))
    return inputs


def _array(model: ModelVersion, item: Any, values: Any) -> Any:
    if item.datatype == "BYTES":
        return string_array(list(values))
    spec = next(spec for spec in model.signature.inputs if spec.name == item.name)
    try:
        return np.array(values, dtype=spec.datatype.dtype).tobytes()
    except OverflowError as error:
        raise InvalidArgument(f"input '{item.name}': {error}") from error


def _refuse_shared_memory(item: Any) -> None:
    if "shared_memory_region" in item.parameters:
        raise InvalidArgument(f"'{item.name}': shared memory is not available here")


def _scheduling(parameters: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in parameters.items():
        kind = value.WhichOneof("parameter_choice")
        if key.startswith("triton_") and key != EMPTY_FINAL:
            raise InvalidArgument(
                f"parameter keys starting with 'triton_' are reserved for Triton usage: '{key}'"
            )
        if key == "priority":
            if kind not in ("int64_param", "uint64_param") or getattr(value, kind) < 0:
                raise InvalidArgument(
                    "invalid value type for 'priority' parameter, expected uint64_param"
                )
            found[key] = getattr(value, kind)
        elif key == "timeout":
            if kind != "int64_param" or value.int64_param < 0:
                raise InvalidArgument(
                    "invalid value type for 'timeout' parameter, expected int64_param"
                )
            found[key] = value.int64_param
    return found


def _classes(message: Any) -> dict[str, int]:
    classes: dict[str, int] = {}
    for output in message.outputs:
        if not output.parameters:
            continue
        _refuse_shared_memory(output)
        if "classification" in output.parameters:
            count = output.parameters["classification"].int64_param
            if count <= 0:
                raise InvalidArgument(
                    f"invalid value for 'classification' parameter of output '{output.name}', "
                    "expected int64_param > 0"
                )
            classes[output.name] = count
    return classes


def encode(request: InferRequest, outputs: Arrays) -> Any:
    """The answer; always raw contents, one entry per output. Raises InvalidArgument."""
    model: ModelVersion = request.model
    form: Form = request.form
    reply = pb.ModelInferResponse(
        model_name=model.name, model_version=str(model.version), id=request.id
    )
    for name, array in zip(request.plan.outputs, outputs, strict=True):
        count = form.classes.get(name, 0)
        shown = classify(model.signature, name, array, count) if count else array
        datatype = BY_DTYPE[shown.dtype]
        reply.outputs.add(name=name, datatype=datatype.name, shape=shown.shape)
        raw = shown.tobytes() if datatype.item_size else write_strings(shown)
        reply.raw_output_contents.append(raw)
    return reply
