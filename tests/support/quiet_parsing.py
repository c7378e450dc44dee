"""``ast.parse`` while no garbage is collected.

CPython 3.11 counts how deep a source is parsed in one place of the interpreter: a finalizer that
runs meanwhile and parses something itself, as one does that logs a traceback, makes it fail with
"SystemError: AST constructor recursion depth mismatch"
(https://github.com/python/cpython/issues/106905). Other tests leave such garbage behind.
"""

import ast
import functools
import gc
from typing import Any


def install() -> None:
    """For all of this process: PyTorch and inspect parse sources, too."""
    parse = ast.parse

    @functools.wraps(parse)
    def quietly(*arguments: Any, **more: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return parse(*arguments, **more)
        finally:
            if collects:
                gc.enable()

    ast.parse = quietly
