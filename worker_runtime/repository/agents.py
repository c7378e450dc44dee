"""The repository agent `checksum`: files must be what the configuration says they are."""

import hashlib
import os
from pathlib import Path
from typing import Any

from worker_runtime.errors import FileUnreadable, InvalidArgument, Unsupported
from worker_runtime.files.inside import inside

CHECKSUM = "checksum"


def check_files(config: Any, model: Path) -> None:
    """Compare the files that `checksum` agents name. Raises InvalidArgument or Unsupported."""
    for agent in config.model_repository_agents.agents:
        if agent.name == CHECKSUM:
            for key, expected in sorted(agent.parameters.items()):
                _check(key, expected, model)


def _check(key: str, expected: str, model: Path) -> None:
    algorithm, colon, name = key.partition(":")
    if not colon:
        raise InvalidArgument(f"failed to parse key: {key}")
    if algorithm.lower() != "md5":
        raise Unsupported(f"Unsupported checksum algorithm: {algorithm}")
    try:
        with inside(model, name, f"{CHECKSUM}[{key}]").open("rb") as file:
            found = hashlib.file_digest(file, _md5).hexdigest()
    except FileUnreadable as error:
        raise InvalidArgument(f"failed to open text file for read {name}: {error.why}") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise InvalidArgument(f"failed to open text file for read {name}: {reason}") from error
    if found != expected:
        raise InvalidArgument(
            f"Mismatched {algorithm.upper()} hash for file {name}, expect: {expected}, got: {found}"
        )


def _md5() -> Any:
    # Against accidents, not against attackers: it is what the agent's format has.
    return hashlib.md5(usedforsecurity=False)
