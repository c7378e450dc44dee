"""One runtime on a repository of small models, shared by the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from onnx import helper

from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime

IDENTITY = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
instance_group { count: 1 kind: KIND_CPU }
"""


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runtime") / "models"
    om.save(root, "simple", om.add_sub(), "max_batch_size: 8\ndynamic_batching {}\n")
    om.save(root, "auto", om.identity(om.FP32, None, "len", source="a/b:0", target="scale_0.tmp_1"))
    om.save(root, "text", om.identity(om.STRING, "N", None))
    om.save(root, "half", om.identity(om.FP16, "N", 4))
    om.save(root, "flags", om.identity(om.BOOL, "N", 4))
    om.save(root, "scalar", om.identity(om.FP32))
    om.save(root, "fixed", om.identity(om.FP32, 2, 3))
    om.save(root, "many", om.add_sub(), "version_policy { all {} }", version=1)
    om.save(root, "many", om.add_sub(), version=3)
    om.save(root, "big", om.identity(om.FP32, "N", 1_000_000))
    wrong = om.graph(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        [om.tensor("x", om.FP32, 4), om.tensor("s", 7, 1)],
        [om.tensor("y", om.FP32, None)],
    )
    om.save(root, "raises", wrong)
    labels = 'max_batch_size: 4\noutput { name: "y" label_filename: "labels.txt" }\n'
    om.save(root, "labelled", om.identity(om.FP32, "N", 3), labels)
    (root / "labelled" / "labels.txt").write_text("cat\ndog\nfish\n")
    for name, extra in (
        ("slow", 'parameters { key: "delay_ms" value { string_value: "300" } }'),
        (
            "bounded",
            'max_batch_size: 1 parameters { key: "delay_ms" value { string_value: "500" } }'
            "dynamic_batching { default_queue_policy { max_queue_size: 1 } }",
        ),
    ):
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(IDENTITY + extra)
    return root


@pytest.fixture(scope="session")
def server(repository: Path) -> Iterator[Runtime]:
    with runtime(repository) as found:
        yield found
