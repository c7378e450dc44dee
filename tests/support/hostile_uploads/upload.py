"""One upload of the corpus, and what must be said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.hostile_uploads.contents import SERVED

Files = Mapping[str, bytes]
NOT_APPROVED, NOT_VALID = "CodeNotApproved", "ConfigInvalid"


@dataclass(frozen=True)
class Upload:
    """``kinds`` must all be found; ``named``: the field of a file that leads out of the model.

    ``refusal``: with which code somebody who may deploy is refused, on the way from the upload to
    a trial. All but the gate's own are the inspection's: no approval makes such a model run.
    """

    name: str
    files: Files
    kinds: frozenset[str] = field(default_factory=frozenset)
    named: str = ""
    refusal: str = NOT_APPROVED

    def write(self, root: Path) -> Path:
        for path, content in self.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        return root


def hostile(
    name: str,
    kinds: str,
    files: Files | None = None,
    *,
    config: str | None = None,
    refusal: str = NOT_APPROVED,
) -> Upload:
    """One model ``m``, served by the identity backend unless ``config`` says otherwise."""
    versioned = any(path[0].isdigit() for path in files or ())
    inside = {**({} if versioned else {"1/w.bin": b"\1\2\3"}), **(files or {})}
    given = {f"m/{path}": content for path, content in inside.items()}
    given["m/config.pbtxt"] = (SERVED if config is None else config).encode()
    return Upload(name, given, frozenset(kinds.split()), refusal=refusal)
