"""An environment's conda file as a requirements list for pip, which nodes install."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from shoal.client.errors import ShoalError
from shoal.entities import Environment
from shoal.entities.loading import resolved

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


class NotMapped(ShoalError):
    """A part of an environment that no list for pip can say."""

    code = "BadArgument"


def requirements_of(environment: Environment | None, base: Path) -> Requirements:
    """Relative paths are relative to ``base``. Raises NotMapped, naming what cannot be mapped."""
    if environment is None:
        return Requirements()
    for name in ("build", "datastore"):
        if getattr(environment, name) is not None:
            what = f"environment.{name} builds an image, and scripts run without one"
            raise NotMapped("Images are not built", what, ["Give conda_file instead."])
    conda = conda_of(environment, base)
    if conda is None:
        if environment.image:
            raise NotMapped(
                "An image alone does not say what a script needs",
                f"environment.image: {environment.image}",
                ["Give environment.conda_file with its packages, or no environment."],
            )
        return Requirements()
    where = base
    if isinstance(environment.conda_file, str):
        where = Path(resolved(environment.conda_file, base)).parent
    found = _mapped(conda, where)
    if environment.image:
        found.notes.append(
            f"environment.image: {environment.image} is not run, its packages are not there; "
            "what conda_file lists is installed in an environment of its own"
        )
    return found


def conda_of(environment: Environment, base: Path) -> dict[str, Any] | None:
    """What its conda file says, read where it is a path. Raises NotMapped."""
    given = environment.conda_file
    if given is None or isinstance(given, dict):
        return given
    path = resolved(str(given), base)
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise NotMapped(
            "The conda file cannot be read", f"environment.conda_file: {error}"
        ) from error
    except yaml.YAMLError as error:
        raise NotMapped("The conda file is not YAML", f"{path}: {error}") from error
    if not isinstance(values, dict):
        what = f"{path}: expected `dependencies:` with a list, not {type(values).__name__}"
        raise NotMapped("The conda file lists nothing", what)
    return values


def _mapped(conda: dict[str, Any], base: Path) -> Requirements:
    unknown = sorted(str(key) for key in conda if key not in _KEYS)
    if unknown:
        raise NotMapped(
            "The conda file says what cannot be mapped",
            f"{', '.join(unknown)}; expected {', '.join(sorted(_KEYS))}",
            ["Variables go into environment_variables of the deployment."]
            if "variables" in unknown
            else [],
        )
    dependencies = conda.get("dependencies") or []
    if not isinstance(dependencies, list):
        raise NotMapped(
            "The conda file says what cannot be mapped", "dependencies: expected a list"
        )
    found, lines, refused = Requirements(), list[str](), list[str]()
    for item in dependencies:
        if isinstance(item, dict) and set(item) == {"pip"}:
            for line in item["pip"] or []:
                lines += _pip_lines(str(line).strip(), base, found, refused)
        elif isinstance(item, str):
            lines += _conda_line(item.strip(), found, refused)
        else:
            refused.append(f"{item!r}: expected a package, or `pip:` with a list")
    if refused:
        raise NotMapped("The conda file says what cannot be mapped", "; ".join(refused))
    found.text = "".join(f"{line}\n" for line in lines)
    return found


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


def _pip_lines(line: str, base: Path, found: Requirements, refused: list[str]) -> Iterator[str]:
    nested = _NESTED.fullmatch(line)
    if nested is not None:
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
