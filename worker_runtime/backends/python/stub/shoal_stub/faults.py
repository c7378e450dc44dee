"""What went wrong in a model, in the words that its callers get."""

import os
import traceback
from typing import Any

from .tensors import TritonModelException

_OWN = os.path.dirname(os.path.abspath(__file__))
_IMPORTING = ("_gcd_import", "import_module")


class Misuse(TritonModelException):
    """What a model may not return; told as it is, without a place in its code."""


def missing_execute(file: str) -> Any:
    def execute(_requests: Any) -> None:
        raise Misuse(f"Python model {file} does not implement `execute` method.")

    return execute


def described(error: BaseException) -> str:
    """Type, message and where: the innermost frame first, as Triton writes it."""
    if isinstance(error, Misuse):
        return str(error)
    what = f"{type(error).__name__}: {error}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_OWN) and frame.name not in _IMPORTING
    ]
    if all(frame.filename.startswith("<frozen") for frame in frames):
        return what
    lines = [f"  {frame.filename}({frame.lineno}): {frame.name}" for frame in reversed(frames)]
    return "\n".join([what, "", "At:", *lines, ""])
