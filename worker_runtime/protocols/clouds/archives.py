"""The model in an archive that SageMaker has unpacked."""

import os
import re
from pathlib import Path

from worker_runtime.errors import InvalidArgument

_CONFIG = "config.pbtxt"
_ENSEMBLE = re.compile(r'platform:\s*"ensemble"')
_FORBIDDEN = ("/dev/", "/proc/", "/sys/")


def find_model(url: str) -> tuple[Path, str]:
    """The repository that ``url`` is or lies in, and the model's folder there. Blocking.

    A folder with a configuration is a model. Else it is a repository: of several models the
    ensemble is meant, or the last one. Raises InvalidArgument.
    """
    root = Path(os.path.abspath(url))  # noqa: PTH100 # what is a link may stay one
    if f"{root}/".startswith(_FORBIDDEN):
        raise InvalidArgument(f"'url' is '{url}': it cannot be below /dev, /proc or /sys")
    if (root / _CONFIG).is_file():
        return root.parent, root.name
    try:
        folders = sorted(item for item in root.iterdir() if item.is_dir())
    except OSError as error:
        raise InvalidArgument(f"'url' is '{url}', which cannot be read: {error}") from error
    if not folders:
        raise InvalidArgument(f"'url' is '{url}': there is no model")
    ensembles = [folder for folder in folders if _is_ensemble(folder / _CONFIG)]
    return root, (ensembles or folders)[-1].name


def _is_ensemble(config: Path) -> bool:
    return config.is_file() and _ENSEMBLE.search(config.read_text(errors="replace")) is not None
