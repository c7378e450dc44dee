"""Execution providers by ``optimization.execution_accelerators`` and parameters, as in Triton.

Pure: what a configuration asks for, as ONNX Runtime takes it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from worker_runtime.backends.configuration import as_flag, as_integer, bad_value

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
OPENVINO = "OpenVINOExecutionProvider"
# The wheel of ONNX Runtime that has a provider; only one of them can be installed.
WHEELS = {CUDA: "onnxruntime-gpu", TENSORRT: "onnxruntime-gpu", OPENVINO: "onnxruntime-openvino"}
Provider = tuple[str, dict[str, str]]

_ACCELERATORS = "optimization.execution_accelerators"
_PRECISIONS = {"FP32": "", "FP16": "trt_fp16_enable", "BF16": "trt_bf16_enable"}
_PRECISIONS["INT8"] = "trt_int8_enable"


def _text(value: str) -> None:
    """Any text will do."""


_NUMBER: Callable[[str], Any] = as_integer
_FLAG: Callable[[str], Any] = as_flag
# By Triton's key: ONNX Runtime's, and what the value must be.
_TENSORRT: dict[str, tuple[str, Callable[[str], Any]]] = {
    "max_workspace_size_bytes": ("trt_max_workspace_size", _NUMBER),
    "int8_calibration_table_name": ("trt_int8_calibration_table_name", _text),
    "int8_use_native_calibration_table": ("trt_int8_use_native_calibration_table", _FLAG),
    **{
        key: (key, _NUMBER)
        for key in (
            "trt_max_partition_iterations",
            "trt_min_subgraph_size",
            "trt_dla_core",
            "trt_builder_optimization_level",
            "trt_auxiliary_streams",
            "trt_ep_context_embed_mode",
        )
    },
    **{
        key: (key, _FLAG)
        for key in (
            "trt_dla_enable",
            "trt_engine_cache_enable",
            "trt_dump_subgraphs",
            "trt_force_sequential_engine_build",
            "trt_context_memory_sharing_enable",
            "trt_layer_norm_fp32_fallback",
            "trt_timing_cache_enable",
            "trt_force_timing_cache",
            "trt_detailed_build_log",
            "trt_build_heuristics_enable",
            "trt_sparsity_enable",
            "trt_cuda_graph_enable",
            "trt_dump_ep_context_model",
        )
    },
    **{
        key: (key, _text)
        for key in (
            "trt_engine_cache_path",
            "trt_engine_cache_prefix",
            "trt_timing_cache_path",
            "trt_tactic_sources",
            "trt_extra_plugin_lib_paths",
            "trt_profile_min_shapes",
            "trt_profile_max_shapes",
            "trt_profile_opt_shapes",
            "trt_ep_context_file_path",
        )
    },
}
_CUDA_FLAGS = {"do_copy_in_default_stream", "use_ep_level_unified_stream", "enable_cuda_graph"}
_GRAPH_SWITCHES = ((CUDA, "enable_cuda_graph"), (TENSORRT, "trt_cuda_graph_enable"))
_SEARCHES = ("EXHAUSTIVE", "HEURISTIC", "DEFAULT")
_STRATEGIES = ("kNextPowerOfTwo", "kSameAsRequested")


def providers_of(config: Any, parameters: Mapping[str, str], gpu: int | None) -> list[Provider]:
    """The providers for one instance, the preferred one first. Raises ConfigInvalid."""
    accelerators = config.optimization.execution_accelerators if config is not None else None
    found: list[Provider] = []
    if gpu is not None:
        cuda: dict[str, str] = {}
        for wanted in accelerators.gpu_execution_accelerator if accelerators is not None else ():
            if wanted.name == "tensorrt":
                found.append((TENSORRT, _tensorrt(wanted.parameters) | {"device_id": str(gpu)}))
            elif wanted.name == "cuda":
                cuda |= _cuda(wanted.parameters)
            else:
                raise _unknown(wanted.name)
        found.append((CUDA, cuda | _deprecated(parameters) | {"device_id": str(gpu)}))
    for wanted in accelerators.cpu_execution_accelerator if accelerators is not None else ():
        if wanted.name != "openvino":
            raise _unknown(wanted.name)
        found.append((OPENVINO, {"device_type": "CPU"} | dict(wanted.parameters)))
    return [*found, (CPU, {})]


def computing_on(providers: Sequence[Provider], stream: int) -> list[Provider]:
    """The same providers, of which those of NVIDIA's GPUs compute on a given CUDA stream."""
    return [
        (
            name,
            options | {"user_compute_stream": str(stream)} if name in (CUDA, TENSORRT) else options,
        )
        for name, options in providers
    ]


def captures_graphs(providers: Sequence[Provider]) -> bool:
    """Some provider is to capture its work as CUDA graphs."""
    return any(
        options.get(switch) == "1"
        for name, options in providers
        for provider, switch in _GRAPH_SWITCHES
        if name == provider
    )


def _tensorrt(parameters: Mapping[str, str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for key, value in parameters.items():
        if key == "precision_mode":
            if value not in _PRECISIONS:
                raise bad_value(f"unsupported precision mode '{value}' is requested", _ACCELERATORS)
            if _PRECISIONS[value]:
                options[_PRECISIONS[value]] = "1"
            continue
        if key not in _TENSORRT:
            raise bad_value(
                f"unknown parameter '{key}' is provided for TensorRT Execution Accelerator",
                _ACCELERATORS,
            )
        name, check = _TENSORRT[key]
        if value:
            options[name] = _switch(value) if check is _FLAG else value
            check(value)
    return options


def _cuda(parameters: Mapping[str, str]) -> dict[str, str]:
    return {
        key: _switch(value) if key in _CUDA_FLAGS else value
        for key, value in parameters.items()
        if value
    }


def _deprecated(parameters: Mapping[str, str]) -> dict[str, str]:
    """Options of the CUDA provider that were parameters of the model before accelerators."""
    options: dict[str, str] = {}
    for key, choices in (
        ("cudnn_conv_algo_search", _SEARCHES),
        ("arena_extend_strategy", _STRATEGIES),
    ):
        if key in parameters:
            number = as_integer(parameters[key])
            if not 0 <= number < len(choices):
                raise bad_value(f"unsupported {key} value '{number}' is requested")
            options[key] = choices[number]
    if "gpu_mem_limit" in parameters:
        options["gpu_mem_limit"] = parameters["gpu_mem_limit"]
    if "do_copy_in_default_stream" in parameters:
        options["do_copy_in_default_stream"] = _switch(parameters["do_copy_in_default_stream"])
    return options


def _switch(value: str) -> str:
    """ONNX Runtime takes 1 and 0 for every one of its switches. Raises ConfigInvalid."""
    return "1" if as_flag(value) else "0"


def _unknown(name: str) -> Exception:
    return bad_value(f"unknown Execution Accelerator '{name}' is requested", _ACCELERATORS)
