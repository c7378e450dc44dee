"""Hostile uploads whose files are code, by their names or by what is in them."""

import gzip
import pickle
import zlib

from tests.support.hostile_uploads.contents import (
    ELF,
    GLOBAL,
    OBJECTS,
    PYC,
    Runs,
    archive,
    nameless,
    onnx,
    padded_pickle,
    script,
    tar,
)
from tests.support.hostile_uploads.upload import Upload, hostile

FILES: tuple[Upload, ...] = (
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
)
