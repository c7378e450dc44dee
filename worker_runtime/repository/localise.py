"""A model directory made of files that came with a load request."""

import shutil
import tempfile
import weakref
from pathlib import Path

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.repository import LoadOverride


class Localised:
    """A temporary model directory; it goes away with this object, or with the process."""

    def __init__(self) -> None:
        # why resolved: the escape check compares resolved paths, and the place may be a link.
        self.path = Path(tempfile.mkdtemp(prefix="folder")).resolve()
        self._cleanup = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def localise(override: LoadOverride) -> Localised:
    """Write the files of a request. Raises InvalidArgument, or OSError from writing."""
    if override.config is None:
        raise InvalidArgument("Load parameter 'config' must be specified for model file override")
    place = Localised()
    for name, content in override.files.items():
        path = (place.path / name).resolve()
        if not path.is_relative_to(place.path):
            raise InvalidArgument(
                f"Invalid file parameter 'file:{name}' with normalized path '{path}' must stay "
                "within model directory."
            )
        if path.parent.exists() and not path.parent.is_dir():
            raise InvalidArgument(
                f"Invalid file parameter 'file:{name}', directory has been created as a file"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place
