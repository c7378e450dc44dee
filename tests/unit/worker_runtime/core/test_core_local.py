"""Calls from inside the process: arrays as the wire would name them, and what is counted."""

import time
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from worker_runtime.backends.base import ModelCall
from worker_runtime.core.engine import Engine
from worker_runtime.core.local import counted, typed
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import Cancelled, Internal, InvalidArgument, NotFound
from worker_runtime.types.request import Response


def test_bfloat16_are_their_bits() -> None:
    array = np.array([[1.0, -2.5]], ml_dtypes.bfloat16)
    name, datatype, bits = typed("x", array)
    assert (name, datatype, bits.dtype, bits.shape) == ("x", "BF16", np.dtype("<u2"), (1, 2))
    np.testing.assert_array_equal(bits.view(ml_dtypes.bfloat16), array)


def test_integers_of_that_size_stay_integers() -> None:
    assert typed("x", np.zeros(2, np.uint16))[1] == "UINT16"


def test_types_that_the_wire_does_not_have() -> None:
    with pytest.raises(InvalidArgument, match="numpy type complex128"):
        typed("x", np.zeros(2, complex))


SAID = Response(("y",), [np.zeros(1)])
WRONG = Response(error=Internal("no"))


@pytest.mark.parametrize(
    ("answers", "failed"),
    [
        pytest.param([(SAID, True)], 0, id="answered"),
        pytest.param([(SAID, False), (SAID, False), (None, True)], 0, id="decoupled"),
        pytest.param([(WRONG, True)], 1, id="failed"),
        pytest.param([(WRONG, False), (SAID, False), (WRONG, True)], 1, id="counts once"),
        pytest.param([(Response(error=Cancelled("gone")), True)], 0, id="given up"),
    ],
)
def test_a_call_counts_once_it_has_ended(
    answers: list[tuple[Response | None, bool]], failed: int
) -> None:
    ready = Ready(Statistics())
    told: list[tuple[Response | None, bool]] = []
    call = ModelCall("net", "", (), (), caller=("m", "1"))
    begun_ns = time.monotonic_ns() - 5_000_000
    answer = counted(
        cast(Engine, ready), call, lambda *said: told.append(cast("Any", said)), begun_ns
    )
    assert not ready.statistics.calls
    for said in answers:
        answer(*said)
    assert told == answers
    found = ready.statistics.calls["net"]
    assert (found.count, found.failed) == (1, failed)
    assert 5_000_000 <= found.total_ns < time.monotonic_ns() - begun_ns
    assert abs(found.last_ms / 1000 - time.time()) < 60


@pytest.mark.parametrize("caller", [None, ("other", "1")])
def test_calls_of_nobody_and_of_models_that_are_not_ready_do_not_count(
    caller: tuple[str, str] | None,
) -> None:
    ready = Ready(Statistics())
    call = ModelCall("net", "", (), (), caller=caller)
    told: list[bool] = []
    counted(cast(Engine, ready), call, lambda _, final: told.append(final), 0)(SAID, True)
    assert told == [True]
    assert not ready.statistics.calls


class Ready:
    """An engine that serves version 1 of m."""

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics

    def resolve(self, name: str, version: str) -> "Ready":
        if (name, version) != ("m", "1"):
            raise NotFound(f"no {name}")
        return self
