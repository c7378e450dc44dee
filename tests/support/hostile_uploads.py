"""Uploads that try to run code, or to read files, without saying so; and honest ones beside them.

Each hostile one says which kinds must be found. Nothing in them does harm: commands are ``true``.
A finding of a review becomes a case here.
"""

import gzip
import io
import json
import pickle
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.support.onnx_models import FP32, graph, model_bytes, tensor

ELF = b"\x7fELF\x02\x01\x01" + bytes(120)
IDENTITY = (
    'input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] }\n'
    'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] }\n'
)
SERVED = f'backend: "identity"\n{IDENTITY}'
GLOBAL = b"cos\nsystem\n(S'true'\ntR."  # protocol 0: os.system('true')
Files = Mapping[str, bytes]
NOT_APPROVED, NOT_VALID = "CodeNotApproved", "ConfigInvalid"
# Python under a name of data: nothing but the configuration tells that it is run.
HIDDEN = {"1/w.bin": b"class TritonPythonModel:\n    def execute(self, requests): ...\n"}
NAMED = f'default_model_filename: "w.bin"\n{IDENTITY}'


class Runs:
    """A pickle of it names os.system."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        import os

        return os.system, ("true",)


@dataclass(frozen=True)
class Upload:
    """``kinds`` must all be found; ``named``: the field of a file that leads out of the model.

    ``refusal``: with which code somebody who may deploy is refused, on the way from the upload to
    a trial. All but the gate's own are the inspection's: no approval makes such a model run.
    """

    name: str
    files: Files
    kinds: frozenset[str] = field(default_factory=frozenset)
    named: str = ""
    refusal: str = NOT_APPROVED

    def write(self, root: Path) -> Path:
        for path, content in self.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        return root


def hostile(
    name: str,
    kinds: str,
    files: Files | None = None,
    *,
    config: str | None = None,
    refusal: str = NOT_APPROVED,
) -> Upload:
    """One model ``m``, served by the identity backend unless ``config`` says otherwise."""
    versioned = any(path[0].isdigit() for path in files or ())
    inside = {**({} if versioned else {"1/w.bin": b"\1\2\3"}), **(files or {})}
    given = {f"m/{path}": content for path, content in inside.items()}
    given["m/config.pbtxt"] = (SERVED if config is None else config).encode()
    return Upload(name, given, frozenset(kinds.split()), refusal=refusal)


def onnx() -> bytes:
    from onnx import helper

    node = helper.make_node("Identity", ["x"], ["y"])
    return model_bytes(graph([node], [tensor("x", FP32, "n", 2)], [tensor("y", FP32, "n", 2)]))


def archive(entries: Mapping[str, bytes], *, comment: bytes = b"") -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name, content in entries.items():
            made.writestr(name, content)
        made.comment = comment
    return data.getvalue()


def script(code: str, **more: bytes) -> bytes:
    """A TorchScript archive as far as telling goes."""
    entries = {
        "m/data.pkl": pickle.dumps({}, 2),
        "m/code/__torch__.py": code.encode(),
        "m/constants.pkl": pickle.dumps((), 2),
        "m/version": b"3\n",
    }
    return archive(entries | {f"m/{name}": content for name, content in more.items()})


def exported(more: Mapping[str, bytes] | None = None, **program: object) -> bytes:
    """A torch.export archive as far as telling goes."""
    shown = json.dumps({"graph_module": {"graph": program}}).encode()
    return archive({"m/models/model.json": shown, "m/archive_version": b"0", **(more or {})})


def tar(*names: str, mode: str = "w") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode, format=tarfile.GNU_FORMAT) as made:  # type: ignore[call-overload]
        for name in names:
            made.addfile(tarfile.TarInfo(name))
    return data.getvalue()


def blob(number: int, data: bytes) -> bytes:
    """A field of protobuf that holds bytes."""
    length, size = b"", len(data)
    while True:
        length += bytes([(size & 0x7F) | (0x80 if size > 0x7F else 0)])
        size >>= 7
        if not size:
            return bytes([number << 3 | 2]) + length + data


def node(operator: str, name: str = "n", calls: str = "") -> bytes:
    """A NodeDef; ``calls``: the function that an attribute names."""
    made = blob(1, name.encode()) + blob(2, operator.encode())
    if calls:
        made += blob(5, blob(1, b"f") + blob(2, blob(10, blob(1, calls.encode()))))
    return made


def function(name: str, *nodes: bytes) -> bytes:
    return blob(1, blob(1, name.encode())) + b"".join(blob(3, item) for item in nodes)


def graph_def(*nodes: bytes, functions: tuple[bytes, ...] = ()) -> bytes:
    made = b"".join(blob(1, item) for item in nodes)
    return made + (blob(2, b"".join(blob(1, item) for item in functions)) if functions else b"")


def saved_model(graph: bytes) -> bytes:
    return b"\x08\x01" + blob(2, blob(2, graph))


def parameter(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


def accelerator(side: str, name: str, key: str, value: str) -> str:
    return (
        f'optimization {{ execution_accelerators {{ {side}_execution_accelerator {{ name: "{name}" '
        f'parameters {{ key: "{key}" value: "{value}" }} }} }} }}\n'
    )


def padded_pickle() -> bytes:
    return pickle.dumps(Runs(), 2)


def behind(first: bytes) -> bytes:
    """An honest archive of arrays after something else, with places counted from the beginning."""
    data = io.BytesIO(first)
    with zipfile.ZipFile(data, "a") as made:
        made.writestr("a.npy", b"")
    return data.getvalue()


def nameless() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        entry = zipfile.ZipInfo("x")
        entry.filename = entry.orig_filename = ""
        made.writestr(entry, ELF)
    return data.getvalue()


PADDED = b"\x80\x02X" + (100_000).to_bytes(4, "little") + b"x" * 100_000 + b"0" + GLOBAL
AOTI = archive({"m/data/aotinductor/model/w.so": ELF, "m/version": b"1"})
NPY = io.BytesIO()
np.save(NPY, np.array([{}], dtype=object), allow_pickle=True)
OBJECTS = NPY.getvalue()
PYC = (3495).to_bytes(2, "little") + b"\r\n" + bytes(12) + b"\xe3" + bytes(40)
SAVERS = (
    function("__inference__traced_save_1", node("SaveV2")),
    function("__inference__traced_restore_2", node("RestoreV2")),
)

HOSTILE: tuple[Upload, ...] = (
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
    # --- configurations
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
    # --- files by name
    hostile("Python beside a model", "python", {"1/deep/er/a.PY": b""}),
    hostile("a numbered library", "library", {"1/liba.so.1.2": b"x"}),
    hostile("a packed environment", "environment", {"pb_exec_env_model.py.tar.gz": b"x"}),
    hostile("a project", "packages", {"pyproject.toml": b""}),
    hostile("constraints of pip", "packages", {"1/constraints-gpu.txt": b""}),
    # --- files by content
    hostile("a library named labels.txt", "library", {"labels.txt": ELF}),
    hostile(
        "a Windows library",
        "library",
        {"1/w.bin": b"MZ" + bytes(58) + b"\x40\0\0\0PE\0\0" + bytes(40)},
    ),
    hostile("LLVM bitcode", "library", {"1/w.bin": b"BC\xc0\xde" + bytes(40)}),
    hostile("a pickle in ASCII named labels.txt", "pickle", {"labels.txt": GLOBAL}),
    hostile(
        "a pickle that breaks after its call", "pickle", {"1/w.bin": GLOBAL[:-1] + b"\xff\xff"}
    ),
    hostile("a pickle of protocol 5", "pickle", {"1/w.bin": pickle.dumps(Runs(), 5)}),
    hostile("a pickle compressed by zlib", "pickle", {"1/w.bin": zlib.compress(padded_pickle())}),
    hostile(
        "a pickle compressed by zlib behind empty blocks",
        "unknown",
        {"1/w.bin": b"\x78\x9c" + b"\0\0\0\xff\xff" * 2**14 + zlib.compress(padded_pickle())[2:]},
    ),
    hostile("a pickle compressed by gzip", "pickle", {"1/w.bin": gzip.compress(padded_pickle())}),
    hostile("an array of objects", "pickle", {"1/a.npy": OBJECTS}),
    hostile("an archive of arrays of objects", "pickle", {"1/a.npz": archive({"a.npy": OBJECTS})}),
    hostile(
        "an environment named vocab.bin",
        "environment",
        {"vocab.bin": gzip.compress(tar("bin/python"))},
    ),
    hostile(
        "an environment compressed by xz", "environment", {"1/w": tar("bin/python", mode="w:xz")}
    ),
    hostile("a bare tar", "environment", {"1/w.bin": tar("bin/python")}),
    hostile("bytecode named weights", "python", {"1/weights": PYC}),
    hostile(
        "a script of Python named weights", "python", {"1/weights": b"#!/usr/bin/env python3\n"}
    ),
    hostile("a script of a shell", "unknown", {"1/weights": b"#!/bin/sh\ntrue\n"}),
    hostile("a path file", "python", {"1/a.pth": b"import os\n"}),
    hostile("a compressed file", "unknown", {"1/w.bin": b"\x28\xb5\x2f\xfd" + bytes(40)}),
    hostile("a program in a zip", "python unknown", {"1/w.bin": archive({"__main__.py": b""})}),
    # --- archives
    hostile(
        "a pickle behind an ONNX model",
        "pickle unknown",
        {"1/model.onnx": onnx() + archive({"a/data.pkl": padded_pickle()})},
    ),
    hostile(
        "an archive with two ends",
        "unknown",
        {"1/w.bin": archive({"a/data.pkl": b""}, comment=b"PK\5\6" + bytes(18))},
    ),
    hostile(
        "an archive with something before it",
        "unknown",
        {"1/w.bin": b"x" * 30 + archive({"a.npy": b""})},
    ),
    # Python 3.11 trips over it
    hostile(
        "an archive with a file that has no name",
        "unknown",
        {"1/w.bin": nameless()},
    ),
    hostile("an archive that is torn", "unknown", {"1/w.bin": archive({"a/data.pkl": b"x"})[:-30]}),
    hostile(
        "a file of torch.save that calls",
        "pickle",
        {"1/model.pt": archive({"a/data.pkl": padded_pickle()})},
    ),
    hostile(
        "names on the stack of a pickle",
        "pickle",
        {"1/model.pt": archive({"a/data.pkl": pickle.dumps(Runs(), 4)})},
    ),
    hostile(
        "a pickle in an archive in an archive",
        "pickle",
        {"1/model.pt": script("pass", **{"extra/x": archive({"a/data.pkl": padded_pickle()})})},
    ),
    hostile(
        "a library in a TorchScript archive",
        "library",
        {"1/model.pt": script("pass", **{"extra/x": ELF})},
    ),
    hostile("a bomb in an archive", "unknown", {"1/model.pt": script(" " * (65 * 2**20))}),
    # --- PyTorch's programs
    hostile("TorchScript that saves", "files", {"1/model.pt": script('torch.save(x, "/x")')}),
    hostile(
        "TorchScript by another name of a module",
        "files",
        {"1/model.pt": script('t = torch\nt.from_file("x")')},
    ),
    hostile(
        "TorchScript with a name in escapes",
        "files",
        {"1/model.pt": script('getattr(torch, "from\\137file")("x")')},
    ),
    hostile(
        "TorchScript with a name in pieces",
        "unknown",
        {"1/model.pt": script('getattr(torch, "from_fi" "le")("x")')},
    ),
    hostile(
        "TorchScript with another name for getattr",
        "unknown",
        {"1/model.pt": script('g = getattr\ng(ops, "evil").run("x")')},
    ),
    hostile(
        "TorchScript with operators far from where they are",
        "unknown",
        {"1/model.pt": script(f"(ops{' ' * 99}. # .aten\n evil.run(x))")},
    ),
    hostile(
        "TorchScript with a store of files",
        "unknown",
        {"1/model.pt": script("x : __torch__.torch.classes.dist_c10d.FileStore")},
    ),
    hostile(
        "TorchScript of another layout",
        "unknown",
        {"1/model.pt": archive({"x/model.json": b"{}", "y/constants.pkl": pickle.dumps((), 2)})},
    ),
    hostile(
        "torch.export that calls os.system",
        "python",
        {"1/model.pt2": exported(nodes=[{"target": "torch.os.system"}])},
    ),
    hostile(
        "torch.export that makes a caller of methods",
        "python",
        {"1/model.pt2": exported(nodes=[{"target": "_operator.methodcaller"}])},
    ),
    hostile(
        "torch.export that maps a file",
        "files",
        {"1/model.pt2": exported(nodes=[{"target": "torch.ops.aten.from_file.default"}])},
    ),
    hostile(
        "torch.export with an expression that is Python",
        "python",
        {
            "1/model.pt2": exported(
                tensor_values={"x": {"sizes": [{"as_expr": {"expr_str": "__import__('os')"}}]}}
            )
        },
    ),
    hostile(
        "torch.export with a guard that is Python",
        "python",
        {"1/model.pt2": exported(guards_code=["L['x'].size()[0] == open('x').read()"])},
    ),
    # --- TensorFlow's graphs
    hostile(
        "a SavedModel that reads a file",
        "files",
        {"1/model.savedmodel/saved_model.pb": saved_model(graph_def(node("ReadFile")))},
    ),
    *(
        hostile(
            f"a SavedModel with {operator}, which has the name of a file in an attribute",
            "files",
            {"1/model.savedmodel/saved_model.pb": saved_model(graph_def(node(operator)))},
        )
        for operator in (
            "DecodeProtoV2",
            "EncodeProto",
            "FixedUnigramCandidateSampler",
            "GenerateVocabRemapping",
            "InitializeTRTResource",
            "Skipgram",
        )
    ),
    hostile(
        "a SavedModel with a function that writes",
        "files",
        {
            "1/model.savedmodel/saved_model.pb": saved_model(
                graph_def(functions=(function("f", node("WriteFile")),))
            )
        },
    ),
    hostile(
        "a SavedModel whose signature restores",
        "files",
        {
            "1/model.savedmodel/saved_model.pb": saved_model(
                graph_def(
                    functions=(
                        *SAVERS,
                        function(
                            "f", node("PartitionedCall", calls="__inference__traced_restore_2")
                        ),
                    )
                )
            )
        },
    ),
    hostile(
        "a SavedModel that prints to a file",
        "files",
        {"1/model.savedmodel/saved_model.pb": saved_model(graph_def(node("PrintV2")))},
    ),
    hostile(
        "a frozen graph with Python named w.bin", "python", {"1/w.bin": graph_def(node("PyFunc"))}
    ),
    hostile(
        "a frozen graph behind groups",
        "files",
        {"1/w.bin": b"\x7b\x7c" + graph_def(node("WriteFile"))},
    ),
    hostile(
        "a SavedModel as text",
        "unknown",
        {"1/model.savedmodel/saved_model.pbtxt": b"saved_model_schema_version: 1"},
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

HONEST: tuple[Upload, ...] = (
    hostile("ONNX", "", {"1/model.onnx": onnx(), "1/model.onnx.data": np.arange(999.0).tobytes()}),
    hostile("raw tensors", "", {"warmup/x": bytes(1000), "initial_state/y": bytes(range(256)) * 9}),
    hostile("the first byte of a pickle", "", {"1/a": b"\x80", "1/b": zlib.compress(b"\x80")}),
    hostile(
        "labels",
        "",
        {"labels.txt": b"cat\ndog\nRabbit\n(tench\n]x\n", "l2.txt": "чай\n茶\n".encode()},
    ),
    hostile(
        "vocabularies", "", {"vocab.json": b"{}", "merges.txt": b"#version\n", "t.model": bytes(9)}
    ),
    hostile(
        "arrays",
        "",
        {
            "1/a.npy": OBJECTS[:8]
            + b"\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"
            + b" " * 14
            + b"\n1234"
        },
    ),
    hostile(
        "weights of torch.save",
        "",
        {"1/w.pt": archive({"a/data.pkl": pickle.dumps({"a": 1}, 2), "a/data/0": b"1234"})},
    ),
    hostile(
        "TorchScript",
        "",
        {"1/model.pt": script('x = getattr(self.l, "0").forward(y)\nreturn torch.relu(x)')},
    ),
    hostile(
        "torch.export",
        "",
        {
            "1/model.pt2": exported(
                nodes=[{"target": "torch.ops.aten.linear.default"}, {"target": "_operator.add"}],
                sizes=[{"as_expr": {"expr_str": "2*Symbol('s77', positive=True, integer=True)"}}],
                guards_code=["L['x'].size()[0] >= 2"],
            )
        },
    ),
    hostile(
        "a SavedModel",
        "",
        {
            "1/model.savedmodel/saved_model.pb": saved_model(
                graph_def(
                    node("StatefulPartitionedCall", calls="f"),
                    functions=(*SAVERS, function("f", node("MatMul"))),
                )
            )
        },
    ),
    hostile(
        "trees", "", {"1/xgboost.json": b'{"learner": {}}', "1/model.txt": b"tree\nversion=v4\n"}
    ),
    hostile("OpenVINO", "", {"1/model.xml": b"<net/>", "1/model.bin": bytes(64)}),
    hostile(
        "pictures",
        "",
        {"1/a.png": b"\x89PNG\r\n\x1a\n" + bytes(40), "1/b.jpg": b"\xff\xd8\xff\xe0" + bytes(40)},
    ),
    hostile(
        "known parameters",
        "",
        config=SERVED + parameter("intra_op_thread_count", "2") + parameter("note", "/x"),
    ),
)
