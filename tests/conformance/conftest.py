"""The models that the conformance cases name."""

from collections.abc import Iterator

import pytest

from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime


@pytest.fixture(scope="session")
def conforming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("conformance") / "models"
    om.save(root, "simple", om.add_sub(), "max_batch_size: 8\n")
    om.save(root, "fixed", om.identity(om.FP32, 2, 3))
    om.save(root, "vary", om.identity(om.FP32, "N", 4), "max_batch_size: 0\n")
    om.save(root, "half", om.identity(om.FP16, 2))
    om.save(root, "words", om.identity(om.STRING, 2))
    with runtime(root) as found:
        yield found
