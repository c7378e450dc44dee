"""What the programs of torch.export ask for: targets by name, and expressions."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from worker_runtime.files.torchscript import names_file
from worker_runtime.types.code import FILES, PYTHON, UNKNOWN

Finding = tuple[str, str]
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
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
