"""Parameters that make a backend load code, or read and write files: by the backend's own name.

A key that no backend reads does nothing and is no code. What a backend of ours hands on to a
library as it is goes by an allowlist: keys that are not in it wait.
"""

from collections.abc import Mapping
from typing import Final

from worker_runtime.types.code import ENVIRONMENT, FILES, LIBRARY, UNKNOWN

HARMLESS: Final = ""
EXECUTION_ENV: Final = "EXECUTION_ENV_PATH"
# By backend: what it reads of `parameters`. A test compares this with the backends' own code.
READ: Final[Mapping[str, frozenset[str]]] = {
    "onnxruntime": frozenset(
        {
            "intra_op_thread_count", "inter_op_thread_count", "execution_mode", "enable_mem_arena",
            "enable_mem_pattern", "share_session_between_instances", "arena_extend_strategy",
            "memory.enable_memory_arena_shrinkage", "cudnn_conv_algo_search", "gpu_mem_limit",
            "do_copy_in_default_stream",
        }
    ),
    "openvino": frozenset(
        {
            "TARGET_DEVICE", "INFERENCE_NUM_THREADS", "COMPILATION_NUM_THREADS", "HINT_BF16",
            "PERFORMANCE_HINT", "NUM_STREAMS", "CPU_EXTENSION_PATH", "SKIP_OV_DYNAMIC_BATCHSIZE",
            "ENABLE_BATCH_PADDING", "RESHAPE_IO_LAYERS",
        }
    ),
    "tensorflow": frozenset(
        {"TF_NUM_INTRA_THREADS", "TF_NUM_INTER_THREADS", "TF_GRAPH_TAG", "TF_SIGNATURE_DEF"}
    ),
    "pytorch": frozenset(
        {
            "INFERENCE_MODE", "DISABLE_OPTIMIZED_EXECUTION", "ENABLE_WEIGHT_SHARING",
            "ENABLE_CACHE_CLEANING", "DISABLE_CUDNN", "INTRA_OP_THREAD_COUNT",
            "INTER_OP_THREAD_COUNT", "ENABLE_JIT_EXECUTOR", "ENABLE_JIT_PROFILING",
        }
    ),
    "fil": frozenset(
        {
            "model_type", "output_class", "is_classifier", "predict_proba", "threshold",
            "xgboost_allow_unknown_field", "cpu_nthread", "algo", "threads_per_tree", "layout",
            "chunk_size", "storage_type", "blocks_per_sm",
        }
    ),
    "python": frozenset(
        {
            EXECUTION_ENV, "EXECUTE_TIMEOUT_SECONDS", "MEMORY_LIMIT_MB", "SHARED_MEMORY_LIMIT_MB",
            "FORCE_CPU_ONLY_INPUT_TENSORS",
            "stub-timeout-seconds",
        }
    ),
    "tensorrt": frozenset(),
    "identity": frozenset(
        {
            "execute_delay_ms", "delay_ms", "instance_wise_delay_multiplier", "creation_delay_sec",
            "fail",
        }
    ),
    "square": frozenset(
        {
            "CUSTOM_INFER_DELAY_NS", "CUSTOM_OUTPUT_DELAY_NS", "CUSTOM_FAIL_COUNT",
            "CUSTOM_EMPTY_COUNT",
        }
    ),
    "repeat": frozenset(),
}  # fmt: skip
# What of the above, of any backend, is more than a number or a switch.
KINDS: Final[Mapping[str, str]] = {EXECUTION_ENV: ENVIRONMENT, "CPU_EXTENSION_PATH": LIBRARY}

