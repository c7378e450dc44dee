"""A module as TorchScript, whatever garbage other tests have left behind.

PyTorch parses a module's source with ``ast``. CPython counts how deep that is in one place of the
interpreter (https://github.com/python/cpython/issues/106905): a finalizer that runs meanwhile and
parses something, as one does that logs a traceback, makes it fail with a SystemError.
"""

import gc
from typing import Any

import torch


def scripted(module: torch.nn.Module) -> Any:
    gc.collect()
    gc.disable()
    try:
        script: Any = torch.jit.script
        return script(module)
    finally:
        gc.enable()
