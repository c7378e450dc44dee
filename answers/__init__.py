"""What models answered, and how two answers differ: shared by the client and the control plane."""

from answers.comparing import (
    Difference,
    Distance,
    Tolerance,
    differences,
    distances,
    value_text,
)
from answers.tensors import Array, answer, array, arrays, request

__all__ = [
    "Array",
    "Difference",
    "Distance",
    "Tolerance",
    "answer",
    "array",
    "arrays",
    "differences",
    "distances",
    "request",
    "value_text",
]
