"""Where files for scoring scripts lie in a registered model, and the model around them."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from shoal.client.errors import NothingServable, UnusableSource
from shoal.client.packing import Package, packaged, walked
from shoal.entities import Environment
from shoal.sdk.mlflow_signature import Signature, signature_of
from shoal.sdk.requirements import Requirements, requirements_of
from wire import scoring
from wire.scoring import APP, MLMODEL, MODELS, PICKLES, wrapping

__all__ = ["APP", "MODELS", "Placed", "is_mlflow", "model_package", "placed", "scoring_package"]

WAITS: Final = "is kept for scoring scripts: nothing in it is served by itself"
_UNQUOTED = re.compile(r"[A-Za-z0-9._ -]+")

Placed = tuple[Path, str]  # a file of this machine, and its place in the repository


@contextmanager
def scoring_package(
    name: str,
    files: Sequence[Placed],
    *,
    script: str = "",
    workers: int = 1,
    batching: scoring.Batching | None = None,
    texts: Mapping[str, str] | None = None,
    signature: Signature | None = None,
) -> Iterator[Package]:
    """``files`` with the model around them; ``texts`` are more, by their place in the version.

    ``script`` is its place in the version; without one they wait for one that comes with a
    deployment. ``workers`` are its processes in each replica, ``batching`` what it says of batches,
    ``signature`` the tensors that may stand for the request's body.
    """
    tensors = signature.text if signature is not None and signature.inputs else ""
    written = wrapping(
        script=script, workers=workers, batching=batching, texts=texts, tensors=tensors
    )
    with tempfile.TemporaryDirectory(prefix="shoal-scoring-") as folder:
        made = []
        for number, (place, text) in enumerate(written.items()):
            file = Path(folder) / str(number)
            file.write_text(text, encoding="utf-8")
            made.append((file, f"{name}/{place}"))
        yield Package(name, files=(*made, *files))


@contextmanager
def model_package(path: Path, name: str | None, *, may_wait: bool) -> Iterator[Package]:
    """Of a model that is served by itself, or else of files that wait for a scoring script: its
    ``note`` says so. Raises UnusableSource, also for the second unless they ``may_wait``."""
    if is_mlflow(path):
        with _mlflow_package(path.resolve(), name) as package:
            yield package
        return
    waits = may_wait and path.suffix in PICKLES and path.is_file()
    try:
        found = None if waits else packaged(path, serve_as=name)
    except NothingServable:
        if not may_wait:
            raise
        found = None
    if found is not None:
        yield found
        return
    called = name or path.resolve().stem
    with scoring_package(called, placed(path.resolve(), f"{called}/1/{MODELS}")) as package:
        yield replace(package, note=f"{path.name} {WAITS}")


def is_mlflow(path: Path) -> bool:
    return path.is_dir() and scoring.is_mlflow(item.name for item in path.iterdir())


@contextmanager
def _mlflow_package(path: Path, name: str | None) -> Iterator[Package]:
    if not _UNQUOTED.fullmatch(path.name):
        raise UnusableSource(
            "The folder cannot be called so",
            f"{path}: expected letters, digits, spaces and ._- only, for a configuration names it",
        )
    called = name or path.name
    requirements = _mlflow_requirements(path)
    texts = {"requirements.txt": requirements.text} if requirements.text else {}
    files = placed(path, f"{called}/1/{MODELS}")
    script = f"{MODELS}/{path.name}/{MLMODEL}"
    signature = signature_of(path / MLMODEL)
    with scoring_package(called, files, script=script, texts=texts, signature=signature) as package:
        yield replace(package, note=signature.note)


def _mlflow_requirements(path: Path) -> Requirements:
    """As MLflow wrote them beside the model: for pip, or else for conda. Raises NotMapped."""
    if (path / "requirements.txt").is_file():
        return Requirements((path / "requirements.txt").read_text(encoding="utf-8"))
    if (path / "conda.yaml").is_file():
        return requirements_of(Environment(conda_file="conda.yaml"), path)
    return Requirements()


def placed(path: Path, target: str) -> list[Placed]:
    """A file or a folder below ``target``, by its own name. Raises UnusableSource."""
    if path.is_file():
        return [(path, f"{target}/{path.name}")]
    if not path.is_dir():
        raise UnusableSource("No such file or folder", f"model.path: {path}")
    return [(file, f"{target}/{path.name}/{name}") for file, name in walked(path)]
