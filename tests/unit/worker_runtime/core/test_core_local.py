"""Arrays of programs inside the process, as the wire would name them."""

import ml_dtypes
import numpy as np
import pytest

from worker_runtime.core.local import typed
from worker_runtime.errors import InvalidArgument


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
