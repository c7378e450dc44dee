"""What the code in PyTorch's files asks for: TorchScript's source, and programs of torch.export."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from worker_runtime.types.code import FILES, PYTHON, UNKNOWN

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
_TARGET: Final = re.compile(
    r"torch\.ops\.(aten|prim|prims|quantized|quantized_decomposed|torchvision|higher_order)"
    r"\.(\w+)(\.\w+)?\Z"
    r"|_operator\.(?!(?:attrgetter|methodcaller|call)\b)\w+\Z|math\.\w+\Z|torch\._?sym_\w+\Z"
    r"|torch\._C\._set_grad_enabled\Z"
)
# Expressions over shapes, which sympy evaluates, and guards, which Python does.
_SYMBOL: Final = re.compile(
    r"Symbol\('[A-Za-z_]\w{0,80}'"
    r"((, )(positive|integer|nonnegative|nonzero|real)=(True|False)){0,5}\)"
)
_CALLED: Final = frozenset(
    {
        "Integer", "Float", "Rational", "Mod", "PythonMod", "Max", "Min", "FloorDiv", "CeilDiv",
        "CleanDiv", "ModularIndexing", "Where", "TruncToInt", "TruncToFloat", "RoundToInt",
        "RoundDecimal", "IntTrueDiv", "FloatTrueDiv", "FloatPow", "PowByNatural", "ToFloat", "Abs",
        "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Equality", "Unequality", "StrictLessThan", "LessThan",
        "StrictGreaterThan", "GreaterThan", "And", "Or", "Not", "Add", "Mul", "Pow", "true",
        "false", "floor", "ceiling", "CeilToInt", "FloorToInt", "evaluate", "False", "True",
    }
)  # fmt: skip
_VARIABLE: Final = re.compile(r"(?:s|u|f|zf|zuf)\d+\Z")
_PLAIN: Final = re.compile(r"[\w\s+\-*/%(),<>=!&|~.]*\Z")
_DEEPEST: Final = 200


def names_file(name: str) -> bool:
    """An operator, also of other packages, that has a file for its argument."""
    return name in FILE_OPERATORS or "file" in name.lower().split("_")


def script_kinds(source: bytes) -> Iterator[Finding]:
    """Operators of TorchScript that read or write files of the node, or reach other processes.

    PyTorch's printer writes its source in one form: no comments, no texts side by side, ``ops`` and
    ``getattr`` never as values. Its compiler takes more, which can hide what is called; that is
    ``unknown``.
    """
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


def exported_kinds(program: bytes) -> Iterator[Finding]:
    """What torch.export's graph names: it is looked up in Python, and expressions are evaluated."""
    try:
        graph = json.loads(program)
    except (ValueError, RecursionError):
        yield UNKNOWN, "holds a torch.export program that cannot be read"
        return
    yield from dict.fromkeys(_walked(graph, 0))


def _walked(value: Any, depth: int) -> Iterator[Finding]:
    if depth > _DEEPEST:
        yield UNKNOWN, "holds a torch.export program of too many levels"
        return
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list):
                yield from _walked(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "target" and isinstance(item, str):
                yield from _target(item)
            elif key == "expr_str" and not _is_expression(item):
                yield PYTHON, "holds a torch.export program with an expression that may run Python"
            elif key == "guards_code" and item:
                yield from _guards(item)
            elif key in ("in_spec", "out_spec") and _imports(item):
                yield PYTHON, "holds a torch.export program whose arguments import Python modules"
            elif key == "as_operator":
                yield from _target(str(item))
            else:
                yield from _walked(item, depth + 1)


def _target(name: str) -> Iterator[Finding]:
    found = _TARGET.match(name)
    if found is None:
        yield PYTHON, f"holds a torch.export program that calls {name[:200]}"
    elif found[2] and names_file(found[2]):
        yield FILES, f"holds a torch.export program that calls {name}, which reads or writes files"


def _imports(spec: Any) -> bool:
    """A structure of arguments with members of enumerations, for which modules are imported."""
    return isinstance(spec, str) and any(mark in spec for mark in ("enum", "fqn", "\\u"))


_GUARD: Final = re.compile(
    r"L\['[A-Za-z_]\w{0,80}'\]|\.(size|stride)\(\)\[\d{1,3}\]|\.(storage_offset|dim)\(\)"
)


def _guards(lines: Any) -> Iterator[Finding]:
    """Conditions about the inputs' shapes, which become a function of Python."""
    for line in lines if isinstance(lines, list) else [lines]:
        if not isinstance(line, str) or not _is_expression(_GUARD.sub(" s0 ", line)):
            yield PYTHON, "holds a torch.export program with a guard that may run Python"


def _is_expression(text: Any) -> bool:
    """Numbers, symbols and the functions of shapes; nothing that leads anywhere else."""
    if not isinstance(text, str) or len(text) > 10_000:
        return False
    plain = _SYMBOL.sub(" s0 ", text)
    if not _PLAIN.match(plain):
        return False
    names = _NAME.findall(plain)
    known = {"and", "or", "not"} | _CALLED
    return all(name in known or _VARIABLE.match(name) for name in names)
