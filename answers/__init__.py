"""What models answered, and how two answers differ: shared by the client and the control plane."""

from answers.comparing import Difference, Tolerance, differences
from answers.tensors import Array, answer, array, arrays, request

__all__ = [
    "Array",
    "Difference",
    "Tolerance",
    "answer",
    "array",
    "arrays",
    "differences",
    "request",
]
