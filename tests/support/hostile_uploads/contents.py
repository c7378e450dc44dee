"""What uploads are made of: archives, graphs, pickles, texts of configurations."""

import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import numpy as np

from tests.support.onnx_models import FP32, graph, model_bytes, tensor

ELF = b"\x7fELF\x02\x01\x01" + bytes(120)
IDENTITY = (
    'input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] }\n'
    'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] }\n'
)
SERVED = f'backend: "identity"\n{IDENTITY}'
GLOBAL = b"cos\nsystem\n(S'true'\ntR."  # protocol 0: os.system('true')
# Python under a name of data: nothing but the configuration tells that it is run.
HIDDEN = {"1/w.bin": b"class TritonPythonModel:\n    def execute(self, requests): ...\n"}
NAMED = f'default_model_filename: "w.bin"\n{IDENTITY}'


class Runs:
    """A pickle of it names os.system."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        import os

        return os.system, ("true",)


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
