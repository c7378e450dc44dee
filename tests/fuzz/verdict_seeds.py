"""Uploads as bytes for the target ``verdict``: entries of an archive, one after another.

An entry is a byte for what it is, its path, a line's end, and its content where the path does not
tell all; entries end with ``BETWEEN``.
"""

import gzip
import io
import pickle
import tarfile
import zlib
from collections.abc import Iterator

from tests.support.hostile_uploads import HONEST, HOSTILE
from tests.support.hostile_uploads import contents as corpus

BETWEEN = b"\n--\n"
MOST_ENTRIES = 20
RAW, FOLDER, LINK, HARD_LINK = 0, 1, 2, 3
# Content that is code whatever its file is called, with its kind.
PLANTED: tuple[tuple[bytes, str], ...] = (
    (corpus.ELF, "library"),
    (corpus.AOTI, "library"),
    (corpus.GLOBAL, "pickle"),
    (pickle.dumps(corpus.Runs(), 5), "pickle"),
    (zlib.compress(corpus.padded_pickle()), "pickle"),
    (corpus.archive({"a/data.pkl": corpus.padded_pickle()}), "pickle"),
    (corpus.OBJECTS, "pickle"),
    (corpus.PYC, "python"),
    (b"#!/usr/bin/env python3\n", "python"),
    (corpus.graph_def(corpus.node("PyFunc")), "python"),
    (corpus.tar("bin/python"), "environment"),
    (gzip.compress(corpus.tar("bin/python"), mtime=0), "environment"),
    (corpus.script("return torch.from_file('x')"), "files"),
    (corpus.saved_model(corpus.graph_def(corpus.node("ReadFile"))), "files"),
    (b"#!/bin/sh\ntrue\n", "unknown"),
)
# Content that the names of files make code, and honest models.
MODEL_PY = b"class TritonPythonModel:\n    def execute(self, requests): ...\n"
GIVEN: tuple[bytes, ...] = (b"", b"\1\2\3", corpus.onnx(), corpus.script("pass"), MODEL_PY)
KINDS = 4 + len(PLANTED) + len(GIVEN)


def unpacked(data: bytes) -> Iterator[tuple[int, str, bytes]]:
    """Kind, path and content of each entry; paths are text as tar files have it."""
    for part in data.split(BETWEEN)[:MOST_ENTRIES]:
        path, _, body = part[1:].partition(b"\n")
        if not path:
            continue
        kind = part[0] % KINDS
        if kind >= 4 + len(PLANTED):
            body = GIVEN[kind - 4 - len(PLANTED)]
        elif kind >= 4:
            body = PLANTED[kind - 4][0]
        yield kind, path.decode("utf-8", "surrogateescape"), body


def tarred(data: bytes) -> bytes:
    """The archive that they make."""
    stream = io.BytesIO()
    with tarfile.open(
        fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape"
    ) as archive:
        for kind, path, body in unpacked(data):
            member = tarfile.TarInfo(path)
            if kind == FOLDER:
                member.type = tarfile.DIRTYPE
            elif kind in (LINK, HARD_LINK):
                member.type = tarfile.SYMTYPE if kind == LINK else tarfile.LNKTYPE
                member.linkname = body.decode("utf-8", "surrogateescape")
            else:
                member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return stream.getvalue()


def _packed(*entries: tuple[int, str, bytes]) -> bytes:
    return BETWEEN.join(
        bytes([kind]) + path.encode("utf-8", "surrogateescape") + b"\n"
        + (b"" if kind > HARD_LINK else body)
        for kind, path, body in entries
    )  # fmt: skip


def seeds() -> Iterator[bytes]:
    given = {content: 4 + number for number, (content, _) in enumerate(PLANTED)}
    given |= {content: 4 + len(PLANTED) + number for number, content in enumerate(GIVEN)}
    for upload in (*HOSTILE, *HONEST):
        files = upload.files.items()
        yield _packed(*((given.get(body, RAW), path, body) for path, body in files))
    config = (RAW, "m/config.pbtxt", corpus.SERVED.encode())
    for kind in range(4, KINDS):
        yield _packed((kind, "m/1/w.bin", b""), config)
        yield _packed((kind, "m/labels.txt", b""), (4 + len(PLANTED), "m/1/w", b""), config)
    first = 4 + len(PLANTED)
    onnx, script, python = first + 2, first + 3, first + 4
    yield _packed((onnx, "m/1/model.onnx", b""), (python, "m/2/model.py", b""))
    yield _packed((script, "m/1/model.pt", b""), (4, "m/2/model.pt", b""))
    yield _packed((python, "evil.python/1/model.python", b""))
    yield _packed(
        (FOLDER, "evil.python/1/model.plan", b""), (python, "evil.python/2/model.python", b"")
    )
    yield _packed((onnx, "m/net.onnx", b""), (RAW, "m/1", b"x"))
    yield _packed((RAW, "m/net.xml", b""), (RAW, "m/net.bin", b""), (RAW, "m/model.bin", b""))
    yield _packed((RAW, "m/config.pbtxt/x", b"x"), (RAW, "m/configs/x.pbtxt/y", b"x"))
    yield _packed((LINK, "m/1/model.onnx", b"../../x"), config)
    yield _packed(
        (RAW, "m/1/w", b"x"),
        (RAW, "m/config.pbtxt", b'backend: "identity" #\rruntime: "model.py"\n'),
    )
    yield _packed((RAW, "m/01/w", b"x"), (RAW, "m/1/W", b"x"), (RAW, "m/\u0661/w", b"x"), config)
    yield _packed((RAW, "e\u0301/1/w", b"x"), (RAW, "e\u0301/config.pbtxt", config[2]))
    yield _packed((RAW, "m/1/w\udcff", b"x"), config)
    yield _packed(config, (RAW, "m/configs/x.pbtxt", b'backend: "python"'), (onnx, "m/1/w", b""))
    step = b'platform: "ensemble" input { name: "a" data_type: TYPE_FP32 dims: 1 } output { name: "b" data_type: TYPE_FP32 dims: 1 } ensemble_scheduling { step { model_name: "m" model_version: -1 input_map { key: "INPUT0" value: "a" } output_map { key: "OUTPUT0" value: "b" } } }'  # noqa: E501
    yield _packed((RAW, "m/1/w", b"x"), config, (RAW, "e/config.pbtxt", step))


DICTIONARY = [
    "\n--\n", "m/1/", "/config.pbtxt", "m/configs/x.pbtxt", "model.py", "model.onnx", "model.pt",
    "model.pt2", "model.plan", "model.savedmodel/", "model.python", "evil.python/", "labels.txt",
    "requirements.txt", "backend: ", '"python"', '"identity"', '"py" "thon"', "\\u0070ython",
    'runtime: "model.py"', "EXECUTION_ENV_PATH", "CPU_EXTENSION_PATH", "session.load", "\r", "\x0b",
    "\\x2e\\x2e/", "version_policy { specific { versions: [ 1 ] } }", "version_policy { all { } }",
    "op_library_filename", "default_model_filename", "cc_model_filenames", "model_operations",
    "model_repository_agents { agents { name: ", "execution_accelerators",
]  # fmt: skip
