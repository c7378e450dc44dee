"""A device that is lost for the process: CUDA answers nothing any more after a failed assertion."""

import time
from typing import Any

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server, number, wait_until

ROWS = 100
TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
LOOKUP = ("x:FP32:1 index:INT64:1", "y:FP32:1")


def test_the_server_says_that_it_must_be_started_again_or_ends(
    tmp_path_factory: pytest.TempPathFactory, device: Device, card: str, figures: Any
) -> None:
    """An index that a client chose is enough: nothing in the process can be saved then."""
    from tests.support.gpu_modules import Lookup

    server = Server(tmp_path_factory.mktemp("lost"), device)
    server.add(
        "lookup", Lookup(ROWS), gm.config("pytorch", device, "x:FP32:1 index:INT64:1", "y:FP32:1")
    )
    server.add("beside", gm.onnx_product(7), gm.config("onnxruntime", device, *TENSORS, batch=8))
    one, array = np.ones(1, np.float32), gm.rows_of(1, 4)
    assert server.infer("lookup", x=one, index=number(7)).tolist() == [8]
    assert (server.infer("beside", x=array) == array @ gm.weights(7)).all()
    running = server.runtime
    assert running.call("v2/health/live")[0] == 200

    def lives() -> bool:
        try:
            return running.call("v2/health/live")[0] == 200
        except OSError:
            return False  # CUDA's libraries have ended it

    began = time.monotonic()
    with pytest.raises(InferenceServerException):
        server.infer("lookup", x=one, index=number(1 << 40))
    wait_until(lambda: not lives(), "the server to say so, or to end")
    told = time.monotonic() - began
    try:
        assert running.call("v2/models/beside/ready")[0] == 400
    except OSError:  # ended, or ending since it said so
        wait_until(lambda: running.process.poll() is not None, "the process to end")
    else:
        assert "is lost for this process, which must be restarted" in server.log()
    figures(told_s=told, ended=str(running.process.poll()), code=running.stop())
    server.close()
