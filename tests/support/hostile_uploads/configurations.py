"""Hostile uploads whose configuration names what is run or read."""

from tests.support.hostile_uploads.contents import (
    HIDDEN,
    IDENTITY,
    NAMED,
    SERVED,
    accelerator,
    parameter,
)
from tests.support.hostile_uploads.upload import NOT_VALID, Upload, hostile

CONFIGURATIONS: tuple[Upload, ...] = (
    hostile(
        "a backend with octal escapes", "python", HIDDEN, config='backend: "p\\171thon"\n' + NAMED
    ),
    hostile(
        "a backend with hexadecimal escapes",
        "python",
        HIDDEN,
        config='backend: "\\x70\\x79thon"\n' + NAMED,
    ),
    hostile(
        "a backend in single quotes", "python", HIDDEN, config="backend: 'py' \"th\" 'on'\n" + NAMED
    ),
    hostile(
        "a backend that is given twice",
        "unknown",
        config='backend: "identity" backend: "python"\n',
        refusal=NOT_VALID,
    ),
    hostile(
        "a backend behind an ensemble's platform",
        "python",
        HIDDEN,
        config='platform: "ensemble" backend: "python"\n' + NAMED,
        refusal=NOT_VALID,
    ),
    hostile("the runtime model.py", "python", config=SERVED + 'runtime: "model.py"\n'),
    hostile(
        "a library as runtime",
        "library",
        config=SERVED + 'runtime: "libevil.so"\n',
        refusal="BackendUnsupported",
    ),
    hostile(
        "a backend that is not built in",
        "python",
        config=f'backend: "vllm"\n{IDENTITY}',
        refusal="BackendUnsupported",
    ),
    hostile(
        "a repository agent",
        "library",
        config=SERVED + 'model_repository_agents { agents { name: "evil" } }\n',
        refusal=NOT_VALID,
    ),
    hostile(
        "operators under a name of data",
        "library",
        config=SERVED + 'model_operations < op_library_filename: ["1/w.bin"] >\n',
    ),
    hostile(
        "an environment whose value stands before its key",
        "environment",
        config=SERVED
        + 'parameters { value { string_value: "1/w.bin" } key: "EXECUTION_ENV_PATH" }\n',
    ),
    hostile(
        "an address of an allocator",
        "library",
        config=SERVED + accelerator("gpu", "cuda", "gpu_external_alloc", "140737488"),
    ),
    hostile(
        "a settings file of OpenVINO",
        "files",
        config=SERVED + accelerator("cpu", "openvino", "load_config", "x.json"),
    ),
    hostile(
        "a parameter of an accelerator that nobody knows",
        "unknown",
        config=SERVED + accelerator("cpu", "openvino", "plugin_dir", "x"),
    ),
    hostile(
        "an accelerator that nobody knows",
        "unknown",
        config=SERVED + accelerator("cpu", "other", "x", "x"),
    ),
    hostile(
        "a session entry that writes a file",
        "files",
        config=SERVED + parameter("session.optimized_model_file_path", "x"),
    ),
    hostile(
        "a session entry that nobody knows",
        "unknown",
        config=SERVED + parameter("session.load_it", "1"),
    ),
    hostile(
        "a model file that is Python",
        "python",
        config=SERVED + 'default_model_filename: "model.py"\n',
    ),
    hostile(
        "a model file by compute capability that is a library",
        "library",
        config=SERVED + 'cc_model_filenames { key: "7.5" value: "x.so" }\n',
    ),
    hostile(
        "a configuration that cannot be parsed", "unknown", config="backend: {", refusal=NOT_VALID
    ),
    hostile(
        "an extension of the text format",
        "unknown",
        config=SERVED + '[a.b]: "python"\n',
        refusal=NOT_VALID,
    ),
    hostile(
        "a configuration beside the usual one", "python", {"configs/x.pbtxt": b'backend: "python"'}
    ),
)
