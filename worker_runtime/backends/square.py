"""The decoupled test backend `square`: n answers that say n, where n is what IN says.

Parameters as Triton's: `CUSTOM_INFER_DELAY_NS` and `CUSTOM_OUTPUT_DELAY_NS` make each answer take
time; the last `CUSTOM_EMPTY_COUNT` answers stay empty, and `CUSTOM_FAIL_COUNT` before them fail.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from worker_runtime.backends.base import Array, BackendRequest, BuiltIn, LoadSpec
from worker_runtime.backends.configuration import (
    expect_count,
    expect_dims,
    expect_tensor,
    whole_number,
)
from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.types.request import Response


class Behaviour(Struct, frozen=True):
    infer_delay_s: float
    output_delay_s: float
    fail_count: int
    empty_count: int


class SquareInstance:
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        for request in requests:
            value = request.inputs["IN"]
            if value.ndim == 2 and value.shape[0] != 1:
                error = InvalidArgument("unexpected shape for IN input")
                request.send(Response(error=error), final=True)
                continue
            threading.Thread(target=self._answer, args=(request, value), daemon=True).start()

    def _answer(self, request: BackendRequest, value: Array) -> None:
        way = self._behaviour
        count = int(value.reshape(-1)[0])
        filled = count - way.empty_count
        for number in range(count):
            if request.cancelled:
                break
            started = time.monotonic_ns()
            time.sleep(way.infer_delay_s)
            if number >= filled:
                request.skip(started_ns=started)
                continue
            output = time.monotonic_ns()
            time.sleep(way.output_delay_s)
            if number >= filled - way.fail_count:
                response = Response(error=RuntimeFault("simulated failure"))
            else:
                response = Response(("OUT",), [np.full(value.shape, count, np.int32)])
            request.send(response, final=False, started_ns=started, output_ns=output)
        request.send(None, final=True)


class SquareBackend:
    def load(self, spec: LoadSpec) -> BuiltIn:
        """Raises LoadFailed when the tensors are others than IN and OUT."""
        check(spec.config)
        given = spec.parameters
        behaviour = Behaviour(
            whole_number(given, "CUSTOM_INFER_DELAY_NS") / 1e9,
            whole_number(given, "CUSTOM_OUTPUT_DELAY_NS") / 1e9,
            whole_number(given, "CUSTOM_FAIL_COUNT"),
            whole_number(given, "CUSTOM_EMPTY_COUNT"),
        )
        return BuiltIn([SquareInstance(behaviour) for _ in spec.placements])


def check(config: Any) -> None:
    """Raises LoadFailed."""
    expect_count(config.input, 1, "input")
    expect_count(config.output, 1, "output")
    for place, kind, tensor, name in (
        ("first", "input", config.input[0], "IN"),
        ("first", "output", config.output[0], "OUT"),
    ):
        expect_tensor(place, kind, tensor, name, "INT32")
        expect_dims(tensor, (1,))
