"""Inputs are on the device before the model reads them, whatever else is copied meanwhile."""

from typing import Any

import numpy as np
import pytest
import tritonclient.http as over_http

from tests.support.gpu_device import Device
from tests.support.gpu_models import config
from tests.support.gpu_server import Server, given, side_by_side

COLUMNS = 4096
THREADS = 8
DISTINCT = 3  # inputs of a thread


def test_large_inputs_under_way_at_once_are_each_read_whole(
    server: Server, device: Device, figures: Any
) -> None:
    """64 MB in flight: each answer is what the same module gives on the same device alone."""
    torch = pytest.importorskip("torch")
    from tests.support.gpu_modules import RowSums

    rows, turns = device.pick(512, 32), device.pick(125, 3)
    module = RowSums(COLUMNS).eval()
    text = config("pytorch", device, f"x:FP32:-1,{COLUMNS}", "y:FP32:-1", count=4)
    server.add("streams", module, text)
    reference = module.to(device.name)
    failures: list[str] = []

    def ask(number: int) -> None:
        made = np.random.default_rng(number).integers(0, 256, (DISTINCT, rows, COLUMNS))
        arrays = list(made.astype(np.float32))
        with torch.inference_mode():
            expected = [
                reference(torch.from_numpy(x).to(device.name)).cpu().numpy() for x in arrays
            ]
        inputs = [given(over_http, x=array) for array in arrays]
        with server.over_http() as client:
            for turn in range(turns):
                which = turn % DISTINCT
                answer = client.infer("streams", inputs[which]).as_numpy("y")
                if not np.array_equal(answer, expected[which]):
                    wrong = int((answer != expected[which]).sum())
                    failures.append(f"thread {number}, turn {turn}: {wrong} of {rows} rows")

    side_by_side(THREADS, ask)
    server.unload("streams")
    in_flight = THREADS * rows * COLUMNS * 4 / 1e6
    figures(runs=THREADS * turns, wrong=len(failures), in_flight_mb=in_flight)
    assert not failures
