"""The models that the conformance cases name."""

from collections.abc import Iterator

import pytest

from tests.support import onnx_models as om
from tests.support.http_surface import LIMIT, TYPES, save_config
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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("surface") / "models"
    om.save(root, "addsub", om.add_sub(), "max_batch_size: 8\n")
    om.save(root, "vary", om.identity(om.FP32, "N", "M"), "max_batch_size: 8\n")
    om.save(root, "one", om.identity(om.STRING, 1))
    inputs = "".join(
        f'input {{ name: "INPUT{i}" data_type: TYPE_{kind} dims: -1 optional: true }}\n'
        f'output {{ name: "OUTPUT{i}" data_type: TYPE_{kind} dims: -1 }}\n'
        for i, kind in enumerate(TYPES)
    )
    save_config(root, "mix", f'backend: "identity"\n{inputs}')
    save_config(
        root,
        "slow",
        'backend: "identity"\n'
        'parameters { key: "execute_delay_ms" value { string_value: "700" } }\n'
        'input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }\n'
        'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 }\n',
    )
    save_config(
        root,
        "repeat",
        'backend: "repeat"\nmodel_transaction_policy { decoupled: true }\n'
        'input [{ name: "IN" data_type: TYPE_INT32 dims: -1 },'
        '{ name: "DELAY" data_type: TYPE_UINT32 dims: -1 },'
        '{ name: "WAIT" data_type: TYPE_UINT32 dims: 1 }]\n'
        'output [{ name: "OUT" data_type: TYPE_INT32 dims: 1 },'
        '{ name: "IDX" data_type: TYPE_UINT32 dims: 1 }]\n',
    )
    with runtime(
        root,
        "--model-control-mode=explicit",
        "--load-model=*",
        f"--http-max-input-size={LIMIT}",
        "--http-header-forward-pattern=my-.*",
    ) as found:
        yield found
