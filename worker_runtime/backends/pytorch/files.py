"""What kind of model a file holds, told from its archive without loading any of it."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.files.archives import TORN

_EXPORT = "torch.jit.save(torch.jit.script(model), 'model.pt')"


class Kind(Enum):
    """``SCRIPT``: torch.jit.save; ``EXPORTED``: torch.export.save; ``PACKAGE``: AOTInductor."""

    SCRIPT = "TorchScript"
    EXPORTED = "torch.export"
    PACKAGE = "AOTInductor"


def kind_of(path: Path, model: str) -> Kind:
    """Raises LoadFailed for what is none of the three, with the way to make one."""
    with opened(path, model) as archive:
        names = archive.namelist()
    inner = {name.partition("/")[2] for name in names}
    if any(name.startswith("data/aotinductor/") for name in inner):
        return Kind.PACKAGE
    if "models/model.json" in inner or "serialized_exported_program.json" in names:
        return Kind.EXPORTED
    if "constants.pkl" in inner:
        return Kind.SCRIPT
    if "data.pkl" in inner:
        raise _refused(
            model,
            f"'{path.name}' was written by torch.save: loading it would run code that is hidden "
            "in it, so it is refused",
            f"in the program that has the model: {_EXPORT}",
        )
    raise _refused(model, f"'{path.name}' is an archive, but not of a PyTorch model", _EXPORT)


@contextmanager
def opened(path: Path, model: str) -> Iterator[zipfile.ZipFile]:
    """Raises LoadFailed where it is no archive, or torn, or an entry that is read meanwhile is."""
    try:
        # why within: it raises, too, over an end that names several disks
        if not zipfile.is_zipfile(path):
            raise _refused(
                model,
                f"'{path.name}' is not a model archive",
                "older than PyTorch 1.6, or not made by torch.jit.save or torch.export.save?",
            )
        with zipfile.ZipFile(path) as archive:
            yield archive
    except TORN as error:
        said = f"'{path.name}' is torn: {type(error).__name__}: {error}"
        raise _refused(model, said, "copy the file again, or save the model anew") from error


def _refused(model: str, message: str, hint: str) -> LoadFailed:
    problem = Problem("NotATorchModel", message, model=model, hints=(hint,))
    return LoadFailed(f"failed to load model '{model}': {message}. {hint}", problem)
