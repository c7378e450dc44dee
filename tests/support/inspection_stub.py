"""Stands in for `python -m worker_runtime.inspection`; file contents say how it should behave.

A model file beginning with `HANG`, `CRASH`, `GARBAGE` or `BAD` makes it do so. In `serve`, a text
beginning so does the same; one with `invalid` in it is answered with a problem. What runs code it
tells by names and words, without the care of the real one.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

TENSOR = {"name": "x", "datatype": "FP32", "shape": [4], "optional": False}
GRAPH = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": ["batch", 4]}],
    "outputs": [{"name": "y", "datatype": "FP32", "shape": ["batch", 4]}],
    "producer": "stub",
    "opset": 17,
}


CODE = {".py": "python", ".so": "library", ".pkl": "pickle"}
WORDS = {
    '"python"': "python",
    "op_library_filename": "library",
    "EXECUTION_ENV_PATH": "environment",
}


def reason(file: str, kind: str, words: str, value: str = "") -> dict[str, str]:
    return {"file": file, "kind": kind, "value": value, "message": f"{file} {words}."}


def code_of_files(paths: list[str]) -> list[dict[str, str]]:
    kinds = [(path, CODE.get(Path(path).suffix)) for path in sorted(paths)]
    return [reason(path, kind, f"is of kind {kind}") for path, kind in kinds if kind]


def code_of_text(name: str, text: str) -> list[dict[str, str]]:
    file = f"{name}/config.pbtxt"
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [
        reason(file, kind, f"says {word}", value=line)
        for line in lines
        for word, kind in WORDS.items()
        if word in line
    ]


def problem(code: str, message: str) -> dict[str, Any]:
    return {
        "severity": "error", "model": None, "code": code, "message": message, "detail": "verbatim",
        "hints": ["Export it again."],
    }  # fmt: skip


def model(folder: Path) -> dict[str, Any]:
    config = folder / "config.pbtxt"
    return {
        "name": folder.name,
        "backend": "onnxruntime",
        "platform": "onnxruntime_onnx",
        "versions": sorted(int(p.name) for p in folder.iterdir() if p.name.isdecimal()),
        "max_batch_size": 8,
        "decoupled": False,
        "inputs": [TENSOR],
        "outputs": [{**TENSOR, "name": "y", "labels": None}],
        "config_text": config.read_text() if config.exists() else "",
        "config_effective": f'name: "{folder.name}"\nmax_batch_size: 8\n',
        "graph": GRAPH,
        "provenance": {"max_batch_size": "default"},
        "files": sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()),
        "warnings": ["Batching was assumed."],
        "code": code_of_text(folder.name, config.read_text() if config.exists() else ""),
    }


def misbehave(word: str) -> None:
    if word.startswith("HANG"):
        threading.Event().wait()
    if word.startswith("CRASH"):
        sys.stderr.write("about to fall\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)


def repository(root: Path) -> None:
    problems = []
    for path in root.rglob("*.onnx"):
        with path.open("rb") as file:
            word = file.read(64).decode(errors="replace")
        misbehave(word)
        if word.startswith("GARBAGE"):
            sys.stdout.write("no json at all")
            return
        if word.startswith("BAD"):
            problems.append(problem("NotAnOnnxFile", "This is not an ONNX file."))
    folders = sorted(p for p in root.iterdir() if (p / "1").is_dir())
    models = [] if problems else [model(folder) for folder in folders]
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    json.dump({"models": models, "problems": problems, "code": code_of_files(paths)}, sys.stdout)


def serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        text = asked.get("text", "")
        misbehave(text)
        answer: dict[str, Any] = {"id": asked["id"]}
        if asked["op"] == "render":
            answer["text"] = f'name: "{asked["config"]["name"]}"\n'
        elif asked["op"] == "code":
            answer |= {"ok": True, "code": code_of_text(asked["model"], text)}
        elif asked["op"] == "code_names":
            answer |= {"ok": True, "code": code_of_files(asked["files"])}
        else:
            ok = "invalid" not in text
            found = {
                "severity": "error", "code": "ConfigInvalid", "line": 1, "column": 1,
                "field": "max_batch_size", "message": "Must be 0 or more.", "hint": None,
                "fix": None,
            }  # fmt: skip
            answer |= {
                "ok": ok,
                "problems": [] if ok else [found],
                "config": {"name": asked["model"]} if ok else None,
                "effective": text,
            }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        repository(Path(sys.argv[2]))
