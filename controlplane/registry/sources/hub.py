"""Repositories of a hub with Hugging Face's HTTP interface, pinned to the commit that was found."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from controlplane.registry.errors import ImportFailed
from controlplane.registry.sources.addresses import Source
from controlplane.registry.sources.choosing import choose
from controlplane.registry.sources.found import Found, Remote
from controlplane.registry.sources.web import Web, path_of

MOST_DATASETS: Final = 10


@dataclass(frozen=True, slots=True)
class Hub:
    url: str
    token: str = ""

    def find(self, source: Source, web: Web) -> Found:
        """Raises ImportFailed."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        asked = path_of(source.name, "revision", source.revision or "main")
        answer = web.json(f"{self.url}/api/models/{asked}?blobs=true", headers)
        commit = str(answer.get("sha") or "")
        if not commit.isalnum():
            raise ImportFailed(f"{self.url} names no commit of {source.name}.", code="ImportFailed")
        listed = {
            str(one["rfilename"]): one
            for one in answer.get("siblings") or []
            if isinstance(one, dict) and one.get("rfilename")
        }
        chosen = choose(list(listed), source.path, source.shown)
        base = f"{self.url}/{path_of(source.name, 'resolve', commit)}"
        return Found(
            filename=filename_of(source, chosen.files, archive=chosen.archive),
            files=tuple(
                Remote(
                    path=path,
                    url=f"{base}/{path_of(at)}",
                    size=_size(listed[at]),
                    sha256=_sha256(listed[at]),
                    headers=headers,
                )
                for at, path in chosen.files.items()
            ),
            archive=chosen.archive,
            lineage={
                "repository": f"{self.url}/{source.name}",
                "commit": commit,
                "dataset": _datasets(answer),
            },
        )


def filename_of(source: Source, files: dict[str, str], *, archive: bool) -> str:
    """Of the whole. A repository is called as its place, a file in it often just `model.onnx`."""
    name = source.name.rpartition("/")[2]
    if archive:
        return next(iter(files.values()))
    folder = PurePosixPath(source.path.rstrip("/"))
    if folder.suffix:  # one file
        return folder.name if folder.stem != "model" else f"{name}{folder.suffix}"
    return folder.name if source.path.endswith("/") and folder.name else name


def _size(listed: dict[str, Any]) -> int | None:
    size = listed.get("size")
    return size if isinstance(size, int) and size >= 0 else None


def _sha256(listed: dict[str, Any]) -> str:
    lfs = listed.get("lfs")
    return str(lfs.get("sha256") or "") if isinstance(lfs, dict) else ""


def _datasets(answer: dict[str, Any]) -> str:
    card = answer.get("cardData")
    told = card.get("datasets") if isinstance(card, dict) else None
    names = told if isinstance(told, list) else [told] if isinstance(told, str) else []
    return ", ".join(str(name) for name in names[:MOST_DATASETS])
