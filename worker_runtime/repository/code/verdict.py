"""The verdict on a model: on its files by content, on its configuration as the runtime takes it."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from worker_runtime.errors import ConfigInvalid
from worker_runtime.files.names import DESCRIPTIONS, is_data_by_name, kind_by_name
from worker_runtime.repository.agents import CHECKSUM
from worker_runtime.repository.code.parameters import accelerator_kind, parameter_kind
from worker_runtime.repository.layout import CONFIG_NAME, ModelDirectory, listed_model
from worker_runtime.repository.normalise import normalise
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.backends import SERVED
from worker_runtime.types.code import (
    ENVIRONMENT,
    FILES,
    KINDS,
    LIBRARY,
    PYTHON,
    UNKNOWN,
    AllowedCode,
    CodeReason,
)
from worker_runtime.types.instances import Machine

_PYTHON_FILE = "model.py"
_LONGEST = 1000
_DESCRIPTIONS = {
    ENVIRONMENT: "names a Python environment",
    LIBRARY: "loads code",
    FILES: "reads or writes files",
    UNKNOWN: "is not known to be harmless",
}
Named = tuple[str, str, str]  # kind, value, what it does
# why: where instances go says nothing about code, so any machine will do.
_MACHINE = Machine(cores=1)


def code_in_config(config: Any, model: str, file: str = CONFIG_NAME) -> list[CodeReason]:
    """The reasons of a normalised ``inference.ModelConfig``, each once, in a fixed order."""
    where = f"{model}/{file}"
    return [
        CodeReason(where, kind, _bounded(value), f"{where} {description}.")
        for kind, value, description in dict.fromkeys(_named(config))
    ]


def unreadable(model: str, why: str, file: str = CONFIG_NAME) -> CodeReason:
    """Of a configuration that tells nothing, for it cannot be used."""
    where = f"{model}/{file}"
    return CodeReason(where, UNKNOWN, "", f"{where} cannot be used as it is: {_shown(why)}.")


def _named(config: Any) -> Iterator[Named]:
    # why whatever the platform says: what is loaded goes by the backend.
    if config.backend == "python":
        yield PYTHON, "", "asks for the Python backend"
    elif config.backend and config.backend not in SERVED:
        said = f"asks for the backend {_shown(config.backend)}, which is not built in"
        yield PYTHON, config.backend, said
    yield from _runtime(config)
    yield from _file_names(config)
    for name in config.model_operations.op_library_filename:
        yield LIBRARY, name, f"loads the library {_shown(name)}"
    for agent in config.model_repository_agents.agents:
        if agent.name != CHECKSUM:
            yield LIBRARY, agent.name, f"loads the repository agent {_shown(agent.name)}"
    for key, parameter in sorted(config.parameters.items()):
        kind = parameter_kind(key, parameter.string_value)
        if kind:
            said = f"{_DESCRIPTIONS[kind]} (parameter {_shown(key)})"
            yield kind, f"{key}={parameter.string_value}", said
    yield from _accelerators(config.optimization.execution_accelerators)


def _runtime(config: Any) -> Iterator[Named]:
    if config.runtime in ("", f"libtriton_{config.backend}.so"):
        return
    kind = PYTHON if config.runtime == _PYTHON_FILE else LIBRARY
    yield kind, config.runtime, f"asks for the runtime {_shown(config.runtime)}"


def _file_names(config: Any) -> Iterator[Named]:
    """Model files by names that tell code. The Python backend's own is told by the backend."""
    if config.backend == "python":
        return
    for name in (config.default_model_filename, *sorted(config.cc_model_filenames.values())):
        kind = kind_by_name(name) if name else ""
        if kind:
            yield kind, name, f"names {_shown(name)} as the model's file"


def _accelerators(accelerators: Any) -> Iterator[Named]:
    for wanted in (
        *accelerators.gpu_execution_accelerator,
        *accelerators.cpu_execution_accelerator,
    ):
        for key, value in sorted(wanted.parameters.items()):
            kind = accelerator_kind(wanted.name, key)
            if kind:
                about = f"parameter {_shown(key)} of accelerator {_shown(wanted.name)}"
                said = f"{_DESCRIPTIONS[kind]} ({about})"
                yield kind, f"{wanted.name}.{key}={value}", said


