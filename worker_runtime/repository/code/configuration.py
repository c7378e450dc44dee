"""What a configuration names that is code: from the message, however its text was written."""

import hashlib
from collections.abc import Iterator
from typing import Any

from worker_runtime.files.names import kind_by_name
from worker_runtime.repository.agents import CHECKSUM
from worker_runtime.repository.code.parameters import accelerator_kind, parameter_kind
from worker_runtime.repository.layout import CONFIG_NAME
from worker_runtime.types.backends import SERVED
from worker_runtime.types.code import ENVIRONMENT, FILES, LIBRARY, PYTHON, UNKNOWN, CodeReason

_PYTHON_FILE = "model.py"
_LONGEST = 1000
_DESCRIPTIONS = {
    ENVIRONMENT: "names a Python environment",
    LIBRARY: "loads code",
    FILES: "reads or writes files",
    UNKNOWN: "is not known to be harmless",
}
Named = tuple[str, str, str]  # kind, value, what it does


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
