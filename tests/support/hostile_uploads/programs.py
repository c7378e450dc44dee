"""Hostile uploads whose models are programs: of PyTorch and TensorFlow."""

import pickle

from tests.support.hostile_uploads.contents import (
    SAVERS,
    archive,
    exported,
    function,
    graph_def,
    node,
    saved_model,
    script,
)
from tests.support.hostile_uploads.upload import Upload, hostile

PROGRAMS: tuple[Upload, ...] = (
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
)
