"""Artifacts of runs, through MLflow's tracking server. What it keeps of a run becomes lineage."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote, urlsplit

from controlplane.registry.errors import ImportFailed
from controlplane.registry.sources.addresses import Source
from controlplane.registry.sources.choosing import choose
from controlplane.registry.sources.found import Found, Remote
from controlplane.registry.sources.web import Web
from controlplane.registry.types import LIMIT_FILES

MOST_DATASETS: Final = 10
MOST_LISTS: Final = 500  # folders and pages that one run is asked for


@dataclass(frozen=True, slots=True)
class Tracking:
    url: str
    token: str = ""

    def find(self, source: Source, web: Web) -> Found:
        """Raises ImportFailed."""
        if not self.url:
            raise ImportFailed(
                "This installation knows no tracking server of MLflow.",
                code="ImportNotConfigured",
                hints=("An administrator sets SHOAL_MLFLOW_URL.",),
            )
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        asked = f"{self.url}/api/2.0/mlflow/runs/get?run_id={quote(source.name)}"
        run = web.json(asked, headers).get("run")
        if not isinstance(run, dict):
            raise ImportFailed(f"There is no run {source.name}.", code="ImportNothingFound")
        sizes = self._artifacts(source, web, headers)
        chosen = choose(list(sizes), source.path, source.shown)
        return Found(
            filename=_filename(source, chosen.files, archive=chosen.archive),
            files=tuple(
                Remote(
                    path=path,
                    url=f"{self.url}/get-artifact?path={quote(at, safe='')}&run_uuid="
                    f"{quote(source.name)}",
                    size=sizes[at],
                    headers=headers,
                )
                for at, path in chosen.files.items()
            ),
            archive=chosen.archive,
            lineage=_lineage(run, source.name),
        )

    def _artifacts(
        self, source: Source, web: Web, headers: dict[str, str]
    ) -> dict[str, int | None]:
        """Every file of the run below the folder that is asked for, with its size."""
        sizes: dict[str, int | None] = {}
        # why the parent: the path may name a file, and its external data lies beside it
        first = str(PurePosixPath(source.path.strip("/")).parent) if source.path else ""
        left = [("" if first == "." else first, "")]
        for _ in range(MOST_LISTS):
            if not left or len(sizes) > LIMIT_FILES:
                return sizes
            folder, page = left.pop()
            query = f"run_id={quote(source.name)}&path={quote(folder, safe='')}"
            query += f"&page_token={quote(page, safe='')}" if page else ""
            answer = web.json(f"{self.url}/api/2.0/mlflow/artifacts/list?{query}", headers)
            if token := answer.get("next_page_token"):
                left.append((folder, str(token)))
            for one in answer.get("files") or []:
                path = str(one.get("path") or "")
                if one.get("is_dir"):
                    left += [(path, "")] if _leads_to(path, source.path) else []
                elif path:
                    sizes[path] = _size(one.get("file_size"))
        raise ImportFailed(
            f"{source.shown} has more than {MOST_LISTS} folders.", code="ImportTooLarge"
        )


def _leads_to(folder: str, wanted: str) -> bool:
    wanted = wanted.strip("/")
    return f"{folder}/".startswith(f"{wanted}/" if wanted else "")


def _size(told: Any) -> int | None:
    return int(told) if str(told).isdecimal() and len(str(told)) < 19 else None


def _filename(source: Source, files: dict[str, str], *, archive: bool) -> str:
    if archive:
        return next(iter(files.values()))
    named = [part for part in source.path.strip("/").split("/") if part]
    return named[-1] if named else source.name


def _lineage(run: dict[str, Any], run_id: str) -> dict[str, str]:
    data, info = run.get("data") or {}, run.get("info") or {}
    tags = {str(tag.get("key")): str(tag.get("value")) for tag in data.get("tags") or []}
    datasets = (run.get("inputs") or {}).get("dataset_inputs") or []
    named = [one.get("dataset") or {} for one in datasets[:MOST_DATASETS]]
    return {
        "run": run_id,
        "experiment": str(info.get("experiment_id") or ""),
        "commit": tags.get("mlflow.source.git.commit", ""),
        "repository": _without_credentials(tags.get("mlflow.source.git.repoURL", "")),
        "dataset": ", ".join(
            "@".join(filter(None, (str(one.get("name") or ""), str(one.get("digest") or ""))))
            for one in named
        ),
    }


def _without_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()