def _bounded(value: str) -> str:
    """Long values by their beginning and hash: approvals are compared by them."""
    if len(value) <= _LONGEST:
        return value
    digest = hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
    return f"{value[:_LONGEST]}… sha256:{digest}"


def _shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def code_in_folder(folder: Path, prefix: str = "") -> list[CodeReason]:
    """A reason for each kind among all files below ``folder``, with the first file that is one.

    ``prefix`` is put before the files' paths: the model's name, where ``folder`` is a model's.
    """
    # why here: readers of archives and pickles are 8 ms of a start, and most starts need none
    from worker_runtime.files.contents import kinds_of_file  # noqa: PLC0415

    found: dict[str, dict[str, str]] = {}
    for path in _below(folder):
        name = (PurePosixPath(prefix) / path.relative_to(folder).as_posix()).as_posix()
        for kind, description in kinds_of_file(path, name):
            found.setdefault(kind, {}).setdefault(name, description)
    return _summed(found)


def code_in_names(paths: Iterable[str]) -> list[CodeReason]:
    """The same from the paths alone; what only content could tell is ``unknown``."""
    found: dict[str, dict[str, str]] = {}
    for name in sorted(set(paths)):
        kind = kind_by_name(name)
        if not kind and not is_data_by_name(name):
            kind = UNKNOWN
        if kind == UNKNOWN:
            found.setdefault(kind, {})[name] = "would have to be opened to tell what it is"
        elif kind:
            found.setdefault(kind, {})[name] = DESCRIPTIONS[kind]
    return _summed(found)


def code_in_text(
    model: str, text: str, files: Iterable[str], file: str = CONFIG_NAME
) -> list[CodeReason]:
    """Reasons of a configuration's text for a model of which the paths are known, below it."""
    return code_beside(listed_model(model, files), text, file)


def code_beside(directory: ModelDirectory, text: str, file: str = CONFIG_NAME) -> list[CodeReason]:
    """Reasons of a configuration's text as it would be used in this directory."""
    try:
        config = parse(text)
    except ConfigInvalid as error:
        return [unreadable(directory.name, str(error), file)]
    return code_used(directory, config, file)


def code_used(directory: ModelDirectory, config: Any, file: str = CONFIG_NAME) -> list[CodeReason]:
    """Reasons of a configuration, completed as the runtime completes it; ``config`` is left."""
    used = type(config)()
    used.CopyFrom(config)
    try:
        normalise(used, directory, _MACHINE)
    except ConfigInvalid as error:
        return [
            *code_in_config(used, directory.name, file),
            unreadable(directory.name, str(error), file),
        ]
    return code_in_config(used, directory.name, file)


def check_code(directory: ModelDirectory, config: Any, allowed: AllowedCode) -> None:
    """Judge a model before it is loaded: all of its files, and its normalised configuration.

    Raises LoadFailed for the first reason of a kind that is not allowed. Nothing is looked at
    where everything is allowed.
    """
    if not allowed.limited:
        return
    path = directory.config_path
    file = path.relative_to(directory.path).as_posix() if path is not None else CONFIG_NAME
    for reason in (
        *code_in_config(config, directory.name, file),
        *code_in_folder(directory.path, directory.name),
    ):
        allowed.check(reason, directory.name)


def _below(folder: Path) -> list[Path]:
    """Everything below it that is no folder, links as themselves; sorted."""
    return sorted(item for item in folder.rglob("*") if item.is_symlink() or not item.is_dir())


def _summed(found: Mapping[str, Mapping[str, str]]) -> list[CodeReason]:
    """One reason a kind, in the order of the kinds: the first file, and how many more."""
    reasons = []
    for kind in KINDS:
        files = found.get(kind)
        if files:
            first, description = min(files.items())
            more = f" (and {len(files) - 1} more like it)" if len(files) > 1 else ""
            reasons.append(CodeReason(first, kind, "", f"{first} {description}{more}."))
    return reasons
