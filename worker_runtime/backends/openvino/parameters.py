"""The parameters of Triton's OpenVINO backend."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from worker_runtime.backends.configuration import bad_value

EXTENSION = "CPU_EXTENSION_PATH"
_HINTS = {"latency", "throughput", "cumulative_throughput"}


class OpenvinoOptions(Struct, frozen=True):
    """``properties`` are OpenVINO's own, for compiling.

    ``fixed_batch``: the model is made for batches of exactly max_batch_size. ``pad``: smaller ones
    are filled up to that. ``reshape``: the dims of the configuration take the place of the model's.
    """

    device: str
    properties: dict[str, Any]
    extension: str
    fixed_batch: bool
    pad: bool
    reshape: bool


def openvino_options(parameters: Mapping[str, str], instances: int, cores: int) -> OpenvinoOptions:
    """Raises ConfigInvalid, in Triton's words."""
    device = parameters.get("TARGET_DEVICE") or "CPU"
    # why: a CPU that can do BF16 would do it unasked, and its answers differ in the third digit.
    properties: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"} if device == "CPU" else {}
    if device == "CPU":
        properties |= {"INFERENCE_NUM_THREADS": cores, "NUM_STREAMS": str(instances)}
    for key in ("INFERENCE_NUM_THREADS", "COMPILATION_NUM_THREADS"):
        if parameters.get(key):
            properties[key] = _number(key, parameters[key])
    if device == "CPU":
        # why: it is Triton's parameter, but OpenVINO's CPU plugin takes it no more.
        properties.pop("COMPILATION_NUM_THREADS", None)
    if parameters.get("HINT_BF16"):
        if parameters["HINT_BF16"].lower() != "yes":
            raise _unexpected("HINT_BF16", "YES", parameters)
        properties["INFERENCE_PRECISION_HINT"] = "bf16"
    hint = parameters.get("PERFORMANCE_HINT", "").lower()
    if hint:
        if hint not in _HINTS:
            expected = "LATENCY/THROUGHPUT/CUMULATIVE_THROUGHPUT"
            raise _unexpected("PERFORMANCE_HINT", expected, parameters)
        properties["PERFORMANCE_HINT"] = hint.upper()
        properties.pop("NUM_STREAMS", None)  # the hint chooses them
    streams = parameters.get("NUM_STREAMS", "").lower()
    if streams:
        if streams not in ("auto", "numa") and not streams.isdecimal():
            raise _unexpected("NUM_STREAMS", "either AUTO/NUMA/<int_value>", parameters)
        properties["NUM_STREAMS"] = streams.upper()
    return OpenvinoOptions(
        device=device,
        properties=properties,
        extension=parameters.get(EXTENSION, ""),
        fixed_batch=_yes(parameters, "SKIP_OV_DYNAMIC_BATCHSIZE"),
        pad=_yes(parameters, "ENABLE_BATCH_PADDING"),
        reshape=_yes(parameters, "RESHAPE_IO_LAYERS"),
    )


def _yes(parameters: Mapping[str, str], key: str) -> bool:
    return parameters.get(key, "").lower() == "yes"


def _number(key: str, value: str) -> int:
    if not value.isdecimal():
        raise bad_value(
            f"expected the parameter '{key}' to be a non-negative number, got {value.lower()}"
        )
    return int(value)


def _unexpected(key: str, expected: str, parameters: Mapping[str, str]) -> Exception:
    return bad_value(
        f"expected the parameter '{key}' to be {expected}, got {parameters[key].lower()}"
    )
