"""What TorchScript's source, as PyTorch's archives hold it, asks for.

PyTorch's printer writes it in one form: no comments, no texts side by side, ``ops`` and ``getattr``
never as values. Its compiler takes more, which can hide what is called; that is ``unknown``.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker_runtime.types.code import FILES, UNKNOWN

Finding = tuple[str, str]
# Operators with the name of a file among their arguments; a test finds those of new versions.
FILE_OPERATORS: Final = frozenset({"from_file", "save", "load_tensor"})
# Classes of C++ that are data: packed weights. Others are stores, sockets, engines, processes.
_CLASSES: Final = frozenset({"quantized", "rnn", "xnnpack", "mkldnn", "profiler"})
# Operators of PyTorch itself; those of other packages may do anything.
_SPACES: Final = frozenset(
    {"prim", "prims", "aten", "quantized", "torchvision", "profiler", "sparse", "mkldnn"}
)
_REMOTE: Final = frozenset({"rpc_async", "rpc_sync", "rpc_remote", "dist_rpc", "dist_c10d", "c10d"})

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_TEXT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+("?)')
# These are for source with a lone quote for each text and with single spaces.
_UNPRINTED: Final = re.compile(
    r"""['#\\]|" ?"|(?<![\w.])ops\b(?! ?(?:\. ?[A-Za-z_]|:))|(?<![\w.])getattr\b(?! ?\()"""
    r"|\b__torch__\b(?: ?\. ?torch\b(?: ?\. ?classes\b)?)?(?! ?\.)"
)
_CLASS: Final = re.compile(r"classes ?\. ?([A-Za-z_]\w*)")
_SPACE: Final = re.compile(r"\bops ?\. ?([A-Za-z_]\w*)")
_PARTS: Final = re.compile(r'getattr ?\(|[()"]')


def names_file(name: str) -> bool:
    """An operator, also of other packages, that has a file for its argument."""
    return name in FILE_OPERATORS or "file" in name.lower().split("_")


def script_kinds(source: bytes) -> Iterator[Finding]:
    """Operators of TorchScript that read or write files of the node, or reach other processes."""
    raw = source.decode("utf-8", "replace")
    found = list(_TEXT.finditer(raw))
    texts = [_ESCAPE.sub(_character, item[0][1:-1]) for item in found]
    code = " ".join(_TEXT.sub('"', raw).split())
    names = set(_NAME.findall(raw)).union(*map(_NAME.findall, texts))
    files = sorted(filter(names_file, names))
    if files:
        yield FILES, f"holds TorchScript that calls {files[0]}, which reads or writes files"
    unknown = sorted(
        (names & _REMOTE)
        | (set(_CLASS.findall(code)) - _CLASSES)
        | (set(_SPACE.findall(code)) - _SPACES)
    )
    if unknown:
        yield UNKNOWN, f"holds TorchScript that uses {unknown[0]}, which is not known to be data"
    elif not all(item[1] for item in found) or _UNPRINTED.search(code) or _named(code, texts):
        yield UNKNOWN, "holds TorchScript in a form that PyTorch does not write"


def _named(code: str, texts: list[str]) -> bool:
    """Something is got by a text that could have stood there as a name."""
    places, inside = iter(texts), 0
    calls: list[bool] = []  # of the parentheses that are open: getattr's are true
    for part in _PARTS.findall(code):
        if part == '"':
            text = next(places)
            if inside and text.isidentifier():
                return True
        elif part == ")":
            inside -= bool(calls) and calls.pop()
        else:
            calls.append(part != "(")
            inside += calls[-1]
    return False


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2]:
        return chr(int(match[2], 8))
    return match[3]
