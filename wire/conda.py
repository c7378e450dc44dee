"""A conda file's packages in pip's words: what scoring scripts' environments are made of.

Here because both sides do it: the client for files that it has, the control plane for what Azure's
clients send.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_KEYS: Final = frozenset({"name", "channels", "dependencies", "prefix"})
_SPEC = re.compile(r"(?:[\w./-]+::)?(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?P<version>.*)")
_VERSION = re.compile(r"(?P<equals>={0,2})\s*(?P<version>[0-9][0-9A-Za-z.!+_-]*?)(?P<open>\.?\*)?")
_BOUND = re.compile(r"(?:[<>]=?|[!=~]=)[0-9A-Za-z.!+*_-]+")
_LOCAL = re.compile(r"(?:-e|--editable)\b|\.{0,2}/|file:|[A-Za-z]:\\")
_NESTED = re.compile(r"(?:-r|--requirement)[\s=]+(?P<file>\S+)")
# What pip calls otherwise.
_RENAMED: Final = {
    "pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch", "py-xgboost": "xgboost",
    "py-xgboost-cpu": "xgboost", "py-xgboost-gpu": "xgboost", "opencv": "opencv-python-headless",
    "py-opencv": "opencv-python-headless", "msgpack-python": "msgpack",
    "matplotlib-base": "matplotlib", "tensorflow-gpu": "tensorflow", "python-graphviz": "graphviz",
    "pytables": "tables",
}  # fmt: skip
# No packages of Python: what compilers, drivers and other languages are made of.
_NO_PYTHON: Final = re.compile(
    r"(cuda|cudnn|nccl|cutensor|mkl|libgcc|libstdcxx|libblas|liblapack|libgfortran|openmpi|mpich|"
    r"gcc|gxx|clang|cmake|make|openjdk|nodejs|ffmpeg|r|r-.+|cudatoolkit|cuda-.+|gcc_.+|gxx_.+|"
    r"_.+|ca-certificates|openssl|git|libsndfile|poppler|tesseract)"
)
# Azure's inference server, whose work the runtime does.
_SERVER: Final = frozenset({"azureml-defaults", "azureml-inference-server-http"})


@dataclass
class Requirements:
    """``text`` of the list, "" for none; ``notes`` are what people should know of it."""

    text: str = ""
    notes: list[str] = field(default_factory=list)


class Unmappable(ValueError):
    """A part of a conda file that no list for pip can say: which, and what to do instead."""

    def __init__(self, title: str, detail: str, hints: tuple[str, ...] = ()) -> None:
        super().__init__(f"{title}: {detail}")
        self.title, self.detail, self.hints = title, detail, hints


def mapped(conda: dict[str, Any], base: Path | None) -> Requirements:
    """``base``: where lists lie that it names; None: nowhere. Raises Unmappable."""
    unknown = sorted(str(key) for key in conda if key not in _KEYS)
    if unknown:
        raise Unmappable(
            "The conda file says what cannot be mapped",
            f"{', '.join(unknown)}; expected {', '.join(sorted(_KEYS))}",
            ("Variables go into environment_variables of the deployment.",)
            if "variables" in unknown
            else (),
        )
    dependencies = conda.get("dependencies") or []
    for key, given in conda.items():
        if fault := _fault(key, given):
            raise Unmappable("The conda file says what cannot be mapped", f"{key}: {fault}")
    found, lines, refused = Requirements(), list[str](), list[str]()
    for item in dependencies:
        if isinstance(item, dict) and set(item) == {"pip"}:
            given = item["pip"] or []
            if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
                refused.append("pip: expected a list of texts")
                continue
            for line in given:
                lines += _pip_lines(line.strip(), base, found, refused)
        elif isinstance(item, str):
            lines += _conda_line(item.strip(), found, refused)
        else:
            refused.append(f"{str(item)[:80]}: expected a package, or `pip:` with a list")
    if refused:
        raise Unmappable("The conda file says what cannot be mapped", "; ".join(refused))
    found.text = "".join(f"{line}\n" for line in lines)
    return found


def _fault(key: str, given: object) -> str:
    """What is wrong with the value of a key, whatever its packages are."""
    if given is None:
        return ""
    if key == "dependencies":
        return "" if isinstance(given, list) else "expected a list"
    if key == "channels":
        fits = isinstance(given, list) and all(isinstance(item, str) for item in given)
        return "" if fits else "expected a list of texts"
    return "" if isinstance(given, str | int) else "expected a text"


def _conda_line(spec: str, found: Requirements, refused: list[str]) -> Iterator[str]:
    """The requirement of one conda package; none for what the environment has anyway."""
    parsed = _SPEC.fullmatch(spec)
    name = parsed["name"].lower() if parsed else ""
    version = parsed["version"].strip() if parsed else ""
    if parsed is None:
        refused.append(f"{spec!r} is no package")
    elif name == "python":
        if version:
            found.notes.append(
                f"conda_file: {spec} is not looked for, the runtime's Python is taken"
            )
    elif _dropped(name, found) or name == "pip":
        pass
    elif _NO_PYTHON.fullmatch(name):
        refused.append(f"{spec!r} is no package of Python, and pip cannot install it")
    elif (pinned := _pinned(version)) is None:
        refused.append(f"{spec!r}: {version!r} has no words in pip (a build, or a choice)")
    else:
        yield f"{_RENAMED.get(name, name)}{pinned}"


def _pinned(version: str) -> str | None:
    """A version of conda's in pip's words: "" for any, None where there are none."""
    if not version or version == "*":
        return ""
    if one := _VERSION.fullmatch(version):
        # conda's single = takes whatever begins so
        open_end = one["open"] or one["equals"] == "="
        return f"=={one['version']}{'.*' if open_end else ''}"
    bounds = version.replace(" ", "").split(",")
    return ",".join(bounds) if all(map(_BOUND.fullmatch, bounds)) else None


def _dropped(name: str, found: Requirements) -> bool:
    if name not in _SERVER:
        return False
    found.notes.append(f"conda_file: {name} is not installed, the runtime does its work")
    return True


def _pip_lines(
    line: str, base: Path | None, found: Requirements, refused: list[str]
) -> Iterator[str]:
    nested = _NESTED.fullmatch(line)
    if nested is not None and base is not None:
        path = base / nested["file"]
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            refused.append(f"{line!r}: {error}")
            return
        for inner in lines:
            if inner.strip() and not inner.lstrip().startswith("#"):
                yield from _pip_lines(inner.strip(), path.parent, found, refused)
    elif _LOCAL.match(line) or re.match(r"(?:-r|-c|--requirement|--constraint)\b", line):
        refused.append(f"{line!r} names files that are not sent")
    else:
        name = re.split(r"[\s\[<>=!~;@]", line, maxsplit=1)[0].lower().replace("_", "-")
        if not _dropped(name, found):
            yield line
