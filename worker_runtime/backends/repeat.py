"""The decoupled test backend `repeat`: one answer for each element of IN.

Before element i it waits DELAY[i] ms; OUT is the element, IDX its number. The instance is free for
the next request after WAIT ms, whether or not all answers are out.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from worker_runtime.backends.base import Array, BackendRequest, BuiltIn, LoadSpec
from worker_runtime.backends.configuration import (
    expect_count,
    expect_dims,
    expect_tensor,
    refuse_unless,
    shown,
)
from worker_runtime.errors import InvalidArgument
from worker_runtime.types.request import Response


class RepeatInstance:
    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        wait_ms = 0
        for request in requests:
            inputs = request.inputs
            values, delays = inputs["IN"], inputs["DELAY"]
            wait_ms = int(inputs["WAIT"][0])
            if values.shape != delays.shape:
                text = (
                    "expected IN and DELAY shape to match, got "
                    f"{shown(values.shape)} and {shown(delays.shape)}"
                )
                request.send(Response(error=InvalidArgument(text)), final=True)
                continue
            threading.Thread(target=_repeat, args=(request, values, delays), daemon=True).start()
        time.sleep(wait_ms / 1000)


def _repeat(request: BackendRequest, values: Array, delays: Array) -> None:
    for number, (value, delay_ms) in enumerate(zip(values, delays, strict=True)):
        time.sleep(int(delay_ms) / 1000)
        if request.cancelled:
            break
        arrays = [np.array([value], np.int32), np.array([number], np.uint32)]
        request.send(Response(("OUT", "IDX"), arrays), final=False)
    request.send(None, final=True)


class RepeatBackend:
    def load(self, spec: LoadSpec) -> BuiltIn:
        """Raises LoadFailed when the tensors are others than IN, DELAY, WAIT, OUT and IDX."""
        check(spec.config)
        return BuiltIn([RepeatInstance() for _ in spec.placements])


def check(config: Any) -> None:
    """Raises LoadFailed."""
    refuse_unless(
        config.max_batch_size == 0,
        "repeat backend only supports models with max_batch_size == 0",
    )
    expect_count(config.input, 3, "input")
    expect_count(config.output, 2, "output")
    values, delay, wait = config.input
    out, index = config.output
    expect_tensor("first", "input", values, "IN", "INT32")
    expect_tensor("second", "input", delay, "DELAY", "UINT32")
    expect_tensor("third", "input", wait, "WAIT", "UINT32")
    expect_tensor("first", "output", out, "OUT", "INT32")
    expect_tensor("second", "output", index, "IDX", "UINT32")
    refuse_unless(
        len(values.dims) == 1,
        f"expected IN shape to have one dimension, got {shown(values.dims)}",
    )
    refuse_unless(
        list(values.dims) == list(delay.dims),
        f"expected IN and DELAY shape to match, got {shown(values.dims)} and {shown(delay.dims)}",
    )
    for tensor in (wait, out, index):
        expect_dims(tensor, (1,))
