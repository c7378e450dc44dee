"""Hostile uploads that reviews have found."""

from tests.support.hostile_uploads.contents import (
    AOTI,
    ELF,
    GLOBAL,
    HIDDEN,
    NAMED,
    PADDED,
    SERVED,
    accelerator,
    archive,
    behind,
    blob,
    exported,
    graph_def,
    node,
    padded_pickle,
    parameter,
    saved_model,
    script,
    tar,
)
from tests.support.hostile_uploads.upload import NOT_VALID, Upload, hostile

REVIEWS: tuple[Upload, ...] = (
    # --- the review's own proofs
    Upload(
        "a folder that names its backend, and a wheel",
        {
            "evil.python/1/model.python": HIDDEN["1/w.bin"],
            "evil.python/1/requirements.txt": b"./evil-1-py3-none-any.whl\n",
            "evil.python/1/evil-1-py3-none-any.whl": archive({"evil.py": b""}),
        },
        frozenset({"python", "packages"}),
    ),
    hostile(
        "a backend in two pieces around a comment",
        "python",
        HIDDEN,
        config='backend: "py" # c\n "thon"\n' + NAMED,
    ),
    hostile(
        "a backend with a Unicode escape",
        "python",
        HIDDEN,
        config='backend: "\\u0070ython"\n' + NAMED,
    ),
    hostile(
        "an environment whose key is in two pieces",
        "environment",
        config=SERVED
        + 'parameters { key: "EXECUTION_" "ENV_PATH" value { string_value: "1/w.bin" } }\n',
    ),
    hostile("a library named weights.bin", "library", {"1/weights.bin": ELF}),
    hostile(
        "a torch.export file with a pickle of an object",
        "pickle",
        {"1/model.pt2": exported({"m/data/constants/custom_obj_0": padded_pickle()})},
    ),
    hostile(
        "a torch.export file whose samples are pickled",
        "pickle",
        {
            "1/model.pt2": exported(
                {"m/data/sample_inputs/model.pt": archive({"a/data.pkl": padded_pickle()})}
            )
        },
    ),
    hostile(
        "AOTInductor in the second version",
        "library",
        {"1/model.pt": script("pass"), "2/model.pt": AOTI},
    ),
    hostile(
        "AOTInductor in an extra file",
        "library",
        {"1/model.pt": script("pass"), "1/other": AOTI},
        config=SERVED + 'default_model_filename: "other"\n',
    ),
    hostile(
        "an extension of OpenVINO",
        "library",
        config=SERVED + parameter("CPU_EXTENSION_PATH", "w.bin"),
    ),
    hostile(
        "a plugin of TensorRT",
        "library",
        config=SERVED + accelerator("gpu", "tensorrt", "trt_extra_plugin_lib_paths", "w.bin"),
    ),
    hostile(
        "TorchScript that maps a file",
        "files",
        {"1/model.pt": script('return torch.from_file("x")')},
    ),
    Upload(
        "an initial state from elsewhere",
        {
            "m/1/w": b"",
            "m/config.pbtxt": (
                SERVED + 'sequence_batching { state { input_name: "S" output_name: "S" '
                "data_type: TYPE_UINT8 dims: [ 4 ] initial_state { name: 's' data_type: TYPE_UINT8 "
                'dims: [ 4 ] data_file: "../../../secret" } } }\n'
            ).encode(),
        },
        named="data_file",
        refusal=NOT_VALID,
    ),
    Upload(
        "warm-up data from elsewhere",
        {
            "m/1/w": b"",
            "m/config.pbtxt": (
                SERVED + 'model_warmup { name: "w" inputs { key: "INPUT0" value { data_type: '
                'TYPE_FP32 dims: [ 1 ] input_data_file: "../../secret" } } }\n'
            ).encode(),
        },
        named="input_data_file",
        refusal=NOT_VALID,
    ),
    # --- found while the mend was attacked
    hostile("a pickle with 100 KB before its call", "pickle", {"1/w": PADDED}),
    hostile(
        "a tar with arrays behind it", "environment unknown", {"1/w.bin": behind(tar("bin/python"))}
    ),
    hostile("a pickle with arrays behind it", "pickle unknown", {"1/w.bin": behind(GLOBAL)}),
    hostile(
        "TorchScript with an operator of another package",
        "files unknown",
        {"1/model.pt": script("ops.image.read_file('x')")},
    ),
    hostile(
        "torch.export that imports modules",
        "python",
        {"1/model.pt2": exported(in_spec='[1, {"context": {"__enum__": true, "fqn": "os:x"}}]')},
    ),
    hostile(
        "a SavedModel of the first kind that saves when it is asked",
        "files",
        {
            "1/model.savedmodel/saved_model.pb": saved_model(
                graph_def(
                    node("SaveV2", "save/SaveV2"), node("Identity", "y") + blob(3, b"^save/SaveV2")
                )
            )
        },
    ),
    hostile(
        "a SavedModel whose signature is its saver",
        "files",
        {
            "1/model.savedmodel/saved_model.pb": b"\x08\x01"
            + blob(
                2,
                blob(
                    5,
                    blob(1, b"s") + blob(2, blob(2, blob(1, b"y") + blob(2, blob(1, b"save/x:0")))),
                ),
            )
        },
    ),
)
