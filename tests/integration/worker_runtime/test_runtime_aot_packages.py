"""AOTInductor packages (model.pt2): compiled by PyTorch, served, and held against the module."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import tritonclient.http as http_client

from tests.support.runtime_process import runtime
from tests.support.tensors import tensors

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
# A process of its own: the compiler needs much memory, and takes half a minute.
EXPORT = """
import sys, torch
sys.path.insert(0, sys.argv[2])
from network import made

net = made()
batch = torch.export.Dim("batch", min=1, max=64)
example = (torch.zeros(2, 6), torch.zeros(2, 3))
program = torch.export.export(net, example[:1], {"shift": example[1]},
                              dynamic_shapes={"x": {0: batch}, "shift": {0: batch}})
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
"""
NETWORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(6, 3)

    def forward(self, x, *, shift):
        scores = self.layer(x) + shift
        return scores.softmax(dim=1), scores.argmax(dim=1, keepdim=True)

def made():
    return Net().eval()
"""


def test_a_package_is_served_under_tritons_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models" / "compiled" / "1"
    folder.mkdir(parents=True)
    (tmp_path / "network.py").write_text(NETWORK)
    (tmp_path / "export.py").write_text(EXPORT)
    package = folder / "model.pt2"
    command = [sys.executable, str(tmp_path / "export.py"), str(package), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=300, cwd=tmp_path)
    # In an order that is not the module's: only the names tell.
    (folder.parent / "config.pbtxt").write_text(
        'platform: "torch_aoti"\n'
        + tensors("input", ("KWARGS[shift]", "FP32", "-1, 3"), ("ARGS[0]", "FP32", "-1, 6"))
        + tensors("output", ("RESULT[1]", "INT64", "-1, 1"), ("RESULT[0]", "FP32", "-1, 3"))
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from network import made  # type: ignore[import-not-found] # written above

    random = np.random.default_rng(0)
    x, shift = random.random((5, 6), np.float32), random.random((5, 3), np.float32)
    with torch.no_grad():
        scores, best = made()(torch.from_numpy(x), shift=torch.from_numpy(shift))
    given = []
    for name, array in (("ARGS[0]", x), ("KWARGS[shift]", shift)):
        tensor = http_client.InferInput(name, list(array.shape), "FP32")
        tensor.set_data_from_numpy(array)
        given.append(tensor)
    with (
        runtime(tmp_path / "models") as server,
        http_client.InferenceServerClient(server.http) as client,
    ):
        found = client.infer("compiled", given)
    np.testing.assert_allclose(found.as_numpy("RESULT[0]"), scores.numpy(), rtol=1e-5)
    np.testing.assert_array_equal(found.as_numpy("RESULT[1]"), best.numpy())
