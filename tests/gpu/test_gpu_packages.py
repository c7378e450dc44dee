"""AOTInductor packages, compiled on this machine for the card that is here."""

import os
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_regions import floats, region
from tests.support.gpu_server import Server, given, let_go, side_by_side

BATCH, SEED = 16, 61
TENSORS = (f"ARGS[0]:FP32:{gm.WIDTH}", f"RESULT[0]:FP32:{gm.WIDTH}")
QUEUE = "dynamic_batching { max_queue_delay_microseconds: 500 }\n"
COMPILE_S = 120
# A process of its own: the compiler leaves threads and much memory behind.
COMPILE = f"""
import faulthandler, sys
faulthandler.dump_traceback_later({COMPILE_S - 10})
import torch
from tests.support import gpu_models as gm

module = gm.torch_product({SEED}).eval().cuda()
rows = torch.export.Dim("rows", min=1, max={BATCH})
example = (torch.zeros(2, gm.WIDTH, device="cuda"),)
program = torch.export.export(module, example, dynamic_shapes={{"x": {{0: rows}}}})
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
"""


@pytest.fixture(scope="module")
def package(shared: Server, card: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of the model, loaded twice on the card."""
    pytest.importorskip("torch")
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler, and AOTInductor needs one")
    folder = shared.root / "package" / "1"
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", COMPILE, str(folder / "model.pt2")]
    # why in one process: what the compiler starts beside it outlives it
    variables = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    said = tmp_path_factory.mktemp("compile") / "log"
    with said.open("w") as log:
        made = subprocess.Popen(command, stdout=log, stderr=log, env=variables)
        try:
            made.wait(COMPILE_S)
        except subprocess.TimeoutExpired:
            made.kill()
            made.wait()
    assert made.returncode == 0, said.read_text()[-3000:]
    text = gm.config("pytorch", Device("cuda"), *TENSORS, count=2, batch=BATCH, extra=QUEUE)
    (folder.parent / "config.pbtxt").write_text(text)
    shared.load("package")
    return "package"


def test_packages_answer_batches_of_every_size(server: Server, package: str, figures: Any) -> None:
    factor = gm.weights(SEED)

    def ask(part: int) -> int:
        wrong = 0
        with server.over_grpc() as client:
            for turn in range(20):
                for rows in range(1, 10):
                    array = gm.rows_of(10_000 * part + 10 * turn + rows, rows)
                    tensors = given(over_grpc, **{"ARGS[0]": array})
                    answer = client.infer(package, tensors, client_timeout=30)
                    wrong += not np.array_equal(answer.as_numpy("RESULT[0]"), array @ factor)
        return wrong

    wrong = sum(side_by_side(8, ask))
    figures(answers=8 * 20 * 9, wrong=wrong)
    assert wrong == 0


def test_packages_take_and_give_regions(server: Server, device: Device, package: str) -> None:
    rows, size = 5, 5 * gm.WIDTH * 4
    found = region(device, 2 * size)
    with server.over_grpc() as client:
        client.register_cuda_shared_memory("package", found.handle, 0, found.size)
        for turn in range(5):
            array = gm.rows_of(turn, rows)
            found.write(0, array.tobytes())
            tensor = over_grpc.InferInput("ARGS[0]", [rows, gm.WIDTH], "FP32")
            tensor.set_shared_memory("package", size)
            wanted = over_grpc.InferRequestedOutput("RESULT[0]")
            wanted.set_shared_memory("package", size, size)
            client.infer(package, [tensor], outputs=[wanted])
            answer = floats(found, size, rows, gm.WIDTH)
            np.testing.assert_array_equal(answer, array @ gm.weights(SEED))
    let_go(server)
    found.close()
