"""What in a model is code that its node would run: told from names and configurations, run by none.

The one place that says so. Pure: the same files and texts give the same reasons.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, TypedDict

CONFIG = "config.pbtxt"
LIBRARY = re.compile(r"\.(so(\.\d+)*|pyd|dll|dylib)$", re.IGNORECASE)
LOADER = re.compile(r"(LD_|DYLD_|PYTHON(?!UNBUFFERED$|HASHSEED$|WARNINGS$)|GLIBC_TUNABLES$|PATH$)")
PICKLES: Final = frozenset({".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle"})
PACKED_ENVIRONMENT: Final = "pb_exec_env_model.py.tar.gz"
COMPILED: Final = "torch AOTInductor"  # as the inspection names who wrote such a .pt2
ENVIRONMENT: Final = "EXECUTION_ENV_PATH"
LITERAL = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
# why strings side by side are one: protobuf joins them
TOKENS = re.compile(
    rf"(?P<comment>#[^\n]*)|(?P<text>{LITERAL}(?:\s*{LITERAL})*)|(?P<word>[A-Za-z_]\w*)"
)
PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'')
ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))")


class CodeReason(TypedDict):
    """Why something runs code: the file that says so, and the sentence for people."""

    file: str
    kind: str
    value: str  # what a configuration names, if it is a configuration that says so
    message: str


def _python(path: PurePosixPath) -> bool:
    return path.suffix.lower() in {".py", ".pyc"}


def _library(path: PurePosixPath) -> bool:
    return LIBRARY.search(path.name) is not None


def _pickle(path: PurePosixPath) -> bool:
    return path.suffix.lower() in PICKLES


def _environment(path: PurePosixPath) -> bool:
    return path.name == PACKED_ENVIRONMENT


FILES: Final[tuple[tuple[str, Callable[[PurePosixPath], bool], str], ...]] = (
    ("python", _python, "is Python code"),
    ("library", _library, "is a library of machine code, such as custom operators or plugins"),
    ("pickle", _pickle, "is a pickle, which may run anything when it is opened"),
    ("environment", _environment, "is a Python environment that the model brings along"),
)


def code_in_files(paths: Iterable[str]) -> list[CodeReason]:
    """One reason for each kind of file, with the first that is one and how many more there are."""
    names = sorted(paths)
    reasons = []
    for kind, is_one, words in FILES:
        found = [name for name in names if is_one(PurePosixPath(name))]
        if found:
            more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
            message = f"{found[0]} {words}{more}."
            reasons.append(CodeReason(file=found[0], kind=kind, value="", message=message))
    return reasons


def code_in_config(model: str, text: str) -> list[CodeReason]:
    """What a config.pbtxt asks to be run, however its strings are written."""
    file = f"{model}/{CONFIG}"
    said = list(dict.fromkeys(_said(text)))
    found: list[tuple[str, str, str]] = []
    if ("backend", "python") in said:
        found.append(("python", "asks for the Python backend", ""))
    if ("key", ENVIRONMENT) in said:
        # why all of them: a map may have its value before its key
        values = " ".join(sorted(value for field, value in said if field == "string_value"))
        found.append(("environment", f"names a Python environment ({ENVIRONMENT})", values))
    for field, value in said:
        if field == "op_library_filename":
            found.append(("library", f"loads the library {value}", value))
    return [
        CodeReason(file=file, kind=kind, value=value, message=f"{file} {words}.")
        for kind, words, value in found
    ]


def code_in_graphs(producers: Mapping[str, str]) -> list[CodeReason]:
    """Model files that hold compiled code although their name does not show it: model -> writer."""
    return [
        CodeReason(
            file=model,
            kind="library",
            value="",
            message=f"{model} was compiled by AOTInductor: its file holds machine code.",
        )
        for model, producer in sorted(producers.items())
        if producer == COMPILED
    ]


def code_in_variables(names: Iterable[str]) -> list[str]:
    """Variables of a process by which its loader, or Python, runs a file that they name."""
    return sorted(name for name in names if LOADER.match(name))


def told_once(reasons: Iterable[CodeReason]) -> list[CodeReason]:
    """Each reason once, and no "asks for the Python backend" beside the Python code itself."""
    found = list({code_key(reason): reason for reason in reasons}.values())
    python = any(reason["kind"] == "python" and CONFIG not in reason["file"] for reason in found)
    return [
        reason
        for reason in found
        if not (python and reason["kind"] == "python" and CONFIG in reason["file"])
    ]


def code_key(reason: CodeReason) -> tuple[str, str, str]:
    """What an approval is compared by; sentences may be worded anew."""
    return reason["file"], reason["kind"], reason["value"]


def _said(text: str) -> Iterator[tuple[str, str]]:
    """(field, string) of every string in a text of protobuf, lists of strings included."""
    word = ""
    for match in TOKENS.finditer(text):
        if match["word"]:
            word = match["word"]
        elif match["text"]:
            pieces = PIECE.finditer(match["text"])
            yield (
                word,
                "".join(ESCAPE.sub(_character, piece[1] or piece[2] or "") for piece in pieces),
            )


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2]:
        return chr(int(match[2], 8))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(match[3], match[3])
