"""Honest uploads that look a little like hostile ones."""

import pickle
import zlib

import numpy as np

from tests.support.hostile_uploads.contents import (
    OBJECTS,
    SAVERS,
    SERVED,
    archive,
    exported,
    function,
    graph_def,
    node,
    onnx,
    parameter,
    saved_model,
    script,
)
from tests.support.hostile_uploads.upload import Upload, hostile

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
