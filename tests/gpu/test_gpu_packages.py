"""AOTInductor packages, compiled on this machine for the card that is here."""

import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_products import Product, ask_by_regions, ask_every_size
from tests.support.gpu_regions import Regions
from tests.support.gpu_server import Server

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
def package(shared: Server, card: str, tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Loaded twice on the card."""
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
    return Product("package", SEED, "ARGS[0]", "RESULT[0]")


def test_packages_answer_batches_of_every_size(
    server: Server, package: Product, figures: Any
) -> None:
    ask_every_size(server, package, figures)


def test_packages_take_and_give_regions(server: Server, regions: Regions, package: Product) -> None:
    ask_by_regions(server, package, regions)