_SESSION: Final = "session."
# ONNX Runtime's own entries, which its backend hands on; all that end in numbers, flags or names.
_SESSION_ENTRIES: Final = frozenset(
    {
        "session.disable_prepacking", "session.use_env_allocators", "session.load_model_format",
        "session.set_denormal_as_zero", "session.disable_quant_qdq",
        "session.qdq_matmulnbits_accuracy_level", "session.disable_double_qdq_remover",
        "session.enable_quant_qdq_cleanup", "session.disable_aot_function_inlining",
        "session.use_device_allocator_for_initializers", "session.inter_op.allow_spinning",
        "session.intra_op.allow_spinning", "session.intra_op_thread_affinities",
        "session.dynamic_block_base", "session.force_spinning_stop", "session.qdqisint8allowed",
        "session.x64quantprecision", "session.strict_shape_type_inference",
        "session.allow_released_opsets_only", "session.disable_cpu_ep_fallback",
        "session.use_ort_model_bytes_directly", "session.use_ort_model_bytes_for_initializers",
        "session.save_model_format", "session.disable_specified_optimizers",
        "session.enable_gelu_approximation", "session.disable_cast_chain_elimination",
    }
)  # fmt: skip
_TENSORRT_FILES: Final = frozenset(
    {
        "int8_calibration_table_name", "trt_engine_cache_path", "trt_engine_cache_prefix",
        "trt_timing_cache_path", "trt_ep_context_file_path", "trt_dump_subgraphs",
        "trt_dump_ep_context_model",
    }
)  # fmt: skip
_TENSORRT: Final = frozenset(
    {
        "precision_mode", "max_workspace_size_bytes", "int8_use_native_calibration_table",
        "trt_max_partition_iterations", "trt_min_subgraph_size", "trt_dla_core",
        "trt_builder_optimization_level", "trt_auxiliary_streams", "trt_ep_context_embed_mode",
        "trt_dla_enable", "trt_engine_cache_enable", "trt_force_sequential_engine_build",
        "trt_context_memory_sharing_enable", "trt_layer_norm_fp32_fallback",
        "trt_timing_cache_enable", "trt_force_timing_cache", "trt_detailed_build_log",
        "trt_build_heuristics_enable", "trt_sparsity_enable", "trt_cuda_graph_enable",
        "trt_tactic_sources", "trt_profile_min_shapes", "trt_profile_max_shapes",
        "trt_profile_opt_shapes",
    }
)  # fmt: skip
_CUDA: Final = frozenset(
    {
        "device_id", "gpu_mem_limit", "arena_extend_strategy", "cudnn_conv_algo_search",
        "do_copy_in_default_stream", "cudnn_conv_use_max_workspace", "cudnn_conv1d_pad_to_nc1d",
        "enable_cuda_graph", "use_tf32", "prefer_nhwc", "use_ep_level_unified_stream",
        "fuse_conv_bias", "sdpa_kernel", "tunable_op_enable", "tunable_op_tuning_enable",
        "tunable_op_max_tuning_duration_ms", "enable_skip_layer_norm_strict_mode",
    }
)  # fmt: skip
_OPENVINO: Final = frozenset(
    {
        "device_type", "device_id", "precision", "num_of_threads", "num_streams", "model_priority",
        "enable_opencl_throttling", "enable_qdq_optimizer", "disable_dynamic_shapes", "layout",
        "reshape_input",
    }
)  # fmt: skip
_ACCELERATORS: Final[Mapping[str, Mapping[str, str]]] = {
    "tensorrt": {
        **dict.fromkeys(_TENSORRT, HARMLESS),
        **dict.fromkeys(_TENSORRT_FILES, FILES),
        "trt_extra_plugin_lib_paths": LIBRARY,
    },
    "cuda": {
        **dict.fromkeys(_CUDA, HARMLESS),
        # addresses of functions and streams in the process, as numbers
        **dict.fromkeys(
            (
                "gpu_external_alloc", "gpu_external_free", "gpu_external_empty_cache",
                "user_compute_stream", "has_user_compute_stream",
            ),
            LIBRARY,
        ),
    },
    "openvino": {
        **dict.fromkeys(_OPENVINO, HARMLESS),
        **dict.fromkeys(("cache_dir", "load_config"), FILES),
    },
}  # fmt: skip


def parameter_kind(key: str, value: str) -> str:
    """Of an entry of ``parameters``, whatever backend it is for; "" for what runs nothing."""
    if key in KINDS:
        return KINDS[key] if value else HARMLESS
    if key.startswith(_SESSION) and key not in _SESSION_ENTRIES:
        return FILES if "file" in key or "path" in key or "folder" in key else UNKNOWN
    return HARMLESS


def accelerator_kind(accelerator: str, key: str) -> str:
    """Of a parameter of an execution accelerator; accelerators that are not known here wait."""
    return _ACCELERATORS.get(accelerator, {}).get(key, UNKNOWN)
