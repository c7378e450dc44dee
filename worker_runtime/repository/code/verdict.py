"""The verdict on a model: on its files by content, on its configuration as the runtime takes it."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from worker_runtime.errors import ConfigInvalid
from worker_runtime.files.names import DESCRIPTIONS, is_data_by_name, kind_by_name
from worker_runtime.repository.code.configuration import code_in_config, unreadable
from worker_runtime.repository.layout import CONFIG_NAME, ModelDirectory, listed_model
from worker_runtime.repository.normalise import normalise
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.code import KINDS, UNKNOWN, AllowedCode, CodeReason
from worker_runtime.types.instances import Machine

# why: where instances go says nothing about code, so any machine will do.
_MACHINE = Machine(cores=1)


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
